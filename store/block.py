"""The ``block`` layout: some thousands of events a row, a column vector a field (``docs/keys.md``).

The index finds blocks, the filter finds events: a hit is a block that may hold some, and the tablet servers evaluate
the whole filter on it. Blocks are read by their newest event; events are held back until no block that is still to
come can have newer ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from watchfloor.schema.errors import StoreError
from watchfloor.schema.filter import And, Compare, Filter, Value
from watchfloor.schema.source import Field, Source

from .block_counts import BlockCounts, read_hits
from .block_encoder import BlockEncoder
from .keys import (
    BLOCK_KEY_BYTES,
    FILE,
    KEY_BYTES,
    OFFSET,
    OFFSET_FIELD,
    SHARD_BYTES,
    block_bounds,
    block_times,
    event_table,
    mixed_hashes,
    reverse_times,
    shard_names,
)
from .newest import Runs
from .program import compile_filter
from .ranges import Ranges
from .values import fixed_binary, fixed_rows
from .vector import Buffer, decode_binary, decode_vector

if TYPE_CHECKING:
    from .store import Store

ITERATOR = "watchfloor.iterators.BlockIterator"
FIRST_BLOCKS = 2
"""Blocks that are read first: with the second it is known which events of the first are the newest."""
BATCH_BLOCKS = 8
"""Blocks that a scan hands over at once, then."""
FETCH_BLOCKS = 64
"""Blocks that are looked up at once, at most."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LAST = 253_402_300_799_999_999
"""The last microsecond that Python's datetime knows."""


class BlockLayout:
    """Reading and writing of blocks."""

    name = "block"
    hits_exact = False

    def __init__(self) -> None:
        self.counts = BlockCounts(self)

    def encoder(self, source: Source, file_id: bytes, item_id: bytes) -> BlockEncoder:
        return BlockEncoder(source, file_id, item_id)

    def scan(
        self,
        store: Store,
        source: Source,
        since: int,
        until: int,
        where: Filter | None,
        columns: Sequence[str],
        first_rows: int,
    ) -> Iterator[pa.RecordBatch]:
        if since >= until:
            return
        low, high = block_bounds(since, until)
        ranges = Ranges()
        for shard in shard_names(source.shards):
            ranges.add_rows(shard + low, shard + high)
        runs = Runs()
        for blocks in self._read(store, source, ranges, since, until, where, columns, ordered=True):
            newest = _add(runs, blocks, source, columns)
            yield from runs.take(newest)
        yield from runs.take()

    def hits(self, store: Store, source: Source, field: Field, value: Value, since: int, until: int) -> pa.Array:
        found = read_hits(store, source, [(field, value)], since, until)[0]
        return found.ids.take(pc.sort_indices(found.ids))

    def fetch(
        self,
        store: Store,
        source: Source,
        hits: pa.Array,
        since: int,
        until: int,
        where: Filter | None,
        columns: Sequence[str],
        first_rows: int,
    ) -> Iterator[pa.RecordBatch]:
        runs, start, step = Runs(), 0, FIRST_BLOCKS
        while start < len(hits):
            keys = hits.slice(start, step)
            rows = pc.binary_join_element_wise(
                pc.binary_slice(keys, BLOCK_KEY_BYTES, BLOCK_KEY_BYTES + SHARD_BYTES),
                pc.binary_slice(keys, 0, BLOCK_KEY_BYTES),
                b"",
            )
            ranges = Ranges.exact_rows(rows)
            for blocks in self._read(store, source, ranges, since, until, where, columns, ordered=False):
                _add(runs, blocks, source, columns)
            start += step
            step = min(step * 4, FETCH_BLOCKS)
            if start < len(hits):
                newest, _ = block_times(np.frombuffer(hits[start].as_py(), np.uint8).reshape(1, -1))
                yield from runs.take(int(newest[0]))
        yield from runs.take()

    def _read(
        self,
        store: Store,
        source: Source,
        ranges: Ranges,
        since: int,
        until: int,
        where: Filter | None,
        columns: Sequence[str],
        ordered: bool,
    ) -> Iterator[pa.RecordBatch]:
        """Blocks as they are stored, with the events that lie in [since, until) and satisfy ``where``."""
        time = source.time_field
        inside = (Compare(time, ">=", _moment(since)), Compare(time, "<", _moment(until)))
        program = compile_filter(And((*inside, where) if where is not None else inside), source)
        wanted = [time, FILE, OFFSET, *(name for name in columns if name != time)]
        return store.read_events(
            event_table(source),
            ranges,
            program,
            time,
            wanted,
            FIRST_BLOCKS,
            BATCH_BLOCKS,
            ordered,
            iterator=ITERATOR,
        )


def _moment(micros: int) -> datetime:
    return _EPOCH + timedelta(microseconds=min(max(micros, 0), _LAST))


def _add(runs: Runs, blocks: pa.RecordBatch, source: Source, columns: Sequence[str]) -> int:
    """Decodes blocks into runs; the time of the last block's newest event, which may not have been among the hits."""
    keys = fixed_rows(blocks.column(0), SHARD_BYTES + BLOCK_KEY_BYTES)[:, SHARD_BYTES:]
    fields = [source.field(name) for name in columns]
    names = [*columns, "_key"]
    schema = pa.schema([pa.field(f.name, f.arrow) for f in fields] + [pa.field("_key", pa.binary())])
    stored = {name: i for i, name in enumerate([source.time_field, FILE, OFFSET], 1)}
    others = (name for name in columns if name not in stored)
    stored.update({name: i for i, name in enumerate(others, len(stored) + 1)})
    for number in range(len(blocks)):
        cells = {name: blocks.column(place)[number].as_buffer() for name, place in stored.items()}
        if cells[source.time_field] is None:
            continue  # who may not see when an event was does not see the event
        times = decode_vector(source.field(source.time_field), cells[source.time_field])
        decoded = {source.time_field: times}
        for field in fields:
            if field.name != source.time_field:
                decoded[field.name] = _column(field, cells[field.name], len(times))
        decoded["_key"] = _keys(times, cells[FILE], cells[OFFSET])
        runs.add(pa.RecordBatch.from_arrays([decoded[name] for name in names], schema=schema))
    newest, _ = block_times(keys[-1:])
    return int(newest[0])


def _column(field: Field, vector: Buffer | None, rows: int) -> pa.Array:
    if vector is None:
        return pa.nulls(rows, field.arrow)
    values = decode_vector(field, vector)
    if len(values) != rows:
        raise StoreError(f"a stored block is damaged: {len(values)} values of {field.name} for {rows} events")
    return values


def _keys(times: pa.Array, file: Buffer | None, offset: Buffer | None) -> pa.BinaryArray:
    """REVTS and HASH of events. Where the reader may not see the hash's origin, ties stay as they are in the block."""
    rows = len(times)
    keys = np.empty((rows, KEY_BYTES), np.uint8)
    keys[:, :8] = reverse_times(times.cast(pa.int64()).to_numpy())
    hashes = np.arange(rows, dtype=np.uint64)
    if file is not None and offset is not None:
        offsets = _column(OFFSET_FIELD, offset, rows).to_numpy()
        files = decode_binary(file)
        if len(files) != rows:
            raise StoreError(f"a stored block is damaged: {len(files)} files for {rows} events")
        first = np.ascontiguousarray(fixed_rows(files, 16)[:, :8]).view(">u8").reshape(-1).astype(np.uint64)
        hashes = mixed_hashes(first, offsets)
    keys[:, 8:] = hashes.astype(">u8").view(np.uint8).reshape(-1, 8)
    return fixed_binary(keys)
