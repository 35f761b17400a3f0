"""The ``cell`` layout, the paper's: an entry per field, an index entry per indexed value (``docs/keys.md``)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from watchfloor.schema.filter.tree import Condition
from watchfloor.schema.source import Field, Source
from watchfloor.store.encoding.keys import (
    KEY_BYTES,
    KEY_COLUMN,
    OFFSET_COLUMN,
    SHARD_BYTES,
    aggregate_table,
    event_table,
    index_prefix,
    index_table,
    key_bounds,
    reversed_prefix,
    shard_names,
    times_of_keys,
)
from watchfloor.store.encoding.program import compile_filter
from watchfloor.store.encoding.ranges import Ranges
from watchfloor.store.encoding.values import (
    comes_as,
    encode_column,
    encode_elements,
    fixed_binary,
    fixed_rows,
    index_values,
    joined,
    reversed_values,
    typed_column,
)
from watchfloor.store.index.aggregates import ItemCounts, constant
from watchfloor.store.index.places import apart, read_places
from watchfloor.store.index.rows import index_ranges, index_suffixes
from watchfloor.store.layout import TableWrite, Term, Wanted

from .costs import CELL_COSTS
from .counts import CellCounts
from .keys import ROW_BYTES, event_rows

if TYPE_CHECKING:
    from watchfloor.store.store import Store

_READER = "watchfloor.cell.CellSource"
BATCH_ROWS = 4096
"""Events in a batch of results, once the first is out."""


class CellEncoder:
    """Entries of one work item's events of one source."""

    def __init__(self, source: Source, file_id: bytes, item_id: bytes) -> None:
        self._source, self._file_id = source, file_id
        self._counts = ItemCounts(source, item_id)

    def encode(self, events: pa.RecordBatch) -> list[TableWrite]:
        source = self._source
        times = events.column(source.time_field).cast(pa.int64()).to_numpy()
        rows, shards = event_rows(self._file_id, times, events.column(OFFSET_COLUMN).to_numpy(), source.shards)
        self._counts.add_total(times)
        cells: dict[str, pa.Array] = {}
        writes: list[TableWrite] = []
        for field in source.fields:
            if field.name == source.time_field:
                continue
            column = events.column(field.name)
            cells[field.name] = encode_column(field, column)
            if field.indexed and column.null_count < len(column):
                writes += self._index(field, column, cells[field.name], rows, shards, times)
        return [self._events(rows, cells), *writes]

    def finish(self) -> list[TableWrite]:
        table = aggregate_table(self._source)
        return [TableWrite(table, batch, False, len(batch)) for batch in self._counts.entries()]

    def sweep(self, store: Store) -> None:
        """An event's key is its place in its file: it was written again to where it was."""

    def _events(self, rows: np.ndarray, cells: dict[str, pa.Array]) -> TableWrite:
        source = self._source
        names = [name for name, column in cells.items() if column.null_count < len(column)]
        columns = [cells[name] for name in names]
        fields = [
            pa.field(n, pa.binary(), metadata={"qualifier": n, "visibility": source.visibility_of(source.field(n))})
            for n in names
        ]
        filled = np.zeros(len(rows), np.int64)
        for column in columns:
            filled += column.is_valid().to_numpy(zero_copy_only=False)
        entries = int(filled.sum())
        if (filled == 0).any():
            # An event that has nothing but its time still needs a cell to exist.
            fields.append(pa.field("", pa.binary(), metadata={"qualifier": "", "visibility": source.visibility}))
            columns.append(pc.if_else(pa.array(filled == 0), pa.scalar(b""), pa.scalar(None, pa.binary())))
            entries += int((filled == 0).sum())
        schema = pa.schema([pa.field("row", pa.binary()), *fields])
        batch = pa.RecordBatch.from_arrays([fixed_binary(rows), *columns], schema=schema)
        return TableWrite(event_table(source), batch, True, entries)

    def _index(
        self, field: Field, column: pa.Array, encoded: pa.Array, rows: np.ndarray, shards: np.ndarray, times: np.ndarray
    ) -> list[TableWrite]:
        """Index entries grouped by their row, so that the sink makes one mutation of each group."""
        if field.is_list:
            values = encode_elements(field, column.flatten())
            events = pc.list_parent_indices(column).to_numpy()
        else:
            values, events = encoded, np.arange(len(column))
        dictionary = values.dictionary_encode()
        valid = dictionary.is_valid().to_numpy(zero_copy_only=False)
        codes = dictionary.indices.fill_null(0).to_numpy()[valid].astype(np.int64)
        events = events[valid]
        if field.is_list:  # a value counts once an event, however often its list has it
            _, first = np.unique(codes * len(rows) + events, return_index=True)
            codes, events = codes[first], events[first]
        if not len(codes):
            return []
        distinct_values = index_values(dictionary.dictionary)
        self._counts.add(field, distinct_values, codes, times[events])
        shard_count = self._source.shards
        groups = codes * shard_count + shards[events]
        order = np.argsort(groups, kind="stable")
        distinct, positions = np.unique(groups[order], return_inverse=True)
        names = pa.array(shard_names(shard_count), pa.binary())
        shard_of, value_of = names.take(pa.array(distinct % shard_count)), pa.array(distinct // shard_count)
        row_of = pa.array(positions.astype(np.int32))
        cells = {
            "qualifier": fixed_binary(np.ascontiguousarray(rows[events[order], SHARD_BYTES:])),
            "visibility": constant(self._source.visibility_of(field).encode(), len(order)),
            "value": constant(b"", len(order)),
        }
        forms = [(index_prefix(field.name), distinct_values)]
        if field.reversed:
            forms.append((reversed_prefix(field.name), reversed_values(dictionary.dictionary)))
        writes = []
        for prefix, written in forms:
            index_rows = joined(shard_of, pa.scalar(prefix, pa.binary()), written.take(value_of))
            batch = pa.RecordBatch.from_pydict({"row": pa.DictionaryArray.from_arrays(row_of, index_rows), **cells})
            writes.append(TableWrite(index_table(self._source), batch, False, len(batch)))
        return writes


class CellLayout:
    """Reading and writing of the paper's tables."""

    name = "cell"
    hits_exact = True
    costs = CELL_COSTS
    most_entries = 4096

    def __init__(self) -> None:
        self.counts = CellCounts(self)

    def encoder(self, source: Source, file_id: bytes, item_id: bytes, reread: Store | None = None) -> CellEncoder:
        return CellEncoder(source, file_id, item_id)

    def scan(self, store: Store, source: Source, wanted: Wanted) -> Iterator[pa.RecordBatch]:
        low, high = key_bounds(wanted.since, wanted.until)
        ranges = Ranges()
        for shard in shard_names(source.shards):
            ranges.add_rows(shard + low, shard + high)
        yield from self._read(store, source, ranges, wanted, wanted.first_rows, ordered=True)

    def hits(
        self, store: Store, source: Source, conditions: Sequence[Condition], since: int, until: int
    ) -> list[pa.Array]:
        terms, others = apart(conditions)
        pairs = [(source.field(term.field), term.value) for term in terms]
        found: dict[Condition, pa.Array] = dict(zip(terms, _equal(store, source, pairs, since, until), strict=True))
        places = read_places(store, source, others, since, until, key_bounds, KEY_BYTES, None)
        for condition, place in zip(others, places, strict=True):
            times = times_of_keys(place.ids)
            found[condition] = fixed_binary(place.some((times >= since) & (times < until)).ids)
        return [found[condition] for condition in conditions]

    def fetch(self, store: Store, source: Source, hits: pa.Array, wanted: Wanted) -> Iterator[pa.RecordBatch]:
        start, step = 0, wanted.first_rows
        while start < len(hits):
            keys = hits.slice(start, step)
            rows = joined(pc.binary_slice(keys, KEY_BYTES, ROW_BYTES), pc.binary_slice(keys, 0, KEY_BYTES))
            ranges = Ranges.exact_rows(rows)
            parts = list(self._read(store, source, ranges, wanted, BATCH_ROWS, ordered=False))
            if parts:
                yield _newest_first(pa.concat_batches(parts))
            start += step
            step = min(step * 4, BATCH_ROWS)

    def _read(
        self, store: Store, source: Source, ranges: Ranges, wanted: Wanted, first_rows: int, ordered: bool
    ) -> Iterator[pa.RecordBatch]:
        columns, where = wanted.columns, wanted.where
        stored = {name: comes_as(source.field(name)) for name in columns if name != source.time_field}
        program = compile_filter(where, source) if where is not None else None
        with store.begin_events(
            _READER, event_table(source), ranges, program, source.time_field, stored, first_rows, BATCH_ROWS, ordered
        ) as batches:
            for batch in batches:
                yield _typed(batch, source, columns)


def _equal(store: Store, source: Source, terms: Sequence[Term], since: int, until: int) -> list[pa.Array]:
    """The sorted IDs of the events with each term."""
    suffixes = index_suffixes(terms)
    found: dict[bytes, list[pa.Array]] = {suffix: [pa.array([], pa.binary())] for suffix in suffixes}
    ranges = index_ranges(source, list(found), *key_bounds(since, until))
    for batch in store.scan(index_table(source), ranges, ordered=False):
        rows = batch.column("row").dictionary_encode()
        ids = joined(batch.column("qualifier"), pc.binary_slice(batch.column("row"), 0, SHARD_BYTES))
        for number, row in enumerate(rows.dictionary.to_pylist()):
            found[row[SHARD_BYTES:]].append(ids.filter(pc.equal(rows.indices, pa.scalar(number, pa.int32()))))
    parts = [pa.concat_arrays(found[suffix]) for suffix in suffixes]
    return [part.take(pc.sort_indices(part)) for part in parts]


def _typed(batch: pa.RecordBatch, source: Source, columns: Sequence[str]) -> pa.RecordBatch:
    """A batch as the bridge gives it as typed columns, with ``KEY_COLUMN``."""
    rows = fixed_rows(batch.column(0), ROW_BYTES)
    stored = iter(batch.columns[1:])
    arrays = []
    for name in columns:
        if name == source.time_field:
            arrays.append(pa.array(times_of_keys(rows[:, SHARD_BYTES:])).cast(pa.timestamp("us", tz="UTC")))
        else:
            arrays.append(typed_column(source.field(name), next(stored)))
    schema = pa.schema(
        [pa.field(name, source.field(name).arrow) for name in columns] + [pa.field(KEY_COLUMN, pa.binary())]
    )
    key = fixed_binary(np.ascontiguousarray(rows[:, SHARD_BYTES:]))
    return pa.RecordBatch.from_arrays([*arrays, key], schema=schema)


def _newest_first(batch: pa.RecordBatch) -> pa.RecordBatch:
    return batch.take(pc.sort_indices(batch.column(KEY_COLUMN)))
