"""The blocks of whole work items: those of which all entries are durable and none is being written.

A block that ingest wrote tells its item by the tag in its row, a merged one by the tags of its events.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from watchfloor.store.bridge.requests import EntryScan
from watchfloor.store.encoding.byte_arrays import join_bytes, to_byte_rows
from watchfloor.store.encoding.keys import SHARD_BYTES
from watchfloor.store.encoding.ranges import Ranges
from watchfloor.store.reader import Reader

from .blocks.block_keys import BLOCK_ROW_BYTES, FILE, ITEM, TAG_BYTES, make_item_tag, read_epochs, read_tags
from .blocks.hit_entries import choose_hits
from .blocks.stored_blocks import FIRST_ENTRY
from .epochs.block_view import BlockView
from .vectors.vector import decode_binary

_AT_ONCE = 256
_Keep = Callable[[pa.RecordBatch], pa.RecordBatch]


class MixedBlockError(Exception):
    """A merged block has events of whole items and of one that is being read again."""


def list_kept_blocks(reader: Reader, table: str, view: BlockView, items: pa.BinaryArray) -> pa.BinaryArray:
    """Returns the rows of the blocks in an event table that are seen and have events of ``items`` only.

    ``items`` are the IDs of whole work items. Raises ``MixedBlockError`` if a merged block also has events of another.
    """
    everything = Ranges.everything()
    tags = _find_tags(items)
    found: list[pa.BinaryArray] = []
    merged: list[bytes] = []
    for batch in reader.scan(EntryScan(table, everything, [FIRST_ENTRY], ordered=False, family="")):
        rows = batch.filter(pc.equal(batch.column("qualifier"), FILE.encode())).column("row")
        if not len(rows):
            continue
        seen = view.find_seen_rows(rows)
        keys = to_byte_rows(rows, BLOCK_ROW_BYTES)[:, SHARD_BYTES:]
        is_merged = read_epochs(keys) > 0
        is_whole = np.isin(np.ascontiguousarray(read_tags(keys)).view(">u4").reshape(-1), tags) & ~is_merged
        if seen is not None:
            is_merged, is_whole = is_merged & seen, is_whole & seen
        found.append(rows.filter(pa.array(is_whole)))
        merged += rows.filter(pa.array(is_merged)).to_pylist()
    for start in range(0, len(merged), _AT_ONCE):
        found.append(_choose_merged(reader, table, merged[start : start + _AT_ONCE], tags))
    return pa.concat_arrays(found) if found else pa.array([], pa.binary())


def _choose_merged(reader: Reader, table: str, rows: list[bytes], tags: np.ndarray) -> pa.BinaryArray:
    """Returns those of merged blocks that have events of whole items."""
    qualifier = ITEM.encode()
    ranges = Ranges()
    for row in rows:
        ranges.add_qualifiers(row, qualifier, qualifier + b"\x00")
    chosen: list[bytes] = []
    for batch in reader.scan(EntryScan(table, ranges, ordered=False)):
        for row, vector in zip(batch.column("row").to_pylist(), batch.column("value").to_pylist(), strict=True):
            items = decode_binary(pa.py_buffer(vector)).unique()
            known = np.isin(to_byte_rows(items, TAG_BYTES).copy().view(">u4").reshape(-1), tags)
            if known.all():
                chosen.append(row)
            elif known.any():
                raise MixedBlockError(row.hex())
    return pa.array(chosen, pa.binary())


def keep_blocks(rows: pa.BinaryArray) -> _Keep:
    """Keeps the entries of these rows of an event table."""
    return lambda batch: batch.filter(pc.is_in(batch.column("row"), value_set=rows))


def keep_hits(rows: pa.BinaryArray) -> _Keep:
    """Keeps the hits of the blocks with these rows in an index table."""
    ids = join_bytes(pc.binary_slice(rows, SHARD_BYTES, BLOCK_ROW_BYTES), pc.binary_slice(rows, 0, SHARD_BYTES))
    return lambda batch: choose_hits(batch, lambda found: pc.is_in(found, value_set=ids)).kept


def _find_tags(items: pa.BinaryArray) -> np.ndarray:
    """Returns the tags of items in the rows of their blocks, as big-endian numbers."""
    return np.unique(np.frombuffer(b"".join(map(make_item_tag, items.to_pylist())), ">u4"))
