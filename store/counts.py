"""Counts of events, read from the aggregate table.

A time range is read as the fewest buckets that cover it: whole days, then whole hours at both ends. What is left at
the edges, under an hour each, is counted exactly from the index or the events.
"""

from __future__ import annotations

import heapq
import struct
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from watchfloor.schema.errors import UserError
from watchfloor.schema.filter import Value
from watchfloor.schema.source import Field, Source

from .aggregates import TOTAL
from .keys import (
    DAY,
    HOUR,
    MAX_TIME,
    MINUTE,
    SHARD_BYTES,
    aggregate_shard,
    aggregate_table,
    event_table,
    index_prefix,
    index_table,
    key_bounds,
    shard_names,
    times_of_keys,
)
from .layouts import layout_of
from .ranges import Ranges
from .values import decode_value, encode_column, encode_elements, encode_value, fixed_rows, index_value, index_values

if TYPE_CHECKING:
    from .store import Store

BUCKETS = {"minute": MINUTE, "hour": HOUR, "day": DAY}
_COUNT_ITERATOR = "watchfloor.iterators.CountIterator"

Span = tuple[int, int]


@dataclass(frozen=True)
class Cover:
    """How a time range is read: whole days, whole hours (not in the days), and the edges that are left."""

    days: tuple[Span, ...]
    hours: tuple[Span, ...]
    edges: tuple[Span, ...]


def cover(since: int, until: int) -> Cover:
    """The fewest buckets that cover [since, until), in microseconds."""
    hours = (-(-since // HOUR) * HOUR, until // HOUR * HOUR)
    if hours[0] >= hours[1]:
        return Cover((), (), _spans((since, until)))
    days = (-(-since // DAY) * DAY, until // DAY * DAY)
    edges = _spans((since, hours[0]), (hours[1], until))
    if days[0] >= days[1]:
        return Cover((), _spans(hours), edges)
    return Cover(_spans(days), _spans((hours[0], days[0]), (days[1], hours[1])), edges)


def _spans(*spans: Span) -> tuple[Span, ...]:
    return tuple(span for span in spans if span[0] < span[1])


class CountReader:
    """Counts of one source. ``None`` as a field means all events of the source."""

    def __init__(self, store: Store, source: Source) -> None:
        self._store, self._source = store, source

    def estimates(self, terms: Sequence[tuple[Field, Value]], since: int, until: int) -> list[int]:
        """Counts of all events and of each ``field = value`` in the hours that touch [since, until): one scan."""
        wide = cover(since // HOUR * HOUR, -(-until // HOUR) * HOUR)
        rows = [self._row(None, b"")] + [
            self._row(field, index_value(encode_value(field.scalar, value))) for field, value in terms
        ]
        ranges = Ranges()
        for row in dict.fromkeys(rows):
            ranges.add_row(row)
        found: Counter[bytes] = Counter()
        for row, _, count in self._scan_counts(aggregate_table(self._source), ranges, _cell_ranges(wide), "row"):
            found[row] += count
        return [found[row] for row in rows]

    def count(self, since: int, until: int, field: Field | None = None, value: Value | None = None) -> int:
        """Exactly how many events in [since, until) there are, or have this value."""
        parts = cover(since, until)
        encoded = b"" if field is None or value is None else index_value(encode_value(field.scalar, value))
        ranges = Ranges()
        ranges.add_row(self._row(field, encoded))
        cells, edges = _cell_ranges(parts), parts.edges
        if field is None:
            minutes, edges = _whole_minutes(edges)
            cells += b"".join(_cells("m", span) for span in minutes)
        total = 0
        if cells:
            scan = self._scan_counts(aggregate_table(self._source), ranges, cells, "row")
            total = sum(count for _, _, count in scan)
        return total + sum(len(self._edge_times(span, field, encoded)) for span in edges)

    def timeline(
        self, bucket: str, since: int, until: int, field: Field | None = None, value: Value | None = None
    ) -> list[tuple[int, int]]:
        """(start of the bucket, count) of the buckets in [since, until) that have events, oldest first."""
        if bucket not in BUCKETS:
            raise UserError(f"unknown bucket {bucket!r}; known are {', '.join(BUCKETS)}")
        width = BUCKETS[bucket]
        encoded = b"" if field is None or value is None else index_value(encode_value(field.scalar, value))
        counts: Counter[int] = Counter()
        whole = (-(-since // width) * width, until // width * width)
        edges: tuple[Span, ...] = ((since, until),)
        if whole[0] < whole[1] and not (field is not None and width == MINUTE):
            edges = _spans((since, whole[0]), (whole[1], until))
            families = {MINUTE: "m", HOUR: "hs", DAY: "ds"}[width]
            ranges = Ranges()
            ranges.add_row(self._row(field, encoded))
            cells = b"".join(_cells(family, whole) for family in families)
            for _, start, count in self._scan_counts(aggregate_table(self._source), ranges, cells, "bucket"):
                counts[start // width * width] += count
        for span in edges:
            starts = self._edge_times(span, field, encoded) // width * width
            counts.update(starts.tolist())
        return sorted(counts.items())

    def busy_hours(self, since: int, until: int) -> list[Span]:
        """The hours that touch [since, until) and have events, merged into spans, newest first."""
        hours = [start for start, _ in self.timeline("hour", since // HOUR * HOUR, -(-until // HOUR) * HOUR)]
        spans: list[Span] = []
        for start in reversed(hours):
            if spans and spans[-1][0] == start + HOUR:
                spans[-1] = (start, spans[-1][1])
            else:
                spans.append((start, start + HOUR))
        return spans

    def bounds(self) -> Span | None:
        """[start of the oldest day with events, end of the newest); None for a source without events."""
        ranges = Ranges()
        ranges.add_row(self._row(None, b""))
        cells = _cells("d", (0, MAX_TIME // DAY * DAY))
        days = [start for _, start, _ in self._scan_counts(aggregate_table(self._source), ranges, cells, "bucket")]
        return (min(days), max(days) + DAY) if days else None

    def top(self, field: Field, since: int, until: int, limit: int) -> list[tuple[object, int]]:
        """The values of an indexed field with the most events in [since, until), exactly; ties by value."""
        counts: Counter[bytes] = Counter()
        parts = cover(since, until)
        prefix = index_prefix(field.name)
        cells = _cell_ranges(parts)
        if cells:
            ranges = Ranges()
            for shard in shard_names(self._source.shards):
                ranges.add_prefix(shard + prefix)
            for row, _, count in self._scan_counts(aggregate_table(self._source), ranges, cells, "row"):
                counts[row[SHARD_BYTES + len(prefix) :]] += count
        for span in parts.edges:
            self._count_values(span, field, counts)
        best = heapq.nsmallest(limit, counts.items(), key=lambda item: (-item[1], item[0]))
        return [(decode_value(field.scalar, value), count) for value, count in best]

    def _row(self, field: Field | None, encoded: bytes) -> bytes:
        name = TOTAL if field is None else field.name
        return aggregate_shard(name, encoded, self._source.shards) + index_prefix(name) + encoded

    def _scan_counts(self, table: str, ranges: Ranges, cells: bytes, by: str) -> Iterator[tuple[bytes, int, int]]:
        """(row, start of the bucket, count) of the cells in ``ranges``."""
        options: dict[str, str | bytes] = {"mode": "cells", "ranges": cells, "by": by}
        iterator = (30, "counts", _COUNT_ITERATOR, options)
        for batch in self._store.scan(table, ranges, [iterator], ordered=False):
            counts = [int.from_bytes(v, "big") for v in batch.column("value").to_pylist()]
            starts = [MAX_TIME - int.from_bytes(q, "big") if q else 0 for q in batch.column("qualifier").to_pylist()]
            yield from zip(batch.column("row").to_pylist(), starts, counts, strict=True)

    def _edge_times(self, span: Span, field: Field | None, encoded: bytes) -> np.ndarray:
        """The times of the events in ``span``, or of those with a value, from the events or the index."""
        low, high = key_bounds(*span)
        ranges = Ranges()
        if field is None:
            for shard in shard_names(self._source.shards):
                ranges.add_rows(shard + low, shard + high)
            batches = self._store.read_events(
                event_table(self._source), ranges, None, self._source.time_field, [], 4096, 4096, False
            )
            keys = [fixed_rows(batch.column(0), 20)[:, SHARD_BYTES:] for batch in batches]
        else:
            suffix = index_prefix(field.name) + encoded
            for shard in shard_names(self._source.shards):
                ranges.add_qualifiers(shard + suffix, low, high)
            batches = self._store.scan(index_table(self._source), ranges, ordered=False)
            keys = [fixed_rows(batch.column("qualifier"), 16) for batch in batches]
        return times_of_keys(np.concatenate(keys)) if keys else np.empty(0, np.int64)

    def _count_values(self, span: Span, field: Field, counts: Counter[bytes]) -> None:
        layout = layout_of(self._source)
        for batch in layout.scan(self._store, self._source, *span, None, [field.name], 4096):
            column = batch.column(0)
            if field.is_list:
                values = index_values(encode_elements(field, column.flatten()))
                pairs = pa.table({"event": pc.list_parent_indices(column), "value": values})
                values = pairs.group_by(["event", "value"]).aggregate([])["value"]
            else:
                values = index_values(encode_column(field, column))
            for entry in values.drop_null().value_counts().to_pylist():
                counts[entry["values"]] += entry["counts"]


def _cell_ranges(parts: Cover) -> bytes:
    """The cells that a cover sums. A cell of family ``s`` counts for its hour and for its day."""
    days = b"".join(_cells(family, span) for family in "ds" for span in parts.days)
    return days + b"".join(_cells(family, span) for family in "hs" for span in parts.hours)


def _whole_minutes(edges: tuple[Span, ...]) -> tuple[tuple[Span, ...], tuple[Span, ...]]:
    """Edges as whole minutes, of which a source's total has cells, and what is left of them."""
    minutes = [(-(-since // MINUTE) * MINUTE, until // MINUTE * MINUTE) for since, until in edges]
    inner = tuple(span for span in minutes if span[0] < span[1])
    outer = [
        _spans((edge[0], span[0]), (span[1], edge[1])) if span[0] < span[1] else (edge,)
        for edge, span in zip(edges, minutes, strict=True)
    ]
    return inner, tuple(span for spans in outer for span in spans)


def _cells(family: str, span: Span) -> bytes:
    """Buckets of a family that start in ``span``, as the iterator reads them: reversed, half-open."""
    return struct.pack(">B1sQQ", 1, family.encode(), MAX_TIME - span[1] + 1, MAX_TIME - span[0] + 1)
