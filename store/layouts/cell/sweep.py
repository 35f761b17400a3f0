"""Removes the cells that an earlier reading of a work item wrote and the last reading did not write again.

An event's key is computed from its place in its file, so every reading writes an event to the same row. By another
definition, a line may be no event any more, or an event may have lost a value (for example one that was kept in
``extra`` and is now a field of its own). Such cells are found by the minutes in which the item had events, and are
deleted after their index entries. As other items may have events in the same minutes, reading many small files again
costs the square of their number; a large file's items hardly share minutes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from watchfloor.schema.field import Field
from watchfloor.schema.source import Source
from watchfloor.store.bridge.requests import EntryScan
from watchfloor.store.encoding.byte_arrays import to_byte_rows
from watchfloor.store.encoding.keys import MINUTE, SHARD_BYTES, event_table, hashes_of_keys, key_bounds, shard_names
from watchfloor.store.encoding.ranges import Ranges
from watchfloor.store.layout import SweepGuard, TableWrite
from watchfloor.store.store import Store

from .event_rows import ROW_BYTES

IndexRows = Callable[[Field, pa.Array, np.ndarray], Iterator[TableWrite]]
"""Makes the index entries of a field, from its encoded values and the rows of the events that have them."""


class WrittenCells:
    """Collects the cells that a reading writes: the hash of each event, and the fields that have a value in it."""

    def __init__(self) -> None:
        self._hashes: list[np.ndarray] = []
        self._filled: dict[str, list[np.ndarray]] = {}

    def add(self, rows: np.ndarray, cells: Mapping[str, pa.Array]) -> None:
        """Adds the cells of a batch: its rows, and a column of encoded values per field."""
        self._hashes.append(hashes_of_keys(rows[:, SHARD_BYTES:]))
        for name, column in cells.items():
            self._filled.setdefault(name, []).append(column.is_valid().to_numpy(zero_copy_only=False))

    def sort(self) -> SortedCells:
        """Returns everything that was added so far, sorted by hash."""
        hashes = np.concatenate(self._hashes) if self._hashes else np.empty(0, np.uint64)
        order = np.argsort(hashes)
        return SortedCells(hashes[order], {name: np.concatenate(parts)[order] for name, parts in self._filled.items()})


@dataclass(frozen=True)
class SortedCells:
    """The hashes of written events, ascending, and for each field whether these events have a value."""

    hashes: np.ndarray
    filled: Mapping[str, np.ndarray]


@dataclass(frozen=True)
class StaleCells:
    """Tells stale cells: of events whose hash is in ``gone``, and of fields that are null in ``written`` events."""

    written: SortedCells
    gone: np.ndarray

    def find(self, rows: np.ndarray, qualifiers: pa.BinaryArray) -> np.ndarray:
        """Returns a boolean per stored cell, given by ``rows`` and ``qualifiers``: whether it is stale."""
        hashes = hashes_of_keys(rows[:, SHARD_BYTES:])
        stale = np.isin(hashes, self.gone)
        known = self.written.hashes
        if len(known):
            places = np.minimum(np.searchsorted(known, hashes), len(known) - 1)
            written = known[places] == hashes
            for name, filled in self.written.filled.items():
                here = written & pc.equal(qualifiers, name.encode()).to_numpy(zero_copy_only=False)
                stale |= here & ~filled[places]
        return stale


def remove_stale_cells(
    store: Store, source: Source, minutes: np.ndarray, stale: StaleCells, index_rows: IndexRows, guard: SweepGuard
) -> None:
    """Deletes durably the stale cells of events in ``minutes`` (starts in µs), after their index entries.

    Reads all events of the source in these minutes, also those of other items.
    """
    if not len(minutes):
        return
    with store.sink() as sink:
        for batch in store.scan(EntryScan(event_table(source), _ranges_of(source, minutes), ordered=False)):
            guard.report()
            found = stale.find(to_byte_rows(batch.column("row"), ROW_BYTES), batch.column("qualifier"))
            if not found.any():
                continue
            cells = batch.filter(pa.array(found))
            guard.confirm()
            for write in _index_entries_of(source, cells, index_rows):
                sink.delete_entries(write.table, write.batch)
            sink.flush()
            sink.delete_entries(event_table(source), cells.select(["row", "qualifier", "visibility"]))
            sink.flush()


def _ranges_of(source: Source, minutes: np.ndarray) -> Ranges:
    """Returns the ranges of the events in these minutes, with neighbouring minutes joined."""
    ranges = Ranges()
    for run in np.split(minutes, np.flatnonzero(np.diff(minutes) != MINUTE) + 1):
        low, high = key_bounds(int(run[0]), int(run[-1]) + MINUTE)
        for shard in shard_names(source.shards):
            ranges.add_rows(shard + low, shard + high)
    return ranges


def _index_entries_of(source: Source, cells: pa.RecordBatch, index_rows: IndexRows) -> Iterator[TableWrite]:
    """Yields the index entries of cells of indexed fields."""
    for field in source.indexed_fields:
        of_field = cells.filter(pc.equal(cells.column("qualifier"), field.name.encode()))
        if len(of_field):
            rows = to_byte_rows(of_field.column("row"), ROW_BYTES)
            yield from index_rows(field, of_field.column("value").cast(pa.binary()), rows)
