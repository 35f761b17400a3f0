"""Finds where a value occurs: in which sources and fields, how often and when.

The fields are those of the value's kind, whatever their names. The value may be a network or an ending of domains,
which stand for all values that fit. The table of sightings tells the whole hours of all sources by one scan. A source's
own index is asked about fields that are not in this table, about hours that the range cuts, and about lists of which
several elements may fit; it is asked only if the table has something there. All counts are exact: the layouts read
those events for which the index and the counts do not tell it (``ValueCounts``).
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from watchfloor.query.preparation.request import check_range
from watchfloor.schema.errors import TimeRangeError, UserError
from watchfloor.schema.field import Field, FieldType, IndexKind
from watchfloor.schema.filter.tree import Cidr, Compare, Condition, Value, Wildcard, make_ends_with
from watchfloor.schema.filter.values import convert_value
from watchfloor.schema.meaning.ecs import KINDS
from watchfloor.schema.meaning.forms import find_ending, guess_kinds, read_network
from watchfloor.schema.source import Source
from watchfloor.schema.times import END_OF_TIME, clip_range, close_range, format_micros
from watchfloor.store.bridge.threads import JavaThreadPool
from watchfloor.store.encoding.keys import HOUR
from watchfloor.store.index.count_buckets import Span, cover_range, widen_to_hours
from watchfloor.store.index.index_hits import is_equality
from watchfloor.store.layouts.count_reader import CountReader
from watchfloor.store.retention.policy import find_kept_from
from watchfloor.store.sightings.read_sightings import read_sightings
from watchfloor.store.sightings.sighted_rows import SightedRange, find_sighted_range
from watchfloor.store.snapshot import Snapshot

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
    """A condition on a field of a source.

    ``sighted`` are the values that satisfy it in the table of sightings; None if that cannot tell.
    """

    source: str
    field: Field
    condition: Condition
    sighted: SightedRange | None

    @property
    def may_count_twice(self) -> bool:
        """True if several values of one event may satisfy the condition."""
        return self.field.is_list and not is_equality(self.condition)


@dataclass(frozen=True)
class _Question:
    """A look-up with the ``spans`` of time about which its source's index must be asked; None: the whole range.

    ``hours`` are the counts that the table of sightings has told.
    """

    look_up: _LookUp
    hours: Mapping[int, int]
    spans: tuple[Span, ...] | None


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
    questions = _ask_table(snapshot, look_ups, since, until)
    answers = _ask_indexes(snapshot, sources, questions, since, until)
    found = [answer for answer in answers if isinstance(answer, Sighting)]
    missed += [answer for answer in answers if isinstance(answer, NotLookedUp)]
    return Sightings(kinds, tuple(sorted(found, key=lambda s: (-s.count, s.source, s.field))), tuple(missed))


def _ask_table(
    snapshot: Snapshot, look_ups: Sequence[_LookUp], since: int | None, until: int | None
) -> list[_Question]:
    """Returns what the table of sightings tells about the look-ups, without those of which it knows no event."""
    ranges = {look_up.sighted for look_up in look_ups if look_up.sighted is not None}
    found = read_sightings(snapshot, ranges, since, until)
    edges = cover_range(*close_range(since, until)).edges
    cut = {hour: edge for edge in edges for hour in range(*widen_to_hours(*edge), HOUR)}
    questions: list[_Question] = []
    for look_up in look_ups:
        hours: Mapping[int, int] = {}
        if look_up.sighted is not None:
            sighted = found[look_up.sighted].get((look_up.source, look_up.field.name))
            if sighted is not None:
                kept_from = find_kept_from(snapshot, look_up.source)
                hours = {hour: count for hour, count in sighted.hours.items() if hour >= kept_from}
        if look_up.sighted is None or (hours and look_up.may_count_twice):
            questions.append(_Question(look_up, {}, None))
        elif hours:
            spans = tuple(dict.fromkeys(cut[hour] for hour in hours if hour in cut))
            questions.append(_Question(look_up, {h: n for h, n in hours.items() if h not in cut}, spans))
    return questions


def _ask_indexes(
    snapshot: Snapshot,
    sources: Sequence[Source],
    questions: Sequence[_Question],
    since: int | None,
    until: int | None,
) -> list[Sighting | NotLookedUp | None]:
    """Returns the answers to all questions, with those of the sources' indexes. Sources are asked at the same time."""
    asked = {one.look_up.source for one in questions if one.spans != ()}
    whole = close_range(since, until)
    if not asked:
        return [_answer_question(None, whole, one) for one in questions]
    readers = {source.name: CountReader(snapshot, source) for source in sources if source.name in asked}
    with JavaThreadPool(AT_ONCE, "find") as pool:
        return list(pool.map(lambda one: _answer_question(readers.get(one.look_up.source), whole, one), questions))


def _plan_look_ups(
    sources: Sequence[Source], kinds: Sequence[str], value: str, since: int | None
) -> tuple[list[_LookUp], list[NotLookedUp]]:
    """Returns what is asked about all fields of these kinds, and the fields whose index cannot answer.

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
                sighted = field.is_covered(since, IndexKind.SIGHTINGS)
                values = find_sighted_range(field, condition) if sighted else None
                look_ups.append(_LookUp(source.name, field, condition, values))
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
    typed = _convert_value(value, field.scalar)
    return None if typed is None else Compare(field.name, "=", typed)


# Cached, because all fields of all sources have a few types. No kind has times, whose values depend on the clock.
@functools.lru_cache(maxsize=64)
def _convert_value(value: str, scalar: FieldType) -> Value | None:
    """Returns a value as one of a type; None if the type cannot hold it."""
    try:
        return convert_value(value, scalar, 0)
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


def _answer_question(reader: CountReader | None, whole: Span, question: _Question) -> Sighting | NotLookedUp | None:
    """Returns the sighting in one field; None if it has none. ``whole`` is the range of the question."""
    source, field = question.look_up.source, question.look_up.field
    hours = Counter(question.hours)
    spans = (whole,) if question.spans is None else question.spans
    for span in spans:
        assert reader is not None, "a source has a reader if it is asked anything"
        found = reader.count_matches_over_time("hour", *span, question.look_up.condition)
        if found is None:
            return NotLookedUp(source, field.name, "too many index entries fit in this time; ask for less of it")
        hours.update(dict(found))
    return Sighting(source, field.name, field.kind, tuple(sorted(hours.items()))) if hours else None
