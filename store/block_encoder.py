"""Entries of the ``block`` layout: events as column vectors, some thousands in a row (``docs/keys.md``).

A work item's events are cut into *slabs*, in the order of the file and whatever the batches that they come in. Within
a slab they are split by day, sorted newest first and cut into blocks. So what is written depends on the events alone.
The blocks of a slab stand in one shard: an index row then takes the hits of all of them at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from watchfloor.schema.source import Field, Source

from .aggregates import ItemCounts, constant
from .block_sweep import sweep
from .column import Column, make_column
from .keys import (
    DAY,
    FILE,
    OFFSET,
    OFFSET_FIELD,
    SHARD_BYTES,
    aggregate_table,
    block_row,
    event_hashes,
    event_table,
    index_prefix,
    index_table,
    item_tag,
    shard_name,
)
from .layout import TableWrite
from .newest import newest_first
from .values import fixed_binary, index_values
from .vector import Compression, dictionary_vector

if TYPE_CHECKING:
    from .store import Store

BLOCK_ROWS = 8192
"""Events that a block has at most."""
SLAB_BLOCKS = 4
"""Blocks' worth of events that are made ready together."""
_MOST_CELLS = 1 << 20


@dataclass(frozen=True)
class Block:
    """Events, as places in their slab, newest first, and the row that they go to."""

    row: bytes
    events: np.ndarray


class BlockEncoder:
    """Entries of one work item's events of one source."""

    def __init__(
        self,
        source: Source,
        file_id: bytes,
        item_id: bytes,
        block_rows: int = BLOCK_ROWS,
        compression: Compression = "zstd",
    ) -> None:
        self._source, self._file_id, self._item_id = source, file_id, item_id
        self._block_rows, self._compression = block_rows, compression
        self._counts = ItemCounts(source, item_id)
        self._pending: list[pa.RecordBatch] = []
        self._pending_rows = 0
        self._slabs = 0
        # A reading with another definition makes other blocks, whatever it finds in the lines.
        self._origin = item_id + blake2b(source.to_json().encode()).digest()
        self._first_shard = int.from_bytes(blake2b(self._origin, digest_size=4).digest(), "big")
        self._written: set[bytes] = set()

    def encode(self, events: pa.RecordBatch) -> list[TableWrite]:
        """Entries of the slabs that are full now; the rest waits for more events, or for ``finish``."""
        writes: list[TableWrite] = []
        size = SLAB_BLOCKS * self._block_rows
        while len(events):
            part = events.slice(0, size - self._pending_rows)
            events = events.slice(len(part))
            self._pending.append(part)
            self._pending_rows += len(part)
            if self._pending_rows == size:
                writes += self._slab()
        return writes

    def finish(self) -> list[TableWrite]:
        writes = self._slab() if self._pending else []
        table = aggregate_table(self._source)
        return [*writes, *(TableWrite(table, batch, False, len(batch)) for batch in self._counts.entries())]

    def sweep(self, store: Store) -> None:
        sweep(store, self._source, self._file_id, self._item_id, self._written)

    def _slab(self) -> list[TableWrite]:
        events = pa.concat_batches(self._pending) if len(self._pending) > 1 else self._pending[0]
        self._pending, self._pending_rows = [], 0
        times = events.column(self._source.time_field).cast(pa.int64()).to_numpy()
        self._counts.add_total(times)
        offsets = events.column(events.num_columns - 1)
        shard = (self._first_shard + self._slabs) % self._source.shards
        self._slabs += 1
        blocks = list(self._blocks(shard, times, offsets.to_numpy()))
        self._written.update(block.row for block in blocks)
        columns = [make_column(f, events.column(f.name), self._compression) for f in self._source.fields]
        return [
            self._events(blocks, columns, offsets),
            *self._index(shard, blocks, columns, len(events)),
        ]

    def _blocks(self, shard: int, times: np.ndarray, offsets: np.ndarray) -> Iterator[Block]:
        """The blocks of a slab, in the order of their rows."""
        order = newest_first(times, event_hashes(self._file_id, offsets))
        days = times[order] // DAY
        ends = [*(np.flatnonzero(np.diff(days)) + 1).tolist(), len(order)]
        found: list[Block] = []
        start = 0
        for end in ends:
            for first in range(start, end, self._block_rows):
                events = order[first : min(end, first + self._block_rows)]
                own = blake2b(self._origin + offsets[events].tobytes(), digest_size=4).digest()
                row = block_row(shard, int(times[events[0]]), int(times[events[-1]]), item_tag(self._item_id) + own)
                found.append(Block(row, events))
            start = end
        yield from sorted(found, key=lambda block: block.row)

    def _events(self, blocks: list[Block], columns: list[Column], offsets: pa.Array) -> TableWrite:
        """A row a block, a cell a field that has values in it."""
        source = self._source
        offset = make_column(OFFSET_FIELD, offsets, self._compression)
        file_id = pa.array([self._file_id], pa.binary())
        names = [(f.name, source.visibility_of(f)) for f in source.fields]
        cells = [[column.vector(block.events) for block in blocks] for column in columns]
        names += [(OFFSET, source.visibility), (FILE, source.visibility)]
        cells.append([offset.vector(block.events) for block in blocks])
        cells.append(
            [dictionary_vector(file_id, np.zeros(len(block.events), np.uint8), self._compression) for block in blocks]
        )
        fields, arrays = [pa.field("row", pa.binary())], [pa.array([block.row for block in blocks], pa.binary())]
        for (name, visibility), cell in zip(names, cells, strict=True):
            array = pa.array(cell, pa.binary())
            if array.null_count < len(array):
                fields.append(pa.field(name, pa.binary(), metadata={"qualifier": name, "visibility": visibility}))
                arrays.append(array)
        entries = sum(len(array) - array.null_count for array in arrays[1:])
        batch = pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields))
        return TableWrite(event_table(source), batch, True, entries)

    def _index(self, shard: int, blocks: list[Block], columns: list[Column], events: int) -> Iterator[TableWrite]:
        """An entry per value and block with its number of hits, grouped by row."""
        block_of = np.empty(events, np.int64)
        for number, block in enumerate(blocks):
            block_of[block.events] = number
        rows = np.frombuffer(b"".join(block.row for block in blocks), np.uint8).reshape(len(blocks), -1)
        keys = np.ascontiguousarray(rows[:, SHARD_BYTES:])
        for field, column in zip(self._source.fields, columns, strict=True):
            if field.indexed:
                values, codes, places = column.indexed()
                if len(codes):
                    found = _counted(codes.astype(np.int64) * len(blocks) + block_of[places], len(values) * len(blocks))
                    yield self._entries(field, shard, values, found, keys)

    def _entries(
        self, field: Field, shard: int, values: pa.BinaryArray, found: tuple[np.ndarray, np.ndarray], keys: np.ndarray
    ) -> TableWrite:
        pairs, hits = found
        codes, blocks = pairs // len(keys), pairs % len(keys)
        first = np.concatenate(([True], codes[1:] != codes[:-1]))
        positions = np.cumsum(first) - 1
        index_rows = pc.binary_join_element_wise(
            pa.scalar(shard_name(shard) + index_prefix(field.name)),
            index_values(values).take(pa.array(codes[first])),
            b"",
        )
        batch = pa.RecordBatch.from_pydict(
            {
                "row": pa.DictionaryArray.from_arrays(pa.array(positions.astype(np.int32)), index_rows),
                "qualifier": fixed_binary(keys[blocks]),
                "visibility": constant(self._source.visibility_of(field).encode(), len(pairs)),
                "value": fixed_binary(hits.astype(">u4").view(np.uint8).reshape(-1, 4)),
            }
        )
        return TableWrite(index_table(self._source), batch, False, len(batch))


def _counted(pairs: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray]:
    """The distinct numbers among ``pairs``, all below ``most``, ascending, and how often each occurs."""
    if most > max(_MOST_CELLS, 4 * len(pairs)):
        return np.unique(pairs, return_counts=True)
    counts = np.bincount(pairs, minlength=1)
    found = np.flatnonzero(counts)
    return found, counts[found]
