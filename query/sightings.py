"""Finds where a value occurs: in which sources and fields, how often and when, from counts alone.

The fields are those of the value's kind, whatever their names. No event is read.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from watchfloor.schema.errors import TimeRangeError, UserError
from watchfloor.schema.field import Field, IndexKind
from watchfloor.schema.filter.tree import Value
from watchfloor.schema.filter.values import convert_value
from watchfloor.schema.meaning.ecs import KINDS
from watchfloor.schema.meaning.forms import guess_kinds
from watchfloor.schema.source import Source
from watchfloor.schema.times import clip_range
from watchfloor.store.bridge.threads import JavaThreadPool
from watchfloor.store.encoding.keys import HOUR
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
    def first(self) -> int:
        """The start (µs) of the first hour with an event."""
        return self.hours[0][0]

    @property
    def last(self) -> int:
        """The end (µs) of the last hour with an event."""
        return self.hours[-1][0] + HOUR


@dataclass(frozen=True)
class Sightings:
    """The sightings of a value, those with the most events first.

    ``kinds`` are the kinds for which it was looked. ``not_looked_up`` are the fields of these kinds, as source and
    name, whose index does not hold all events of the time range, or that have none.
    """

    kinds: tuple[str, ...]
    found: tuple[Sighting, ...]
    not_looked_up: tuple[tuple[str, str], ...]


def find_sightings(
    snapshot: Snapshot, sources: Sequence[Source], value: str, kind: str | None, since: int | None, until: int | None
) -> Sightings:
    """Returns the sightings of a value in [since, until) (µs; None leaves an end open).

    With ``kind`` None the kinds are told by the value's form. Raises ``UserError`` for an unknown kind, and for a value
    that no kind of field can hold.
    """
    if kind is not None and kind not in KINDS:
        raise UserError(f"unknown kind {kind!r}; known are {', '.join(KINDS)}")
    check_range(since, until)
    since, until = clip_range(since, until)
    kinds = guess_kinds(value) if kind is None else (kind,)
    fields = [(source, field) for source in sources for field in source.fields if field.kind in kinds]
    covered = [(source, field) for source, field in fields if field.is_covered(since, IndexKind.VALUES)]
    with JavaThreadPool(AT_ONCE, "find") as pool:
        found = list(pool.map(lambda at: _find_in_field(snapshot, at[0], at[1], value, since, until), covered))
    return Sightings(
        kinds,
        tuple(sorted((s for s in found if s is not None), key=lambda s: (-s.count, s.source, s.field))),
        tuple((source.name, field.name) for source, field in fields if (source, field) not in covered),
    )


def _find_in_field(
    snapshot: Snapshot, source: Source, field: Field, text: str, since: int | None, until: int | None
) -> Sighting | None:
    """Returns the sighting in one field; None if it has none, or if the field's type cannot hold the value."""
    value = _convert(field, text)
    if value is None:
        return None
    reader = CountReader(snapshot, source)
    if since is None or until is None:
        bounds = reader.find_bounds()
        if bounds is None:
            return None
        since, until = bounds[0] if since is None else since, bounds[1] if until is None else until
    hours = reader.count_over_time("hour", since, until, field, value) if since < until else []
    return Sighting(source.name, field.name, field.kind, tuple(hours)) if hours else None


def _convert(field: Field, text: str) -> Value | None:
    try:
        return convert_value(text, field.scalar, time.time_ns() // 1000)
    except (ValueError, TimeRangeError):
        return None
