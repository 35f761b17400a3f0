"""Removes the cells that an earlier reading of a work item wrote and the last reading did not write again.

An event's key is computed from its place in its file, so every reading writes an event to the same row. By another
definition, a line may be no event any more, or an event may have lost a value (for example one that was kept in
``extra`` and is now a field of its own). Such cells are found by the minutes in which the item had events, and are
deleted after their index entries.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from watchfloor.schema.field import Field
from watchfloor.schema.source import Source
from watchfloor.store.bridge.requests import EntryScan
from watchfloor.store.encoding.byte_arrays import to_byte_rows
from watchfloor.store.encoding.keys import MINUTE, SHARD_BYTES, event_table, hashes_of_keys, key_bounds, shard_names
from watchfloor.store.encoding.ranges import Ranges
from watchfloor.store.layout import TableWrite
from watchfloor.store.store import Store

from .event_rows import ROW_BYTES

IndexRows = Callable[[Field, pa.Array, np.ndarray], Iterator[TableWrite]]
"""Makes the index entries of a field, from its encoded values and the rows of the events that have them."""


class WrittenCells:
    """The cells that a reading has written: the hash of each event, and the fields that have a value in it."""

    def __init__(self) -> None:
        self._hashes: list[np.ndarray] = []
        self._filled: dict[str, list[np.ndarray]] = {}
        self._sorted = False

    def add(self, rows: np.ndarray, cells: Mapping[str, pa.Array]) -> None:
        """Adds the cells of a batch: its rows, and a column of encoded values per field."""
        self._hashes.append(hashes_of_keys(rows[:, SHARD_BYTES:]))
        for name, column in cells.items():
            self._filled.setdefault(name, []).append(column.is_valid().to_numpy(zero_copy_only=False))

    def find_stale(self, rows: np.ndarray, qualifiers: pa.BinaryArray, gone: np.ndarray) -> np.ndarray:
        """Returns a boolean per stored cell, given by ``rows`` and ``qualifiers``: whether it is stale.

        A cell is stale if its event's hash is in ``gone``, or if its field is null in the event as it was written anew.
        """
        hashes = hashes_of_keys(rows[:, SHARD_BYTES:])
        stale = np.isin(hashes, gone)
        if not self._hashes:
            return stale
        self._sort()
        known = self._hashes[0]
        places = np.minimum(np.searchsorted(known, hashes), len(known) - 1)
        written = known[places] == hashes
        for name, (filled,) in self._filled.items():
            here = written & pc.equal(qualifiers, name.encode()).to_numpy(zero_copy_only=False)
            stale |= here & ~filled[places]
        return stale

    def _sort(self) -> None:
        """Joins everything that was added, sorted by hash. Nothing may be added afterwards."""
        if len(self._hashes) == 1 and self._sorted:
            return
        hashes = np.concatenate(self._hashes)
        order = np.argsort(hashes)
        self._hashes, self._sorted = [hashes[order]], True
        self._filled = {name: [np.concatenate(parts)[order]] for name, parts in self._filled.items()}


def remove_stale_cells(
    store: Store,
    source: Source,
    minutes: np.ndarray,
    gone: np.ndarray,
    written: WrittenCells,
    index_rows: IndexRows,
) -> None:
    """Deletes durably the stale cells of events in ``minutes`` (starts in µs), after their index entries.

    ``gone`` are the hashes of lines that are not events any more; ``written`` has the cells of all other lines.
    """
    if not len(minutes):
        return
    with store.sink() as sink:
        for batch in store.scan(EntryScan(event_table(source), _ranges_of(source, minutes), ordered=False)):
            rows = to_byte_rows(batch.column("row"), ROW_BYTES)
            stale = written.find_stale(rows, batch.column("qualifier"), gone)
            if not stale.any():
                continue
            cells = batch.filter(pa.array(stale))
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
