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
"""Length of a block's key, REVTS SPAN ID: it identifies the block within its source. REVTS is the newest event's."""
BLOCK_ROW_BYTES = SHARD_BYTES + BLOCK_KEY_BYTES

OFFSET, FILE, ITEM = "\x01offset", "\x01file", "\x01item"
"""Qualifiers of vectors that are not fields: the offset of an event's line, the identity of its file and, in merged
blocks, the tag of the work item that wrote the event."""
OFFSET_FIELD = Field(OFFSET, FieldType.INT)

TAG_BYTES = 4
_TAG_AT = 8 + SPAN_BYTES
# This bit of a tag is set in merged blocks; the other bits are then the epoch.
_MERGED = 1 << 31


def make_item_tag(item_id: bytes) -> bytes:
    """Returns the first half of the ID of an item's blocks: a hash of 31 bits."""
    digest = blake2b(item_id, digest_size=TAG_BYTES).digest()
    return bytes([digest[0] & 0x7F]) + digest[1:]


def make_epoch_tag(epoch: int) -> bytes:
    """Returns the first half of the ID of the blocks that an epoch of compaction makes."""
    return (_MERGED | epoch).to_bytes(TAG_BYTES, "big")


def read_item_tag(row: bytes) -> bytes:
    """Returns the item's tag in the row of a block that ingest wrote."""
    return row[SHARD_BYTES + _TAG_AT :][:TAG_BYTES]


def is_merged(row: bytes) -> bool:
    """Returns whether an epoch of compaction made the block with this row."""
    return row[SHARD_BYTES + _TAG_AT] >= 0x80


def read_tags(keys: np.ndarray) -> np.ndarray:
    """Returns the first halves of the IDs of (n, ≥ 16) block keys, as (n, 4) bytes."""
    return keys[:, _TAG_AT : _TAG_AT + TAG_BYTES]


def read_epochs(keys: np.ndarray) -> np.ndarray:
    """Returns the epochs in which blocks were made, int64; 0 for blocks that ingest wrote."""
    tags = np.ascontiguousarray(read_tags(keys)).view(">u4").reshape(-1).astype(np.int64)
    return np.where(tags & _MERGED, tags ^ _MERGED, 0)


def list_epochs(rows: bytes) -> list[int]:
    """Returns the epoch in which each of some blocks was made, as ``read_epochs`` does; ``rows`` are joined."""
    tags = (rows[at : at + TAG_BYTES] for at in range(SHARD_BYTES + _TAG_AT, len(rows), BLOCK_ROW_BYTES))
    return [number ^ _MERGED if (number := int.from_bytes(tag, "big")) & _MERGED else 0 for tag in tags]


def make_block_row(shard: int, newest: int, oldest: int, block_id: bytes) -> bytes:
    """Returns a block's row. Its SPAN is the number of seconds, rounded up, from ``oldest`` to ``newest``."""
    span = min(-(-(newest - oldest) // SECOND), (1 << 32) - 1)
    return shard_name(shard) + reverse_time(newest) + span.to_bytes(SPAN_BYTES, "big") + block_id


def read_block_times(keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns a newest and an oldest time for each of (n, ≥ 12) block keys, int64 µs: no event of the block is outside.

    The newest time is exact; the oldest may be up to a second too early.
    """
    newest = times_of_keys(keys)
    spans = np.ascontiguousarray(keys[:, 8 : 8 + SPAN_BYTES]).view(">u4").reshape(-1).astype(np.int64)
    return newest, newest - spans * SECOND


def find_block_bounds(since: int, until: int) -> tuple[bytes, bytes]:
    """Returns the first key (inclusive) and last key (exclusive) of the blocks that may have events in [since, until).

    A block never crosses midnight (UTC), so its newest event is of a day that the range touches.
    """
    return key_bounds(since, -(-until // DAY) * DAY)


BLOCK_KEYS = IndexKeys(find_block_bounds, BLOCK_KEY_BYTES)
