"""Sightings of one work item: for each value of a field the number of events of each hour.

They are written when the item has ended, in both layouts. Each carries the item's ID, so writing an item again writes
the same entries again and changes no count. What a later reading does not write again is removed with the help of the
records of the earlier one (``item_records.py``).
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pyarrow as pa

from watchfloor.schema.field import Field
from watchfloor.schema.source import Source
from watchfloor.store.admin.tables import SIGHTINGS_TABLE
from watchfloor.store.encoding.byte_arrays import join_bytes, to_binary_array
from watchfloor.store.encoding.keys import reverse_times
from watchfloor.store.index.hour_counts import HourCounts, ValueHours
from watchfloor.store.index.item_counts import make_constant_column
from watchfloor.store.layout import TableWrite

from .item_records import make_records
from .sighted_rows import make_value_rows, name_field, to_sighted_values

HOUR_BYTES = 8
"""Bytes of an hour in a sighting's value: the hours from it to the newest one, and its number of events, big-endian."""


class ItemSightings:
    """Counts the values of one source's sighted fields within one work item."""

    def __init__(self, source: Source, item_id: bytes) -> None:
        self._source, self._item_id = source, item_id
        self._counts: dict[str, HourCounts] = defaultdict(HourCounts)

    def add_values(self, field: Field, values: pa.BinaryArray, codes: np.ndarray, times: np.ndarray) -> None:
        """Counts values as ``HourCounts.add`` does; ``values`` are encoded."""
        if field.is_sighted and len(codes):
            self._counts[field.name].add(to_sighted_values(field, values), codes, times)

    def make_writes(self) -> list[TableWrite]:
        """Returns the sightings, after the records that say which they are."""
        records: list[TableWrite] = []
        sightings: list[TableWrite] = []
        for name, counts in self._counts.items():
            batch = self._make_entries(self._source.find_field(name), counts.sum())
            sightings.append(TableWrite(SIGHTINGS_TABLE, batch, False, len(batch)))
            record = make_records(self._source.name, name, self._item_id, batch)
            records.append(TableWrite(SIGHTINGS_TABLE, record, False, len(record), ahead=True))
        return [*records, *sightings]

    def _make_entries(self, field: Field, found: ValueHours) -> pa.RecordBatch:
        """Returns an entry per value, in the order of the values."""
        starts = np.flatnonzero(np.concatenate(([True], np.diff(found.codes) != 0)))
        ends = np.append(starts[1:], len(found.codes))
        cells = np.empty((len(found.hours), 2), ">u4")
        cells[:, 0] = np.repeat(found.hours[ends - 1], ends - starts) - found.hours
        cells[:, 1] = found.counts
        offsets = pa.py_buffer(np.append(starts, len(cells)).astype(np.int32) * np.int32(HOUR_BYTES))
        columns = {
            "row": _make_dictionary(found.codes[starts], make_value_rows(found.values.to_pylist())),
            "qualifier": self._make_qualifiers(field, found.newest[found.codes[starts]]),
            "visibility": make_constant_column(self._source.visibility_of(field).encode(), len(starts)),
            "value": pa.Array.from_buffers(pa.binary(), len(starts), [None, offsets, pa.py_buffer(cells)]),
        }
        return pa.RecordBatch.from_pydict(columns)

    def _make_qualifiers(self, field: Field, newest: np.ndarray) -> pa.DictionaryArray:
        """Returns the qualifiers of entries, by the times (µs) of their newest events."""
        distinct, of = np.unique(newest, return_inverse=True)
        name = pa.scalar(name_field(self._source.name, field.name) + self._item_id, pa.binary())
        return _make_dictionary(of, join_bytes(to_binary_array(reverse_times(distinct)), name))


def _make_dictionary(codes: np.ndarray, values: list[bytes] | pa.BinaryArray) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int32)), pa.array(values, pa.binary()))
