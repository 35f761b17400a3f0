"""Reads counts from the aggregate table, as the fewest buckets that cover a time range.

``item_counts.py`` writes them.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from watchfloor.schema.source import Source
from watchfloor.store.bridge.requests import EntryScan, ServerIterator
from watchfloor.store.encoding.byte_arrays import to_byte_rows
from watchfloor.store.encoding.index_values import to_index_value
from watchfloor.store.encoding.keys import (
    DAY,
    HOUR,
    MAX_TIME,
    MINUTE,
    aggregate_shard,
    aggregate_table,
    index_prefix,
    times_of_keys,
)
from watchfloor.store.encoding.ranges import Ranges
from watchfloor.store.encoding.values import encode_value
from watchfloor.store.layout import FieldValue
from watchfloor.store.reader import Batches, Reader

from .item_counts import TOTAL

_COUNT_ITERATOR = "watchfloor.iterators.CountIterator"

Span = tuple[int, int]
"""A half-open time range, in microseconds."""


@dataclass(frozen=True)
class BucketCover:
    """A time range as whole days, whole hours outside these days, and the remaining edges."""

    days: tuple[Span, ...]
    hours: tuple[Span, ...]
    edges: tuple[Span, ...]


def cover_range(since: int, until: int) -> BucketCover:
    """Returns the fewest buckets that cover [since, until), in microseconds."""
    hours = (-(-since // HOUR) * HOUR, until // HOUR * HOUR)
    if hours[0] >= hours[1]:
        return BucketCover((), (), drop_empty_spans((since, until)))
    days = (-(-since // DAY) * DAY, until // DAY * DAY)
    edges = drop_empty_spans((since, hours[0]), (hours[1], until))
    if days[0] >= days[1]:
        return BucketCover((), drop_empty_spans(hours), edges)
    return BucketCover(drop_empty_spans(days), drop_empty_spans((hours[0], days[0]), (days[1], hours[1])), edges)


def drop_empty_spans(*spans: Span) -> tuple[Span, ...]:
    """Returns the spans that are not empty."""
    return tuple(span for span in spans if span[0] < span[1])


def widen_to_hours(since: int, until: int) -> Span:
    """Returns the range of whole hours that touch [since, until)."""
    return since // HOUR * HOUR, -(-until // HOUR) * HOUR


def merge_hours(hours: np.ndarray) -> list[Span]:
    """Returns the spans of ascending hours, newest first; hours that touch become one span."""
    if not len(hours):
        return []
    first = np.concatenate(([True], np.diff(hours) > HOUR))
    starts, ends = hours[first], hours[np.append(first[1:], True)] + HOUR
    return list(zip(starts[::-1].tolist(), ends[::-1].tolist(), strict=True))


def make_bucket_row(source: Source, term: FieldValue | None) -> bytes:
    """Returns the aggregate row of ``field = value``, or with ``term`` None the row that counts all events."""
    name = TOTAL if term is None else term[0].name
    value = b"" if term is None else to_index_value(encode_value(term[0].scalar, term[1]))
    return aggregate_shard(name, value, source.shards) + index_prefix(name) + value


def make_row_range(row: bytes) -> Ranges:
    """Returns the range of one row."""
    ranges = Ranges()
    ranges.add_row(row)
    return ranges


def read_counts(
    reader: Reader, source: Source, ranges: Ranges, cells: bytes, by: str
) -> Iterator[tuple[bytes, int, int]]:
    """Yields (row, start of the bucket, count) of the ``cells`` in ``ranges``, summed ``by`` ``row`` or ``bucket``."""
    with begin_counts(reader, source, ranges, cells, by) as batches:
        yield from iterate_counts(batches)


def begin_counts(reader: Reader, source: Source, ranges: Ranges, cells: bytes, by: str) -> Batches:
    """Begins the scan of ``read_counts``, which reads ahead from now on.

    ``iterate_counts`` and ``sum_buckets`` decode its batches.
    """
    options: dict[str, str | bytes] = {"mode": "cells", "ranges": cells, "by": by}
    # A single range is read faster by requests one after the other, which need no pool of threads.
    ordered = len(ranges) == 1
    iterator = ServerIterator(30, "counts", _COUNT_ITERATOR, options)
    return reader.begin_scan(EntryScan(aggregate_table(source), ranges, [iterator], ordered))


def iterate_counts(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[bytes, int, int]]:
    """Yields (row, start of the bucket, count); the start is 0 if the counts were summed by row."""
    for batch in batches:
        starts, counts = _read_columns(batch)
        yield from zip(batch.column("row").to_pylist(), starts.tolist(), counts.tolist(), strict=True)


def sum_buckets(batches: Iterable[pa.RecordBatch]) -> tuple[np.ndarray, np.ndarray]:
    """Returns the ascending starts of buckets and the count of each over all rows, from a scan summed by bucket."""
    parts = [_read_columns(batch) for batch in batches]
    if not parts:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    starts, counts = (np.concatenate(column) for column in zip(*parts, strict=True))
    distinct, of = np.unique(starts, return_inverse=True)
    sums = np.zeros(len(distinct), np.int64)
    np.add.at(sums, of, counts)
    return distinct, sums


def _read_columns(batch: pa.RecordBatch) -> tuple[np.ndarray, np.ndarray]:
    """Returns the start of the bucket (0 if summed by row) and the count of each entry."""
    counts = to_byte_rows(batch.column("value"), 8).view(">i8").reshape(-1).astype(np.int64)
    qualifiers, starts = batch.column("qualifier"), np.zeros(len(batch), np.int64)
    if len(batch) and qualifiers[0].as_py():  # Summed by bucket, all entries have a qualifier; summed by row, none has.
        starts = times_of_keys(to_byte_rows(qualifiers, 8))
    return starts, counts


def make_cover_cells(parts: BucketCover) -> bytes:
    """Returns the cells to sum for a cover's days and hours. A cell of family ``s`` counts for its hour and its day."""
    days = b"".join(make_cells(family, span) for family in "ds" for span in parts.days)
    return days + b"".join(make_cells(family, span) for family in "hs" for span in parts.hours)


def make_bucket_cells(width: int, span: Span) -> bytes:
    """Returns the cells of the buckets of a width (µs) that start in ``span``."""
    families = {MINUTE: "m", HOUR: "hs", DAY: "ds"}[width]
    return b"".join(make_cells(family, span) for family in families)


def make_cells(family: str, span: Span) -> bytes:
    """Returns the cells of a family that start in ``span``, as the iterator reads them: a reversed, half-open range."""
    return struct.pack(">B1sQQ", 1, family.encode(), MAX_TIME - span[1] + 1, MAX_TIME - span[0] + 1)
