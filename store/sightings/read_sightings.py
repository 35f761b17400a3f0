"""Reads where values occur from the table of sightings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from contextlib import ExitStack

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from watchfloor.schema.times import END_OF_TIME
from watchfloor.store.admin.tables import SIGHTINGS_TABLE
from watchfloor.store.bridge.requests import EntryScan
from watchfloor.store.encoding.byte_arrays import to_byte_rows, unpack_byte_rows
from watchfloor.store.encoding.keys import HOUR, MAX_TIME, REVTS_BYTES, key_bounds, times_of_keys
from watchfloor.store.encoding.ranges import Ranges
from watchfloor.store.index.count_buckets import widen_to_hours
from watchfloor.store.reader import Reader

from .item_sightings import HOUR_BYTES
from .sighted_rows import ITEM_BYTES, SightedRange

SightedField = tuple[str, str]
"""The names of a source and of one of its fields."""


def read_sightings(
    reader: Reader, ranges: Collection[SightedRange], since: int | None, until: int | None
) -> Mapping[SightedRange, Mapping[SightedField, Counter[int]]]:
    """Returns the number of values within each range by field and by the start (µs) of the hour.

    The hours are those that touch [since, until) (µs; None leaves an end open). An event counts once for each element
    of its list that is within a range.
    """
    low, high = widen_to_hours(since or 0, END_OF_TIME if until is None else until)
    with ExitStack() as stack:
        begun = {wanted: stack.enter_context(reader.begin_scan(_make_scan(wanted, low))) for wanted in ranges}
        return {wanted: _sum_hours(batches, low, high) for wanted, batches in begun.items()}


def _make_scan(wanted: SightedRange, low: int) -> EntryScan:
    """Returns the scan for the sightings of some values; of one value only those that reach ``low`` (µs)."""
    rows = Ranges()
    if wanted.high is None:
        rows.add_qualifiers(wanted.row, *key_bounds(low, MAX_TIME))
        return EntryScan(SIGHTINGS_TABLE, rows)
    for start, end in wanted.list_row_ranges():
        rows.add_rows(start, end)
    return EntryScan(SIGHTINGS_TABLE, rows, ordered=False)


def _sum_hours(batches: Iterable[pa.RecordBatch], low: int, high: int) -> dict[SightedField, Counter[int]]:
    """Returns the counts in the hours [low, high) (µs) by field and hour."""
    found: dict[SightedField, Counter[int]] = {}
    for batch in batches:
        qualifiers, cells = (
            batch.column("qualifier").cast(pa.binary()),
            unpack_byte_rows(batch.column("value"), HOUR_BYTES),
        )
        fields = pc.binary_slice(qualifiers, REVTS_BYTES, -ITEM_BYTES).dictionary_encode()
        newest = times_of_keys(to_byte_rows(pc.binary_slice(qualifiers, 0, REVTS_BYTES), REVTS_BYTES))
        entry_of = np.repeat(np.arange(len(batch)), pc.binary_length(batch.column("value")).to_numpy() // HOUR_BYTES)
        ages, counts = cells.view(">u4").astype(np.int64).T
        starts = newest[entry_of] - ages * HOUR
        of = fields.indices.to_numpy()[entry_of]
        within = (starts >= low) & (starts < high)
        names = [_split_name(name) for name in fields.dictionary.to_pylist()]
        for field, start, count in zip(*(c[within].tolist() for c in (of, starts, counts)), strict=True):
            found.setdefault(names[field], Counter())[start] += count
    return found


def _split_name(name: bytes) -> SightedField:
    source, field, _ = name.split(b"\x00")
    return source.decode(), field.decode()
