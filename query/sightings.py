"""Finds where a value occurs: in which sources and fields, how often and when, from counts and indexes.

The fields are those of the value's kind, whatever their names. The value may be a network or an ending of domains,
which stand for all values that fit. All counts are exact: the layouts read those events for which the index and the
counts do not tell it (``ValueCounts``).
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from watchfloor.schema.errors import TimeRangeError, UserError
from watchfloor.schema.field import Field, FieldType, IndexKind
from watchfloor.schema.filter.tree import Cidr, Compare, Condition, Wildcard, make_ends_with
from watchfloor.schema.filter.values import convert_value
from watchfloor.schema.meaning.ecs import KINDS
from watchfloor.schema.meaning.forms import find_ending, guess_kinds, read_network
from watchfloor.schema.source import Source
from watchfloor.schema.times import END_OF_TIME, clip_range, format_micros
from watchfloor.store.bridge.threads import JavaThreadPool
from watchfloor.store.encoding.keys import HOUR
from watchfloor.store.index.count_buckets import Span
from watchfloor.store.layouts.count_reader import CountReader
from watchfloor.store.snapshot import Snapshot

from .preparation.request import check_range

AT_ONCE = 16
"""The most sources that are asked at once."""


@dataclass(frozen=True)
class Sighting:
    """A field of a source that has a value, with the number of such events in each hour that has some.

    ``hours`` are (start in µs, count), oldest first, at least one.
    """

    source: str
    field: str
    kind: str
    hours: tuple[tuple[int, int], ...]

    @property
    def count(self) -> int:
        return sum(count for _, count in self.hours)

    @property
    def first_hour(self) -> int:
        """The start (µs) of the first hour with an event."""
        return self.hours[0][0]

    @property
    def last_hour_end(self) -> int:
        """The end (µs) of the last hour with an event."""
        return self.hours[-1][0] + HOUR


@dataclass(frozen=True)
class NotLookedUp:
    """A field of a source whose index cannot answer, with the reason."""

    source: str
    field: str
    reason: str


@dataclass(frozen=True)
class _LookUp:
    """A condition on a field of a source, for which its index is asked."""

    source: str
    field: Field
    condition: Condition


@dataclass(frozen=True)
class Sightings:
    """The sightings of a value, those with the most events first.

    ``kinds`` are the kinds for which it was looked. ``not_looked_up`` are the fields of these kinds whose index cannot
    answer.
    """

    kinds: tuple[str, ...]
    found: tuple[Sighting, ...]
    not_looked_up: tuple[NotLookedUp, ...]


def find_sightings(
    snapshot: Snapshot, sources: Sequence[Source], value: str, kind: str | None, since: int | None, until: int | None
) -> Sightings:
    """Returns the sightings of a value in [since, until) (µs; None leaves an end open).

    With ``kind`` None the kinds are told by the value's form. Raises ``UserError`` for an unknown kind.
    """
    if kind is not None and kind not in KINDS:
        raise UserError(f"unknown kind {kind!r}; known are {', '.join(KINDS)}")
    check_range(since, until)
    since, until = clip_range(since, until)
    kinds = guess_kinds(value) if kind is None else (kind,)
    look_ups, missed = _plan_look_ups(sources, kinds, value, since)
    asked = {look_up.source for look_up in look_ups}
    readers = {source.name: CountReader(snapshot, source) for source in sources if source.name in asked}
    with JavaThreadPool(AT_ONCE, "find") as pool:
        ends = pool.map(lambda reader: reader.find_span(since, until), readers.values())
        spans = dict(zip(readers, ends, strict=True))
        running = [pool.submit(_find_in_field, readers[one.source], spans[one.source], one) for one in look_ups]
    answers = [one.result() for one in running]
    found = [answer for answer in answers if isinstance(answer, Sighting)]
    missed += [answer for answer in answers if isinstance(answer, NotLookedUp)]
    return Sightings(kinds, tuple(sorted(found, key=lambda s: (-s.count, s.source, s.field))), tuple(missed))


def _plan_look_ups(
    sources: Sequence[Source], kinds: Sequence[str], value: str, since: int | None
) -> tuple[list[_LookUp], list[NotLookedUp]]:
    """Returns what the indexes of all fields of these kinds are asked, and the fields whose index cannot answer.

    A field is in neither if its type cannot hold the value.
    """
    look_ups: list[_LookUp] = []
    missed: list[NotLookedUp] = []
    for source in sources:
        for field in source.fields:
            if field.kind not in kinds or (condition := _make_condition(field, value)) is None:
                continue
            reason = _explain_missing_index(field, condition, since)
            if reason is None:
                look_ups.append(_LookUp(source.name, field, condition))
            else:
                missed.append(NotLookedUp(source.name, field.name, reason))
    return look_ups, missed


def _make_condition(field: Field, value: str) -> Condition | None:
    """Returns the condition that an event has the value in a field; None if the field's type cannot hold it."""
    network, ending = read_network(value), find_ending(value)
    if network is not None and field.kind == "ip":
        return Cidr(field.name, network)
    if ending is not None and field.scalar is FieldType.STRING:
        return make_ends_with(field.name, ending)
    try:
        return Compare(field.name, "=", convert_value(value, field.scalar, time.time_ns() // 1000))
    except (ValueError, TimeRangeError):
        return None


def _explain_missing_index(field: Field, condition: Condition, since: int | None) -> str | None:
    """Returns why a field's index cannot answer a condition in a range that begins at ``since``; None if it can."""
    if isinstance(condition, Cidr) and field.scalar is not FieldType.IP:
        return "its addresses are text, which does not sort by network"
    kind = IndexKind.REVERSED if isinstance(condition, Wildcard) else IndexKind.VALUES
    index = field.find_index(kind)
    if index is None:
        return (
            "it has no index" if not field.is_indexed else "it has no index of reversed values, which an ending needs"
        )
    if not field.is_covered(since, kind):
        first = index.covers_from
        return f"its index begins at {format_micros(first)}" if first < END_OF_TIME else "its index has no events yet"
    return None


def _find_in_field(reader: CountReader, span: Span | None, look_up: _LookUp) -> Sighting | NotLookedUp | None:
    """Returns the sighting in one field; None if it has none."""
    source, field = look_up.source, look_up.field
    hours = [] if span is None else reader.count_matches_over_time("hour", *span, look_up.condition)
    if hours is None:
        return NotLookedUp(source, field.name, "too many index entries fit in this time; ask for less of it")
    return Sighting(source, field.name, field.kind, tuple(hours)) if hours else None
