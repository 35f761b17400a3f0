"""Index entries of blocks: the hits of a value in several blocks of one shard and day are one entry.

The qualifier of an entry is the key of its first block, which is the newest. Its value is that block's number of hits,
4 bytes big-endian, and for each other block its key and its number of hits. So qualifier and value together are a
sequence of *hits*: keys of blocks, each with a number. An entry that loses its first block keeps the qualifier, and
says that the block has no hits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from watchfloor.store.encoding.byte_arrays import (
    join_bytes,
    make_binary_array,
    to_binary_array,
    to_byte_rows,
    unpack_byte_rows,
)
from watchfloor.store.encoding.keys import DAY, SHARD_BYTES

from .block_keys import BLOCK_KEY_BYTES, read_block_times

HIT_BYTES = BLOCK_KEY_BYTES + 4
"""Length of the key of a block and its number of hits."""
ENTRY_BLOCKS = 16
"""Largest number of blocks in an entry."""
_LONGEST = (1 << 31) - 1

ChooseBlocks = Callable[[pa.BinaryArray], pa.BooleanArray]
"""Returns for each block, given by its row with the shard moved last, whether its hits stay."""


def number_entries(shards: np.ndarray, keys: np.ndarray) -> np.ndarray:
    """Returns for each block the number of the entry that has its hits, of any value.

    ``keys`` are the blocks' keys, (n, 20) bytes. Blocks are sorted by shard and key.
    """
    newest, _ = read_block_times(keys)
    places = np.arange(len(shards))
    begins = np.ones(len(shards), bool)
    begins[1:] = (np.diff(shards) != 0) | (np.diff(newest // DAY) != 0)
    since = places - np.maximum.accumulate(np.where(begins, places, 0))
    return np.cumsum(begins | (since % ENTRY_BLOCKS == 0)) - 1


def pack_hits(keys: np.ndarray, hits: np.ndarray, starts: np.ndarray) -> pa.BinaryArray:
    """Returns the values of entries; ``starts`` has the place of each entry's first hit.

    ``keys`` are those of the blocks, (n, 20) bytes, and ``hits`` their numbers of hits.
    """
    packed = np.empty((len(keys), HIT_BYTES), np.uint8)
    packed[:, :BLOCK_KEY_BYTES] = keys
    packed[:, BLOCK_KEY_BYTES:] = hits.astype(">u4").view(np.uint8).reshape(-1, 4)
    whole = make_binary_array(np.diff(starts, append=len(keys)) * HIT_BYTES, packed.tobytes())
    # Without an end Arrow fails for values of different lengths.
    return pc.binary_slice(whole, BLOCK_KEY_BYTES, _LONGEST)


def split_hits(rows: pa.BinaryArray, packed: pa.BinaryArray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns the hits of index entries: the place of each one's entry, the ID of its block, and its number, int64.

    ``rows`` are those of the entries, and ``packed`` their qualifiers with their values, of one entry or of several of
    a row. IDs, (n, 24) bytes, are the blocks' rows with the shard moved last.
    """
    places = np.repeat(np.arange(len(rows)), pc.binary_length(packed).to_numpy() // HIT_BYTES)
    shards = to_byte_rows(pc.binary_slice(rows, 0, SHARD_BYTES), SHARD_BYTES)
    hits = unpack_byte_rows(packed, HIT_BYTES)
    ids = np.concatenate((hits[:, :BLOCK_KEY_BYTES], shards[places]), axis=1)
    return places, ids, np.ascontiguousarray(hits[:, BLOCK_KEY_BYTES:]).view(">u4").reshape(-1).astype(np.int64)


@dataclass(frozen=True)
class ChosenEntries:
    """Index entries after the hits of some blocks were taken away.

    ``kept`` are the entries with hits left, of which ``changed`` had more. ``emptied`` are the entries without any.
    """

    kept: pa.RecordBatch
    changed: pa.RecordBatch
    emptied: pa.RecordBatch


def choose_hits(entries: pa.RecordBatch, choose: ChooseBlocks) -> ChosenEntries:
    """Takes the hits of all blocks away that are not chosen."""
    packed = join_bytes(entries.column("qualifier"), entries.column("value"))
    entry_of, ids, hits = split_hits(entries.column("row"), packed)
    chosen = choose(to_binary_array(ids)).to_numpy(zero_copy_only=False)
    lost = np.bincount(entry_of, (hits > 0) & ~chosen, len(entries)) > 0
    left = np.bincount(entry_of, (hits > 0) & chosen, len(entries)) > 0
    first = np.diff(entry_of, prepend=-1) != 0
    stay = first | chosen
    values = pack_hits(ids[stay, :BLOCK_KEY_BYTES], (hits * chosen)[stay], np.flatnonzero(first[stay]))
    entries = entries.set_column(entries.schema.get_field_index("value"), "value", values)
    return ChosenEntries(*(entries.filter(pa.array(which)) for which in (left, left & lost, ~left)))
