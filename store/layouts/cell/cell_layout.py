"""The ``cell`` layout, the paper's: an entry per field, an index entry per indexed value (``docs/keys.md``)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from watchfloor.schema.filter.tree import Condition
from watchfloor.schema.source import Source
from watchfloor.store.answers import AnsweringLayout
from watchfloor.store.bridge.requests import EntryScan, EventScan, ServerIterator, ServerOptions
from watchfloor.store.encoding.byte_arrays import join_bytes, to_binary_array, to_byte_rows
from watchfloor.store.encoding.keys import (
    KEY_BYTES,
    KEY_COLUMN,
    SHARD_BYTES,
    event_table,
    index_table,
    key_bounds,
    shard_names,
    times_of_keys,
)
from watchfloor.store.encoding.program import compile_filter, list_sets
from watchfloor.store.encoding.ranges import Ranges
from watchfloor.store.encoding.values import bridge_type, to_arrow_type
from watchfloor.store.index.index_hits import read_index_hits, split_conditions
from watchfloor.store.index.index_rows import make_index_ranges, make_index_suffixes
from watchfloor.store.layout import FieldValue, ReadRequest, StatsRequest, TopRequest, make_event_schema
from watchfloor.store.reader import Reader

from .cell_counts import CellCounts
from .cell_encoder import CellEncoder
from .costs import CELL_COSTS
from .event_rows import EVENT_KEYS, ROW_BYTES

_STREAM = "watchfloor.cell.CellStream"
BATCH_ROWS = 4096
"""Number of events in a batch of results after the first batch."""


class CellLayout(AnsweringLayout):
    """Writes events as a cell per field, as the paper does, and reads them."""

    name = "cell"
    stats_iterator, top_iterator = "watchfloor.cell.CellStatsIterator", "watchfloor.cell.CellTopIterator"
    hits_exact = True
    costs = CELL_COSTS
    max_entries = 4096

    def __init__(self) -> None:
        self.counts = CellCounts(self)

    def make_encoder(self, source: Source, file_id: bytes, item_id: bytes, again: bool = False) -> CellEncoder:
        return CellEncoder(source, file_id, item_id, again)

    def scan_events(self, reader: Reader, source: Source, request: ReadRequest) -> Iterator[pa.RecordBatch]:
        ranges = _rows_of_range(source, request.since, request.until)
        events = _request_events(source, ranges, request, request.first_rows, ordered=True)
        yield from _read_events(reader, source, events, request.columns)

    def find_hits(
        self, reader: Reader, source: Source, conditions: Sequence[Condition], since: int, until: int
    ) -> list[pa.Array]:
        equalities, others = split_conditions(conditions)
        terms = [(source.find_field(equality.field), equality.value) for equality in equalities]
        ids = _read_equal_hits(reader, source, terms, since, until)
        found: dict[Condition, pa.Array] = dict(zip(equalities, ids, strict=True))
        many = read_index_hits(reader, source, others, EVENT_KEYS, since, until, None)
        for condition, hits in zip(others, many, strict=True):
            times = times_of_keys(hits.ids)
            found[condition] = to_binary_array(hits.select((times >= since) & (times < until)).ids)
        return [found[condition] for condition in conditions]

    def fetch_events(
        self, reader: Reader, source: Source, hits: pa.Array, request: ReadRequest
    ) -> Iterator[pa.RecordBatch]:
        start, step = 0, request.first_rows
        while start < len(hits):
            ranges = _rows_of_hits(hits.slice(start, step))
            looked_up = _request_events(source, ranges, request, BATCH_ROWS, ordered=False)
            parts = list(_read_events(reader, source, looked_up, request.columns))
            if parts:
                events = pa.concat_batches(parts)
                yield events.take(pc.sort_indices(events.column(KEY_COLUMN)))
            start += step
            step = min(step * 4, BATCH_ROWS)

    def read_answers(
        self,
        reader: Reader,
        source: Source,
        request: StatsRequest | TopRequest,
        iterator: ServerIterator,
        hits: pa.Array | None,
    ) -> Iterator[pa.RecordBatch]:
        ranges = _rows_of_range(source, request.since, request.until) if hits is None else _rows_of_hits(hits)
        if request.where is not None:
            program = compile_filter(request.where, source)
            iterator = replace(iterator, options={**iterator.options, "filter": program})
        yield from reader.scan(EntryScan(event_table(source), ranges, [iterator], ordered=False))


def _rows_of_range(source: Source, since: int, until: int) -> Ranges:
    """Returns a range of each shard, of the events in [since, until)."""
    low, high = key_bounds(since, until)
    ranges = Ranges()
    for shard in shard_names(source.shards):
        ranges.add_rows(shard + low, shard + high)
    return ranges


def _rows_of_hits(hits: pa.BinaryArray) -> Ranges:
    """Returns a range for the row of each event in ``hits``."""
    rows = join_bytes(pc.binary_slice(hits, KEY_BYTES, ROW_BYTES), pc.binary_slice(hits, 0, KEY_BYTES))
    return Ranges.exact_rows(rows)


def _request_events(source: Source, ranges: Ranges, request: ReadRequest, first_rows: int, ordered: bool) -> EventScan:
    """Returns the scan that reads the requested events in some ranges."""
    program = compile_filter(request.where, source) if request.where is not None else None
    return EventScan(
        _STREAM,
        event_table(source),
        ranges,
        columns={name: bridge_type(source.find_field(name)) for name in request.columns if name != source.time_field},
        first_rows=first_rows,
        batch_rows=BATCH_ROWS,
        ordered=ordered,
        server=ServerOptions(program, source.time_field, sets=list_sets(request.where)),
        limit=request.limit if ordered else None,
    )


def _read_events(
    reader: Reader, source: Source, request: EventScan, columns: Sequence[str]
) -> Iterator[pa.RecordBatch]:
    """Yields events as batches by ``make_event_schema``."""
    with reader.begin_events(request) as batches:
        for batch in batches:
            # Columns are taken by position, because a field may be named "row" like the first column.
            rows, *values = batch.columns
            yield _to_typed_batch(rows, dict(zip(request.columns, values, strict=True)), source, columns)


def _read_equal_hits(
    reader: Reader, source: Source, terms: Sequence[FieldValue], since: int, until: int
) -> list[pa.Array]:
    """Returns the sorted IDs of the events that have each ``field = value``, by one scan."""
    suffixes = make_index_suffixes(terms)
    found: dict[bytes, list[pa.Array]] = {suffix: [pa.array([], pa.binary())] for suffix in suffixes}
    ranges = make_index_ranges(source, list(found), *key_bounds(since, until))
    for batch in reader.scan(EntryScan(index_table(source), ranges, ordered=False)):
        rows = batch.column("row").dictionary_encode()
        ids = join_bytes(batch.column("qualifier"), pc.binary_slice(batch.column("row"), 0, SHARD_BYTES))
        for number, row in enumerate(rows.dictionary.to_pylist()):
            found[row[SHARD_BYTES:]].append(ids.filter(pc.equal(rows.indices, pa.scalar(number, pa.int32()))))
    parts = [pa.concat_arrays(found[suffix]) for suffix in suffixes]
    return [part.take(pc.sort_indices(part)) for part in parts]


def _to_typed_batch(
    row_ids: pa.BinaryArray, values: Mapping[str, pa.Array], source: Source, columns: Sequence[str]
) -> pa.RecordBatch:
    """Returns events, given as the bridge hands them over, as a batch by ``make_event_schema``."""
    rows = to_byte_rows(row_ids, ROW_BYTES)
    arrays = []
    for name in columns:
        if name == source.time_field:
            arrays.append(pa.array(times_of_keys(rows[:, SHARD_BYTES:])).cast(pa.timestamp("us", tz="UTC")))
        else:
            arrays.append(to_arrow_type(source.find_field(name), values[name]))
    keys = to_binary_array(np.ascontiguousarray(rows[:, SHARD_BYTES:]))
    return pa.RecordBatch.from_arrays([*arrays, keys], schema=make_event_schema(source, columns))
