"""Makes the entries of blocks, for ingest and for the merging of blocks (``docs/keys.md``)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from watchfloor.schema.source import Source
from watchfloor.store.encoding.byte_arrays import to_binary_array
from watchfloor.store.encoding.keys import DAY, SHARD_BYTES, event_table
from watchfloor.store.index.hour_counts import count_numbers
from watchfloor.store.index.index_entries import IndexColumn, make_index_writes
from watchfloor.store.layout import TableWrite
from watchfloor.store.layouts.block.vectors.column import VectorColumn
from watchfloor.store.layouts.block.vectors.zone import ZONE_FAMILY, make_zone

from .block_keys import FILE, ITEM, OFFSET, make_block_row
from .event_order import order_newest_first
from .hit_entries import number_entries, pack_hits

BLOCK_ROWS = 16384
"""Largest number of events in a block."""
SLAB_BLOCKS = 4
"""Number of successive blocks in one shard, so that one index entry has the hits of a value in all of them."""


@dataclass(frozen=True)
class Block:
    """The row of a block and its events, newest first, as positions among the events that are written together."""

    row: bytes
    shard: int
    events: np.ndarray


@dataclass(frozen=True)
class LabelledColumn:
    """A column of the events that are written together, with its label: a field, or the offset, file or item."""

    name: str
    visibility: str
    column: VectorColumn
    indexed: bool = False
    reversed: bool = False


def cut_events(times: np.ndarray, hashes: np.ndarray, block_rows: int) -> Iterator[np.ndarray]:
    """Yields the positions of events, newest first, at most ``block_rows`` at a time and all of one day."""
    order = order_newest_first(times, hashes)
    days = times[order] // DAY
    start = 0
    for end in (*(np.flatnonzero(np.diff(days)) + 1).tolist(), len(order)):
        for first in range(start, end, block_rows):
            yield order[first : min(end, first + block_rows)]
        start = end


def make_block(shard: int, events: np.ndarray, times: np.ndarray, tag: bytes, own: bytes) -> Block:
    """Returns a block whose ID is ``tag`` and ``own``, 4 bytes each."""
    return Block(make_block_row(shard, int(times[events[0]]), int(times[events[-1]]), tag + own), shard, events)


def make_event_write(source: Source, blocks: Sequence[Block], columns: Sequence[LabelledColumn]) -> TableWrite:
    """Returns a row for each block, with the cells of a vector and its zone for each column that has values in it."""
    fields, arrays = [pa.field("row", pa.binary())], [pa.array([block.row for block in blocks], pa.binary())]
    for labelled in columns:
        vectors = [labelled.column.encode_events(block.events) for block in blocks]
        zones = [_make_zone(labelled, *pair) for pair in zip(blocks, vectors, strict=True)]
        for family, cells in (("", vectors), (ZONE_FAMILY, zones)):
            array = pa.array(cells, pa.binary())
            if array.null_count < len(array):
                metadata = {"family": family, "qualifier": labelled.name, "visibility": labelled.visibility}
                fields.append(pa.field(f"{family} {labelled.name}", pa.binary(), metadata=metadata))
                arrays.append(array)
    entries = sum(len(array) - array.null_count for array in arrays[1:])
    batch = pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields))
    return TableWrite(event_table(source), batch, True, entries)


def _make_zone(labelled: LabelledColumn, block: Block, vector: bytes | None) -> bytes | None:
    """Returns the zone of a column's vector in a block.

    It has a filter if the column is a field without an index, which would lead to its values.
    """
    if vector is None:
        return None
    is_asked = not labelled.indexed and labelled.name not in (OFFSET, FILE, ITEM)
    bloom_filter = labelled.column.make_filter(block.events) if is_asked else b""
    return make_zone(vector, labelled.column.complete, bloom_filter)


def make_block_index_writes(
    source: Source, blocks: Sequence[Block], columns: Sequence[LabelledColumn]
) -> Iterator[TableWrite]:
    """Yields the index entries of all values, with the number of hits in each block, grouped by row.

    ``blocks`` are sorted by row. Columns that are ``reversed`` get a second entry, in the row of the reversed value.
    """
    block_of = np.empty(sum(len(block.events) for block in blocks), np.int64)
    for number, block in enumerate(blocks):
        block_of[block.events] = number
    rows = np.frombuffer(b"".join(block.row for block in blocks), np.uint8).reshape(len(blocks), -1)
    keys = np.ascontiguousarray(rows[:, SHARD_BYTES:])
    shards = np.array([block.shard for block in blocks], np.int64)
    entry_of = number_entries(shards, keys)
    for labelled in columns:
        if labelled.indexed:
            values, codes, places = labelled.column.index_events()
            if len(codes):
                pairs = codes.astype(np.int64) * len(blocks) + block_of.take(places)
                found, hits = count_numbers(pairs, len(values) * len(blocks))
                numbers, in_block = found // len(blocks), found % len(blocks)
                starts = np.flatnonzero(np.diff(numbers * len(blocks) + entry_of[in_block], prepend=-1))
                indexed = IndexColumn.from_values(labelled.name, labelled.visibility, values, labelled.reversed)
                first = in_block[starts]
                qualifiers = pa.DictionaryArray.from_arrays(pa.array(first.astype(np.int32)), to_binary_array(keys))
                # Blocks are sorted by shard, so that the entries of one row follow each other.
                groups = numbers[starts] * source.shards + shards[first]
                yield from make_index_writes(
                    source, indexed, groups, qualifiers, pack_hits(keys[in_block], hits, starts)
                )
