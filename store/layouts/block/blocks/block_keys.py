"""The rows of blocks (``docs/keys.md``)."""

from __future__ import annotations

from hashlib import blake2b

import numpy as np

from watchfloor.schema.field import Field, FieldType
from watchfloor.store.encoding.keys import DAY, SHARD_BYTES, key_bounds, reverse_time, shard_name, times_of_keys
from watchfloor.store.index.index_hits import IndexKeys

SECOND = 1_000_000
SPAN_BYTES = 4
BLOCK_ID_BYTES = 8
BLOCK_KEY_BYTES = 8 + SPAN_BYTES + BLOCK_ID_BYTES
"""REVTS of a block's newest event, SPAN and ID: what tells a block from all others of its source."""
BLOCK_ROW_BYTES = SHARD_BYTES + BLOCK_KEY_BYTES

OFFSET, FILE, ITEM = "\x01offset", "\x01file", "\x01item"
"""Qualifiers of vectors of a block that are not fields': where an event's line begins, its file's identity and, in a
merged block, the tag of the work item that wrote it."""
OFFSET_FIELD = Field(OFFSET, FieldType.INT)

TAG_BYTES = 4
_TAG_AT = 8 + SPAN_BYTES
_MERGED = 1 << 31


def item_tag(item_id: bytes) -> bytes:
    """The first half of the ID of an item's blocks: 31 bits."""
    digest = blake2b(item_id, digest_size=TAG_BYTES).digest()
    return bytes([digest[0] & 0x7F]) + digest[1:]


def epoch_tag(epoch: int) -> bytes:
    """The first half of the ID of the blocks that an epoch of compaction has made."""
    return (_MERGED | epoch).to_bytes(TAG_BYTES, "big")


def item_of_block(row: bytes) -> bytes:
    """The ``item_tag`` in the row of a block from ingest."""
    return row[SHARD_BYTES + _TAG_AT :][:TAG_BYTES]


def is_merged(row: bytes) -> bool:
    """Whether an epoch of compaction has made the block with this row."""
    return row[SHARD_BYTES + _TAG_AT] >= 0x80


def tags_of_blocks(keys: np.ndarray) -> np.ndarray:
    """Of (n, ≥ 16) block keys the first halves of their IDs, as (n, 4) bytes."""
    return keys[:, _TAG_AT : _TAG_AT + TAG_BYTES]


def epochs_of_blocks(keys: np.ndarray) -> np.ndarray:
    """The epochs in which blocks were made, int64; 0 for those that ingest has written."""
    tags = np.ascontiguousarray(tags_of_blocks(keys)).view(">u4").reshape(-1).astype(np.int64)
    return np.where(tags & _MERGED, tags ^ _MERGED, 0)


def block_row(shard: int, newest: int, oldest: int, block_id: bytes) -> bytes:
    """A block's row ID. SPAN, whole seconds, says how much older than ``newest`` an event of it can be at most."""
    span = min(-(-(newest - oldest) // SECOND), (1 << 32) - 1)
    return shard_name(shard) + reverse_time(newest) + span.to_bytes(SPAN_BYTES, "big") + block_id


def block_times(keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of (n, ≥ 12) block keys the newest time and one that no event is older than, int64 microseconds."""
    newest = times_of_keys(keys)
    spans = np.ascontiguousarray(keys[:, 8 : 8 + SPAN_BYTES]).view(">u4").reshape(-1).astype(np.int64)
    return newest, newest - spans * SECOND


def block_bounds(since: int, until: int) -> tuple[bytes, bytes]:
    """First key (inclusive) and last key (exclusive) of the blocks that may have events in [since, until).

    A block never crosses midnight (UTC), so its newest event is of a day that the range touches.
    """
    return key_bounds(since, -(-until // DAY) * DAY)


BLOCK_KEYS = IndexKeys(block_bounds, BLOCK_KEY_BYTES)
