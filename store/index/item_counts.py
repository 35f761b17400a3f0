"""Counts of one work item's events, summed before they are written.

For each indexed field's value, and for the source as a whole, events are counted per hour. A value that the item has
in only one hour of a day gets one cell (family ``s``: it stands for the hour and for the day); a value with several
hours gets a cell per hour (``h``) and one for the day (``d``). So a value that is seen once costs one entry, and a day
is read from the fewest cells. The total has minutes (``m``) too. Every cell carries the item's ID, so writing an item
again writes the same cells again and changes no sum. Cells for which a later reading has no counts are removed
(``stale_counts.py``).
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pyarrow as pa

from watchfloor.schema.field import Field
from watchfloor.schema.source import Source
from watchfloor.store.encoding.byte_arrays import to_binary_array
from watchfloor.store.encoding.keys import (
    DAY,
    HOUR,
    MINUTE,
    aggregate_rows,
    aggregate_shard,
    index_prefix,
    reverse_times,
)

from .hour_counts import HourCounts, ValueHours, count_numbers

TOTAL = ""
"""The field name and the value under which all events of a source are counted."""


class ItemCounts:
    """Counts one source's events within one work item."""

    def __init__(self, source: Source, item_id: bytes) -> None:
        self._source, self._item_id = source, item_id
        self._values: dict[str, HourCounts] = defaultdict(HourCounts)
        self._minutes: dict[int, int] = defaultdict(int)

    def add_total(self, times: np.ndarray) -> None:
        """Counts the events of a batch by their ``times`` (int64 µs)."""
        if not len(times):
            return
        minutes = times // MINUTE
        first = int(minutes.min())
        found, counts = count_numbers(minutes - first, int(minutes.max()) - first + 1)
        for minute, count in zip(found.tolist(), counts.tolist(), strict=True):
            self._minutes[first + minute] += count

    def add_values(self, field: Field, values: pa.Array, codes: np.ndarray, times: np.ndarray) -> None:
        """Counts a field's values per hour.

        ``values`` are distinct and encoded. ``codes`` and ``times`` (int64 µs) have an element per event: the position
        of its value in ``values``, and its time.
        """
        self._values[field.name].add(values, codes, times)

    def make_entries(self) -> list[pa.RecordBatch]:
        """Returns the entries of all counts."""
        batches = [self._total_entries()] if self._minutes else []
        batches += [self._field_entries(name, counts.sum()) for name, counts in self._values.items()]
        return batches

    def _total_entries(self) -> pa.RecordBatch:
        """Returns the counts of all events by minute, hour and day."""
        cells: dict[tuple[str, int], int] = defaultdict(int)
        for minute, count in self._minutes.items():
            start = minute * MINUTE
            for family, width in (("m", MINUTE), ("h", HOUR), ("d", DAY)):
                cells[family, start // width * width] += count
        families = [family.encode() for family, _ in cells]
        starts = np.array([start for _, start in cells], np.int64)
        row = aggregate_shard(TOTAL, b"", self._source.shards) + index_prefix(TOTAL)
        rows = pa.DictionaryArray.from_arrays(pa.array(np.zeros(len(cells), np.int32)), pa.array([row], pa.binary()))
        counts = np.array(list(cells.values()), np.int64)
        return self._make_batch(rows, pa.array(families, pa.binary()), starts, counts, self._source.visibility)

    def _field_entries(self, name: str, found: ValueHours) -> pa.RecordBatch:
        """Returns the counts of a field's values by hour and by day, from the counts by hour."""
        codes, starts, counts = found.codes, found.hours * HOUR, found.counts
        days = starts // DAY
        first, span = int(days.min()), int(days.max() - days.min()) + 1
        groups, of, size = np.unique(codes * span + (days - first), return_inverse=True, return_counts=True)
        sums = np.zeros(len(groups), np.int64)
        np.add.at(sums, of, counts)
        several = size > 1
        # 0: the only hour of its value and day; 1: one of several hours; 2: a day of several hours
        kinds = np.concatenate([several[of].astype(np.int64), np.full(several.sum(), 2)])
        codes = np.concatenate([codes, groups[several] // span])
        starts = np.concatenate([starts, (groups[several] % span + first) * DAY])
        counts = np.concatenate([counts, sums[several]])
        order = np.argsort(codes, kind="stable")
        row_values = aggregate_rows(name, found.values.to_pylist(), self._source.shards)
        rows = pa.DictionaryArray.from_arrays(
            pa.array(codes[order].astype(np.int32)), pa.array(row_values, pa.binary())
        )
        families = pa.array([b"s", b"h", b"d"], pa.binary()).take(pa.array(kinds[order]))
        visibility = self._source.visibility_of(self._source.find_field(name))
        return self._make_batch(rows, families, starts[order], counts[order], visibility)

    def _make_batch(
        self, rows: pa.Array, families: pa.Array, starts: np.ndarray, counts: np.ndarray, visibility: str
    ) -> pa.RecordBatch:
        """Returns entries whose qualifier is the reversed start of the bucket and the item's ID."""
        qualifiers = np.empty((len(rows), 16), np.uint8)
        qualifiers[:, :8] = reverse_times(starts)
        qualifiers[:, 8:] = np.frombuffer(self._item_id, np.uint8)
        columns = {
            "row": rows,
            "family": families,
            "qualifier": to_binary_array(qualifiers),
            "visibility": make_constant_column(visibility.encode(), len(rows)),
            "value": to_binary_array(counts.astype(">i8").view(np.uint8).reshape(-1, 8)),
        }
        return pa.RecordBatch.from_pydict(columns)


def make_constant_column(value: bytes, rows: int) -> pa.DictionaryArray:
    """Returns a column with the same bytes in each row."""
    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, np.int32)), pa.array([value], pa.binary()))
