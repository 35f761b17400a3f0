"""Row IDs and the parts they are made of (``docs/keys.md``)."""

from __future__ import annotations

import zlib
from hashlib import blake2b

import numpy as np

from watchfloor.schema.source import Field, FieldType, Source

MAX_TIME = (1 << 63) - 1
REVTS_BYTES = 8
KEY_BYTES = 16
"""REVTS and HASH: what tells an event from all others of its source; sorts newest first."""
UNKNOWN_HASH = 0
"""In place of the HASH of an event of which the reader may not see where it came from: tells it from none of its time,
and sorts first among them."""
SHARD_BYTES = 4
ROW_BYTES = SHARD_BYTES + KEY_BYTES

HOUR = 3_600_000_000
DAY = 24 * HOUR
MINUTE = 60_000_000


def namespace(source: str) -> str:
    """The Accumulo namespace of a source. Names with ``_`` and with ``.`` never meet."""
    return source.replace("_", "__").replace(".", "_")


def event_table(source: Source) -> str:
    return f"{namespace(source.name)}.event"


def index_table(source: Source) -> str:
    return f"{namespace(source.name)}.index"


def aggregate_table(source: Source) -> str:
    return f"{namespace(source.name)}.aggregate"


def shard_name(shard: int) -> bytes:
    return b"%04d" % shard


def shard_names(shards: int) -> list[bytes]:
    return [shard_name(shard) for shard in range(shards)]


def reverse_time(time: int) -> bytes:
    """8 bytes that sort the newest first. ``time`` in microseconds since 1970 UTC."""
    return (MAX_TIME - time).to_bytes(8, "big")


def reverse_times(times: np.ndarray) -> np.ndarray:
    """``reverse_time`` of an int64 array, as (n, 8) bytes."""
    return (np.int64(MAX_TIME) - times).astype(">i8").view(np.uint8).reshape(-1, 8)


def key_bounds(since: int, until: int) -> tuple[bytes, bytes]:
    """First key (inclusive) and last key (exclusive) of the events in [since, until)."""
    return reverse_time(until - 1), reverse_time(since - 1)


def times_of_keys(keys: np.ndarray) -> np.ndarray:
    """The times, int64 microseconds, of (n, 16) keys."""
    return np.int64(MAX_TIME) - np.ascontiguousarray(keys[:, :8]).view(">i8").reshape(-1).astype(np.int64)


def event_hashes(file_id: bytes, offsets: np.ndarray) -> np.ndarray:
    """HASH of the events at these byte offsets of a file: uint64, distinct within a file.

    The finaliser of splitmix64 (Steele, Lea, Flood 2014), a bijection, over the file's identity plus the offset times
    an odd constant: the same line gives the same hash however the file was cut into work items.
    """
    return mixed_hashes(np.uint64(int.from_bytes(file_id[:8], "big")), offsets)


def mixed_hashes(files: np.uint64 | np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """``event_hashes`` where the first 8 bytes of the files' identities are numbers, one for all or one an event."""
    x = offsets.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    x += files
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def event_rows(file_id: bytes, times: np.ndarray, offsets: np.ndarray, shards: int) -> tuple[np.ndarray, np.ndarray]:
    """(n, 20) row IDs of events and their shard numbers; ``times`` int64 microseconds."""
    hashes = event_hashes(file_id, offsets)
    numbers = (hashes % np.uint64(shards)).astype(np.int64)
    names = np.frombuffer(b"".join(shard_names(shards)), np.uint8).reshape(-1, SHARD_BYTES)
    rows = np.empty((len(times), ROW_BYTES), np.uint8)
    rows[:, :4] = names[numbers]
    rows[:, 4:12] = reverse_times(times)
    rows[:, 12:] = hashes.astype(">u8").view(np.uint8).reshape(-1, 8)
    return rows, numbers


SECOND = 1_000_000
SPAN_BYTES = 4
BLOCK_ID_BYTES = 8
BLOCK_KEY_BYTES = 8 + SPAN_BYTES + BLOCK_ID_BYTES
"""REVTS of a block's newest event, SPAN and ID: what tells a block from all others of its source."""


OFFSET, FILE, ITEM = "\x01offset", "\x01file", "\x01item"
"""Qualifiers of vectors of a block that are not fields': where an event's line begins, its file's identity and, in a
merged block, the tag of the work item that wrote it."""
OFFSET_FIELD = Field(OFFSET, FieldType.INT)
TAG_BYTES = 4
BLOCK_ROW_BYTES = SHARD_BYTES + BLOCK_KEY_BYTES
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


def index_prefix(field: str) -> bytes:
    """What follows the shard in the index and aggregate rows of a field. A field's name holds no NUL."""
    return field.encode() + b"\x00"


def reversed_prefix(field: str) -> bytes:
    """What follows the shard in the index rows of a field's reversed values: right behind those of ``index_prefix``.

    A field's name has no control characters, so the rows of two fields never mix.
    """
    return field.encode() + b"\x01"


def aggregate_shard(field: str, value: bytes, shards: int) -> bytes:
    """The shard that holds the counts of a (field, encoded value)."""
    return shard_name(zlib.crc32(index_prefix(field) + value) % shards)


def aggregate_rows(field: str, values: list[bytes], shards: int) -> list[bytes]:
    """The aggregate rows of many encoded values of a field."""
    prefix, names = index_prefix(field), shard_names(shards)
    begun = zlib.crc32(prefix)
    return [names[zlib.crc32(value, begun) % shards] + prefix + value for value in values]
