"""Reads where values occur from the table of sightings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from watchfloor.schema.times import close_range
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


@dataclass
class FieldSightings:
    """The events of a field that have a value: how many there are by the start (µs) of the hour.

    All of them are before ``end`` (µs): one microsecond after the newest, or else the end of its hour.
    """

    hours: Counter[int] = field(default_factory=Counter)
    end: int = 0


def read_sightings(
    reader: Reader, ranges: Collection[SightedRange], since: int | None, until: int | None
) -> Mapping[SightedRange, Mapping[SightedField, FieldSightings]]:
    """Returns the values within each range by field.

    The hours are those that touch [since, until) (µs; None leaves an end open). An event counts once for each element
    of its list that is within a range.
    """
    low, high = widen_to_hours(*close_range(since, until))
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


def _sum_hours(batches: Iterable[pa.RecordBatch], low: int, high: int) -> dict[SightedField, FieldSightings]:
    """Returns the sightings in the hours [low, high) (µs) by field."""
    found: dict[SightedField, FieldSightings] = {}
    for batch in batches:
        fields, newest = _read_qualifiers(batch)
        entry_of, hours, counts = _read_hours(batch, newest)
        within = (hours >= low // HOUR) & (hours < high // HOUR)
        numbers = (fields.indices.to_numpy()[entry_of] * _MOST_HOURS + hours)[within]
        distinct, of = np.unique(numbers, return_inverse=True)
        sums = np.zeros(len(distinct), np.int64)
        np.add.at(sums, of, counts[within])
        codes, found_hours = np.divmod(distinct, _MOST_HOURS)
        starts = found_hours * HOUR
        ends = np.zeros(len(fields.dictionary), np.int64)
        np.maximum.at(ends, fields.indices.to_numpy()[entry_of[within]], _find_ends(newest, entry_of, hours)[within])
        names = [_split_name(name) for name in fields.dictionary.to_pylist()]
        for code in np.unique(codes).tolist():
            sightings = found.setdefault(names[code], FieldSightings())
            mine = slice(*np.searchsorted(codes, [code, code + 1]))
            sightings.hours.update(dict(zip(starts[mine].tolist(), sums[mine].tolist(), strict=True)))
            sightings.end = max(sightings.end, int(ends[code]))
    return found


def _read_qualifiers(batch: pa.RecordBatch) -> tuple[pa.DictionaryArray, np.ndarray]:
    """Returns the field of each entry, and the time (µs) of its newest event."""
    qualifiers = batch.column("qualifier")
    fields = pc.binary_slice(qualifiers, REVTS_BYTES, -ITEM_BYTES).dictionary_encode()
    return fields, times_of_keys(to_byte_rows(pc.binary_slice(qualifiers, 0, REVTS_BYTES), REVTS_BYTES))


def _read_hours(batch: pa.RecordBatch, newest: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns for each hour of the entries, whose newest events are given: the entry, the hour (since 1970), events."""
    values = batch.column("value")
    entry_of = np.repeat(np.arange(len(batch)), pc.binary_length(values).to_numpy() // HOUR_BYTES)
    ages, counts = unpack_byte_rows(values, HOUR_BYTES).view(">u4").astype(np.int64).T
    return entry_of, newest[entry_of] // HOUR - ages, counts


def _find_ends(newest: np.ndarray, entry_of: np.ndarray, hours: np.ndarray) -> np.ndarray:
    """Returns a time (µs) for each hour of the entries after which none of its events is.

    Earlier versions wrote the start of the newest hour in place of the time of the newest event.
    """
    times = newest[entry_of]
    is_exact = (times // HOUR == hours) & (times % HOUR != 0)
    return np.where(is_exact, times + 1, (hours + 1) * HOUR)


def _read_sums(batches: Iterable[pa.RecordBatch]) -> dict[SightedField, FieldSightings]:
    """Returns the sightings by field that the tablet servers have summed."""
    found: dict[SightedField, FieldSightings] = {}
    for batch in batches:
        for answer in batch.column("value").to_pylist():
            at = 0
            while at + _HEARTBEAT_BYTES < len(answer):
                start = at + 2 + int.from_bytes(answer[at : at + 2], "big")
                name = _split_name(answer[at + 2 : start])
                number = int.from_bytes(answer[start : start + 4], "big")
                sums = np.frombuffer(answer, _SUM, number, start + 4)
                hours = dict(zip((sums["hour"].astype(np.int64) * HOUR).tolist(), sums["events"].tolist(), strict=True))
                sightings = found.setdefault(name, FieldSightings())
                sightings.hours.update(hours)
                sightings.end = max(sightings.end, *(hour + HOUR for hour in hours))
                at = start + 4 + sums.nbytes
    return found


def _split_name(name: bytes) -> SightedField:
    source, field, _ = name.split(b"\x00")
    return source.decode(), field.decode()
