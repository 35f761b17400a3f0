"""Row IDs and the parts they are made of, whatever the layout (``docs/keys.md``)."""

from __future__ import annotations

import zlib

import numpy as np

from watchfloor.schema.source import Source

MAX_TIME = (1 << 63) - 1
REVTS_BYTES = 8
KEY_BYTES = 16
"""REVTS and HASH: what tells an event from all others of its source; sorts newest first."""
UNKNOWN_HASH = 0
"""In place of the HASH of an event of which the reader may not see where it came from: tells it from none of its time,
and sorts first among them."""
SHARD_BYTES = 4

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
