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
from watchfloor.store.bridge.requests import EntryScan, ServerIterator
from watchfloor.store.encoding.byte_arrays import to_byte_rows, unpack_byte_rows
from watchfloor.store.encoding.keys import HOUR, MAX_TIME, REVTS_BYTES, key_bounds, times_of_keys
from watchfloor.store.encoding.ranges import Ranges
from watchfloor.store.index.count_buckets import widen_to_hours
from watchfloor.store.reader import Reader

from .item_sightings import HOUR_BYTES
from .sighted_rows import ITEM_BYTES, SightedRange

_SUMS_ITERATOR, _SUMS_PRIORITY = "watchfloor.sightings.SightingsIterator", 30
_SUM = np.dtype([("hour", ">u4"), ("events", ">u8")])
_HEARTBEAT_BYTES = 1
_MOST_HOURS = np.int64(1 << 32)
"""More than the hours since 1970 of any event."""
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
        begun = {wanted: stack.enter_context(reader.begin_scan(_make_scan(wanted, low, high))) for wanted in ranges}
        return {
            wanted: _sum_hours(batches, low, high) if wanted.high is None else _read_sums(batches)
            for wanted, batches in begun.items()
        }


def _make_scan(wanted: SightedRange, low: int, high: int) -> EntryScan:
    """Returns the scan for the sightings of one value that reach ``low`` (µs), or for the sums of those of several."""
    rows = Ranges()
    if wanted.high is None:
        rows.add_qualifiers(wanted.row, *key_bounds(low, MAX_TIME))
        return EntryScan(SIGHTINGS_TABLE, rows)
    for start, end in wanted.list_row_ranges():
        rows.add_rows(start, end)
    options = {"low": str(low // HOUR), "high": str(high // HOUR)}
    iterators = [ServerIterator(_SUMS_PRIORITY, "sums", _SUMS_ITERATOR, options)]
    return EntryScan(SIGHTINGS_TABLE, rows, iterators, ordered=False)


def _sum_hours(batches: Iterable[pa.RecordBatch], low: int, high: int) -> dict[SightedField, Counter[int]]:
    """Returns the counts in the hours [low, high) (µs) by field and hour."""
    found: dict[SightedField, Counter[int]] = {}
    for batch in batches:
        fields, entry_of, hours, counts = _read_entries(batch)
        within = (hours >= low // HOUR) & (hours < high // HOUR)
        numbers = (fields.indices.to_numpy()[entry_of] * _MOST_HOURS + hours)[within]
        distinct, of = np.unique(numbers, return_inverse=True)
        sums = np.zeros(len(distinct), np.int64)
        np.add.at(sums, of, counts[within])
        names = [_split_name(name) for name in fields.dictionary.to_pylist()]
        for number, count in zip(distinct.tolist(), sums.tolist(), strict=True):
            field, hour = divmod(number, int(_MOST_HOURS))
            found.setdefault(names[field], Counter())[hour * HOUR] += count
    return found


def _read_entries(batch: pa.RecordBatch) -> tuple[pa.DictionaryArray, np.ndarray, np.ndarray, np.ndarray]:
    """Returns the field of each entry, and for each hour of it the entry, the hour (since 1970), the events."""
    qualifiers, values = batch.column("qualifier"), batch.column("value")
    fields = pc.binary_slice(qualifiers, REVTS_BYTES, -ITEM_BYTES).dictionary_encode()
    newest = times_of_keys(to_byte_rows(pc.binary_slice(qualifiers, 0, REVTS_BYTES), REVTS_BYTES))
    entry_of = np.repeat(np.arange(len(batch)), pc.binary_length(values).to_numpy() // HOUR_BYTES)
    ages, counts = unpack_byte_rows(values, HOUR_BYTES).view(">u4").astype(np.int64).T
    return fields, entry_of, newest[entry_of] // HOUR - ages, counts


def _read_sums(batches: Iterable[pa.RecordBatch]) -> dict[SightedField, Counter[int]]:
    """Returns the counts by field and hour that the tablet servers have summed."""
    found: dict[SightedField, Counter[int]] = {}
    for batch in batches:
        for answer in batch.column("value").to_pylist():
            at = 0
            while at + _HEARTBEAT_BYTES < len(answer):
                start = at + 2 + int.from_bytes(answer[at : at + 2], "big")
                field = _split_name(answer[at + 2 : start])
                number = int.from_bytes(answer[start : start + 4], "big")
                sums = np.frombuffer(answer, _SUM, number, start + 4)
                hours = dict(zip((sums["hour"].astype(np.int64) * HOUR).tolist(), sums["events"].tolist(), strict=True))
                found.setdefault(field, Counter()).update(hours)
                at = start + 4 + sums.nbytes
    return found


def _split_name(name: bytes) -> SightedField:
    source, field, _ = name.split(b"\x00")
    return source.decode(), field.decode()
