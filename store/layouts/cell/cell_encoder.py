"""Entries of the ``cell`` layout: an entry for each field of an event, and an index entry for each indexed value."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from watchfloor.schema.field import Field
from watchfloor.schema.source import Source
from watchfloor.store.encoding.byte_arrays import to_binary_array
from watchfloor.store.encoding.keys import (
    MINUTE,
    OFFSET_COLUMN,
    SHARD_BYTES,
    aggregate_table,
    event_hashes,
    event_table,
    times_of_keys,
)
from watchfloor.store.encoding.values import decode_column, encode_column, encode_elements
from watchfloor.store.index.index_entries import IndexColumn, make_index_writes
from watchfloor.store.index.item_counts import ItemCounts, make_constant_column
from watchfloor.store.index.stale_counts import counted_minutes, read_item_counts, remove_stale_counts
from watchfloor.store.layout import GoneLines, SweepGuard, TableWrite
from watchfloor.store.sightings.item_records import read_item_records, remove_stale_sightings
from watchfloor.store.sightings.item_sightings import ItemSightings
from watchfloor.store.store import Store

from .event_rows import make_event_rows
from .sweep import StaleCells, WrittenCells, remove_stale_cells


@dataclass(frozen=True)
class _EventKeys:
    """The rows of a batch's events, (n, 20) bytes, and the shard number and time (µs) of each event."""

    rows: np.ndarray
    shards: np.ndarray
    times: np.ndarray


class CellEncoder:
    """Makes the entries of one work item's events of one source."""

    def __init__(self, source: Source, file_id: bytes, item_id: bytes, again: bool = False) -> None:
        """Sets up an encoder of one work item.

        ``again`` says that parts of the item may have been written before; then the encoder remembers what it writes.
        """
        self._source, self._file_id, self._item_id, self._again = source, file_id, item_id, again
        self._counts, self._sightings = ItemCounts(source, item_id), ItemSightings(source, item_id)
        self._written = WrittenCells()

    def encode(self, events: pa.RecordBatch) -> list[TableWrite]:
        source = self._source
        times = events.column(source.time_field).cast(pa.int64()).to_numpy()
        rows, shards = make_event_rows(self._file_id, times, events.column(OFFSET_COLUMN).to_numpy(), source.shards)
        self._counts.add_total(times)
        keys = _EventKeys(rows, shards, times)
        encoded: dict[str, pa.Array] = {}
        writes: list[TableWrite] = []
        for field in source.fields:
            if field.name == source.time_field:
                continue
            column = events.column(field.name)
            encoded[field.name] = encode_column(field, column)
            if field.is_indexed and column.null_count < len(column):
                writes += self._index_field(field, column, encoded[field.name], keys)
        if self._again:
            self._written.add(rows, encoded)
        return [self._write_events(rows, encoded), *writes]

    def finish(self) -> list[TableWrite]:
        table = aggregate_table(self._source)
        counts = [TableWrite(table, batch, False, len(batch)) for batch in self._counts.make_entries()]
        return [*counts, *self._sightings.make_writes()]

    def replace_earlier(self, store: Store, guard: SweepGuard) -> list[TableWrite]:
        # Events have been written over those of the earlier reading, cell by cell.
        return []

    def sweep_earlier(self, store: Store, gone: GoneLines, guard: SweepGuard) -> None:
        source = store.catalog.read_sources()[self._source.name]
        store = store.seeing_all_of(source)
        counts = read_item_counts(store, source, self._item_id)
        # Index entries are made by an encoder that is used for nothing else, because making them counts their values.
        other = CellEncoder(source, self._file_id, self._item_id)
        # A reading that died before it counted has left events in minutes of which only the lines tell.
        minutes = np.union1d(counted_minutes(source, counts), gone.times // MINUTE * MINUTE)
        stale = StaleCells(self._written.sort(), event_hashes(self._file_id, gone.offsets))
        remove_stale_cells(store, source, minutes, stale, other._index_rows, guard)
        records = read_item_records(store, source, self._item_id)
        guard.confirm()
        remove_stale_sightings(store, self._item_id, records, self._sightings.make_writes())
        # The counts are removed last, because a sweep finds by them in which minutes to look.
        remove_stale_counts(store, source, counts, self._counts.make_entries())

    def _index_rows(self, field: Field, encoded: pa.Array, rows: np.ndarray) -> Iterator[TableWrite]:
        """Returns the index entries of a field for events, given by their rows and encoded values."""
        shards = np.array([int(bytes(name)) for name in rows[:, :SHARD_BYTES]])
        keys = _EventKeys(rows, shards, times_of_keys(rows[:, SHARD_BYTES:]))
        return self._index_field(field, decode_column(field, encoded), encoded, keys)

    def _write_events(self, rows: np.ndarray, encoded: dict[str, pa.Array]) -> TableWrite:
        """Returns a row for each event, with a cell for each value."""
        source = self._source
        names = [name for name, column in encoded.items() if column.null_count < len(column)]
        columns = [encoded[name] for name in names]
        fields = [
            pa.field(
                n, pa.binary(), metadata={"qualifier": n, "visibility": source.visibility_of(source.find_field(n))}
            )
            for n in names
        ]
        exists = np.zeros(len(rows), bool)
        for name, column in zip(names, columns, strict=True):
            if source.visibility_of(source.find_field(name)) == source.visibility:
                exists |= column.is_valid().to_numpy(zero_copy_only=False)
        entries = sum(len(column) - column.null_count for column in columns)
        if not exists.all():
            # Whoever may see the source sees and counts all of its events: also one that has nothing but its time, or
            # beside it only values with other labels.
            fields.append(pa.field("", pa.binary(), metadata={"qualifier": "", "visibility": source.visibility}))
            columns.append(pc.if_else(pa.array(exists), pa.scalar(None, pa.binary()), pa.scalar(b"")))
            entries += int((~exists).sum())
        schema = pa.schema([pa.field("row", pa.binary()), *fields])
        batch = pa.RecordBatch.from_arrays([to_binary_array(rows), *columns], schema=schema)
        return TableWrite(event_table(source), batch, True, entries)

    def _index_field(self, field: Field, column: pa.Array, encoded: pa.Array, keys: _EventKeys) -> Iterator[TableWrite]:
        """Counts the values of a field and returns their index entries."""
        if field.is_list:
            values = encode_elements(field, column.flatten())
            events = pc.list_parent_indices(column).to_numpy()
        else:
            values, events = encoded, np.arange(len(column))
        dictionary = values.dictionary_encode()
        valid = dictionary.is_valid().to_numpy(zero_copy_only=False)
        codes = dictionary.indices.fill_null(0).to_numpy()[valid].astype(np.int64)
        events = events[valid]
        if field.is_list:  # A value that is in an event's list several times counts once.
            _, first = np.unique(codes * len(keys.rows) + events, return_index=True)
            codes, events = codes[first], events[first]
        if not len(codes):
            return
        visibility = self._source.visibility_of(field)
        indexed = IndexColumn.from_values(field.name, visibility, dictionary.dictionary, field.is_reversed)
        self._counts.add_values(field, indexed.row_values, codes, keys.times[events])
        self._sightings.add_values(field, indexed.values, codes, keys.times[events])
        groups = codes * self._source.shards + keys.shards[events]
        order = np.argsort(groups, kind="stable")
        qualifiers = to_binary_array(np.ascontiguousarray(keys.rows[events[order], SHARD_BYTES:]))
        yield from make_index_writes(
            self._source, indexed, groups[order], qualifiers, make_constant_column(b"", len(order))
        )
