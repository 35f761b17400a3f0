"""Finds where a value occurs: in which sources and fields, how often and when, from counts alone.

The fields are those of the value's kind, whatever their names. No event is read but those in hours that an end of the
time range cuts.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from watchfloor.schema.errors import TimeRangeError, UserError
from watchfloor.schema.field import Field, IndexKind
from watchfloor.schema.filter.values import convert_value
from watchfloor.schema.meaning.ecs import KINDS
from watchfloor.schema.meaning.forms import guess_kinds
from watchfloor.schema.source import Source
from watchfloor.schema.times import clip_range
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

    With ``kind`` None the kinds are told by the value's form. Raises ``UserError`` for an unknown kind.
    """
    if kind is not None and kind not in KINDS:
        raise UserError(f"unknown kind {kind!r}; known are {', '.join(KINDS)}")
    check_range(since, until)
    since, until = clip_range(since, until)
    kinds = guess_kinds(value) if kind is None else (kind,)
    fields = [(source, field) for source in sources for field in source.fields if field.kind in kinds]
    covered = [(source, field) for source, field in fields if field.is_covered(since, IndexKind.VALUES)]
    readers = {source.name: CountReader(snapshot, source) for source, _ in covered}
    with JavaThreadPool(AT_ONCE, "find") as pool:
        ends = pool.map(lambda reader: reader.find_span(since, until), readers.values())
        spans = dict(zip(readers, ends, strict=True))
        running = [
            pool.submit(_find_in_field, readers[source.name], spans[source.name], source.name, field, value)
            for source, field in covered
        ]
    found = [one.result() for one in running]
    return Sightings(
        kinds,
        tuple(sorted((s for s in found if s is not None), key=lambda s: (-s.count, s.source, s.field))),
        tuple((source.name, field.name) for source, field in fields if (source, field) not in covered),
    )


def _find_in_field(reader: CountReader, span: Span | None, source: str, field: Field, text: str) -> Sighting | None:
    """Returns the sighting in one field; None if it has none, or if the field's type cannot hold the value."""
    try:
        value = convert_value(text, field.scalar, time.time_ns() // 1000)
    except (ValueError, TimeRangeError):
        return None
    hours = [] if span is None else reader.count_over_time("hour", *span, field, value)
    return Sighting(source, field.name, field.kind, tuple(hours)) if hours else None
