"""Counts of ``field = value`` in the cell layout: from the aggregate table, and at the edges from index or events."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from watchfloor.schema.field import Field
from watchfloor.schema.filter.tree import Condition
from watchfloor.schema.source import Source
from watchfloor.store.bridge.requests import EntryScan
from watchfloor.store.encoding.byte_arrays import to_byte_rows
from watchfloor.store.encoding.index_values import count_index_values
from watchfloor.store.encoding.keys import (
    KEY_BYTES,
    MINUTE,
    SHARD_BYTES,
    index_prefix,
    index_table,
    key_bounds,
    shard_names,
    times_of_keys,
)
from watchfloor.store.encoding.ranges import Ranges
from watchfloor.store.index.count_buckets import (
    Span,
    cover_range,
    drop_empty_spans,
    make_bucket_cells,
    make_bucket_row,
    make_cover_cells,
    make_row_range,
    read_counts,
    widen_to_hours,
)
from watchfloor.store.index.index_hits import read_index_hits, split_conditions
from watchfloor.store.index.index_rows import make_index_ranges, make_index_suffixes
from watchfloor.store.layout import FieldValue, IndexCount, Layout, ReadRequest
from watchfloor.store.reader import Reader

from .event_rows import EVENT_KEYS

_EDGE_ROWS = 4096


class CellCounts:
    """Counts events by the cells per value and hour, and per value and day, of the aggregate table."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout

    def estimate_conditions(
        self,
        reader: Reader,
        source: Source,
        conditions: Sequence[Condition],
        since: int,
        until: int,
        max_entries: int | None,
    ) -> list[IndexCount | None]:
        """Returns for an equality the count in the hours that touch the range, for another condition its index hits."""
        terms, others = split_conditions(conditions)
        rows = {term: make_bucket_row(source, (source.find_field(term.field), term.value)) for term in terms}
        ranges = Ranges()
        for row in dict.fromkeys(rows.values()):
            ranges.add_row(row)
        counts: Counter[bytes] = Counter()
        if rows:
            cells = make_cover_cells(cover_range(*widen_to_hours(since, until)))
            for row, _, count in read_counts(reader, source, ranges, cells, "row"):
                counts[row] += count
        found: dict[Condition, IndexCount | None] = {t: _make_exact_count(counts[row]) for t, row in rows.items()}
        many = read_index_hits(reader, source, others, EVENT_KEYS, since, until, max_entries)
        for condition, hits in zip(others, many, strict=True):
            count = len(hits.ids)
            newest = int(times_of_keys(hits.ids).max()) if count else None
            found[condition] = IndexCount(count, count, hits.entries, newest) if hits.complete else None
        return [found[condition] for condition in conditions]

    def count_events(self, reader: Reader, source: Source, term: FieldValue, since: int, until: int) -> int:
        parts = cover_range(since, until)
        cells = make_cover_cells(parts)
        total = 0
        if cells:
            scan = read_counts(reader, source, make_row_range(make_bucket_row(source, term)), cells, "row")
            total = sum(count for _, _, count in scan)
        return total + sum(len(_read_edge_times(reader, source, term, span)) for span in parts.edges)

    def count_over_time(
        self, reader: Reader, source: Source, term: FieldValue, width: int, since: int, until: int
    ) -> Counter[int]:
        counts: Counter[int] = Counter()
        whole = (-(-since // width) * width, until // width * width)
        edges: tuple[Span, ...] = ((since, until),)
        if whole[0] < whole[1] and width != MINUTE:  # Counts of values exist by hour and day only.
            edges = drop_empty_spans((since, whole[0]), (whole[1], until))
            cells = make_bucket_cells(width, whole)
            for _, start, count in read_counts(
                reader, source, make_row_range(make_bucket_row(source, term)), cells, "bucket"
            ):
                counts[start // width * width] += count
        for span in edges:
            counts.update((_read_edge_times(reader, source, term, span) // width * width).tolist())
        return counts

    def count_values(self, reader: Reader, source: Source, field: Field, since: int, until: int) -> Counter[bytes]:
        counts: Counter[bytes] = Counter()
        parts = cover_range(since, until)
        prefix = index_prefix(field.name)
        cells = make_cover_cells(parts)
        if cells:
            ranges = Ranges()
            for shard in shard_names(source.shards):
                ranges.add_prefix(shard + prefix)
            for row, _, count in read_counts(reader, source, ranges, cells, "row"):
                counts[row[SHARD_BYTES + len(prefix) :]] += count
        for span in parts.edges:
            for batch in self._layout.scan_events(reader, source, ReadRequest(*span, None, [field.name], _EDGE_ROWS)):
                count_index_values(field, batch.column(0), counts)
        return counts


def _make_exact_count(count: int) -> IndexCount:
    """Returns the index's answer about an equality, which has an index entry for each event."""
    return IndexCount(count, count, count)


def _read_edge_times(reader: Reader, source: Source, term: FieldValue, span: Span) -> np.ndarray:
    """Returns the times (int64 µs) of the events that have the value in ``span``, from the index."""
    ranges = make_index_ranges(source, make_index_suffixes([term]), *key_bounds(*span))
    batches = reader.scan(EntryScan(index_table(source), ranges, ordered=False))
    keys = [to_byte_rows(batch.column("qualifier"), KEY_BYTES) for batch in batches]
    return times_of_keys(np.concatenate(keys)) if keys else np.empty(0, np.int64)
