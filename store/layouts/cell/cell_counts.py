"""Counts of values in the cell layout: from the aggregate table, and at the edges from index or events."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from watchfloor.schema.filter.tree import Condition
from watchfloor.schema.source import Source
from watchfloor.store.bridge.requests import EntryScan
from watchfloor.store.encoding.byte_arrays import to_byte_rows
from watchfloor.store.encoding.index_values import count_index_values
from watchfloor.store.encoding.keys import (
    KEY_BYTES,
    MINUTE,
    SHARD_BYTES,
    index_table,
    key_bounds,
    shard_names,
    times_of_keys,
)
from watchfloor.store.encoding.ranges import Ranges
from watchfloor.store.index.count_buckets import (
    Span,
    begin_counts,
    cover_range,
    drop_empty_spans,
    make_bucket_cells,
    make_bucket_row,
    make_cover_cells,
    make_row_range,
    read_counts,
    sum_buckets,
    widen_to_hours,
)
from watchfloor.store.index.index_hits import is_equality, read_index_hits, split_conditions
from watchfloor.store.index.index_rows import find_value_rows, make_index_ranges, make_index_suffixes
from watchfloor.store.layout import FieldValue, IndexCount, Layout, ReadRequest
from watchfloor.store.reader import Reader

from .event_rows import EVENT_KEYS

MAX_HITS = 2_000_000
"""The largest number of index entries that are read to count the events of a condition of many values."""
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
        self, reader: Reader, source: Source, condition: Condition, width: int, since: int, until: int
    ) -> Counter[int] | None:
        counts: Counter[int] = Counter()
        whole = (-(-since // width) * width, until // width * width)
        edges: tuple[Span, ...] = ((since, until),)
        rows = _find_count_rows(source, condition)
        # Counts of values exist by hour and day only.
        if rows is not None and whole[0] < whole[1] and width != MINUTE:
            edges = drop_empty_spans((since, whole[0]), (whole[1], until))
            with begin_counts(reader, source, rows, make_bucket_cells(width, whole), "bucket") as read:
                starts, sums = sum_buckets(read)
            for start, count in zip((starts // width * width).tolist(), sums.tolist(), strict=True):
                counts[start] += count
        for span in edges:
            times = _read_times(reader, source, condition, span)
            if times is None:
                return None
            counts.update((times // width * width).tolist())
        return counts

    def count_values(
        self, reader: Reader, source: Source, condition: Condition, since: int, until: int, most: int | None
    ) -> Counter[bytes] | None:
        field, wanted = source.find_field(condition.field), find_value_rows(condition, source)
        counts: Counter[bytes] = Counter()
        parts = cover_range(since, until)
        cells = make_cover_cells(parts)
        if cells:
            ranges = Ranges()
            for shard in shard_names(source.shards):
                ranges.add_rows(shard + wanted.start, shard + wanted.end)
            for row, _, count in read_counts(reader, source, ranges, cells, "row"):
                counts[row[SHARD_BYTES + wanted.skip :]] += count
                if most is not None and len(counts) > most:
                    return None
        for span in parts.edges:
            request = ReadRequest(*span, condition, [field.name], _EDGE_ROWS)
            for batch in self._layout.scan_events(reader, source, request):
                count_index_values(field, batch.column(0), counts)
        return wanted.select_values(counts) if field.is_list else counts


def _make_exact_count(count: int) -> IndexCount:
    """Returns the index's answer about an equality, which has an index entry for each event."""
    return IndexCount(count, count, count)


def _find_count_rows(source: Source, condition: Condition) -> Ranges | None:
    """Returns the aggregate rows of the values that satisfy a condition; None if their sum is no number of events.

    There are no counts of reversed values, and an event counts once for each element of a list.
    """
    field = source.find_field(condition.field)
    if is_equality(condition):
        return make_row_range(make_bucket_row(source, (field, condition.value)))
    rows = find_value_rows(condition, source)
    if field.is_list or rows.reversed or rows.test is not None:
        return None
    ranges = Ranges()
    for shard in shard_names(source.shards):
        ranges.add_rows(shard + rows.start, shard + rows.end)
    return ranges


def _read_times(reader: Reader, source: Source, condition: Condition, span: Span) -> np.ndarray | None:
    """Returns the times (int64 µs) of the events in ``span`` that satisfy a condition, each once, from the index.

    Returns None for a condition of many values that has more index entries than ``MAX_HITS``.
    """
    if is_equality(condition):
        return _read_edge_times(reader, source, (source.find_field(condition.field), condition.value), span)
    hits = read_index_hits(reader, source, [condition], EVENT_KEYS, *span, MAX_HITS // source.shards)[0]
    if not hits.complete:
        return None
    times = times_of_keys(hits.ids)
    return times[(times >= span[0]) & (times < span[1])]


def _read_edge_times(reader: Reader, source: Source, term: FieldValue, span: Span) -> np.ndarray:
    """Returns the times (int64 µs) of the events that have the value in ``span``, from the index."""
    ranges = make_index_ranges(source, make_index_suffixes([term]), *key_bounds(*span))
    batches = reader.scan(EntryScan(index_table(source), ranges, ordered=False))
    keys = [to_byte_rows(batch.column("qualifier"), KEY_BYTES) for batch in batches]
    return times_of_keys(np.concatenate(keys)) if keys else np.empty(0, np.int64)
