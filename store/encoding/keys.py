"""Row IDs and their parts, for all layouts (``docs/keys.md``)."""

from __future__ import annotations

import zlib

import numpy as np

from watchfloor.schema.source import Source

MAX_TIME = (1 << 63) - 1
REVTS_BYTES = 8
HASH_BYTES = 8
KEY_BYTES = REVTS_BYTES + HASH_BYTES
"""Length of an event's key, REVTS HASH. A key identifies an event within its source; the newest event sorts first."""
UNKNOWN_HASH = 0
"""The HASH of a key whose reader may not see the columns that HASH is computed from.

Such a key does not identify its event. It sorts before the other keys of the same microsecond.
"""
SHARD_BYTES = 4

KEY_COLUMN = "(key)"
"""Name of the binary column with the events' keys, in every batch of events that a layout returns; no field has it."""
OFFSET_COLUMN = "(offset)"
"""Name of the int64 column with the byte offset of each event's line in its file, in every batch that is written.

No field has it.
"""

HOUR = 3_600_000_000
DAY = 24 * HOUR
MINUTE = 60_000_000


def source_namespace(source: str) -> str:
    """Returns the Accumulo namespace of a source. Two sources never share one, though ``.`` becomes ``_`` in it."""
    return source.replace("_", "__").replace(".", "_")


def event_table(source: Source) -> str:
    """Returns the name of a source's event table."""
    return f"{source_namespace(source.name)}.event"


def index_table(source: Source) -> str:
    """Returns the name of a source's index table."""
    return f"{source_namespace(source.name)}.index"


def aggregate_table(source: Source) -> str:
    """Returns the name of a source's aggregate table."""
    return f"{source_namespace(source.name)}.aggregate"


def shard_name(shard: int) -> bytes:
    """Returns a shard as the first bytes of a row: four digits."""
    return b"%04d" % shard


def shard_names(shards: int) -> list[bytes]:
    """Returns the names of all shards, in order."""
    return [shard_name(shard) for shard in range(shards)]


def reverse_time(time: int) -> bytes:
    """Returns a time (µs since 1970 UTC) as 8 bytes, of which those of the newest time sort first."""
    return (MAX_TIME - time).to_bytes(8, "big")


def reverse_times(times: np.ndarray) -> np.ndarray:
    """Returns ``reverse_time`` of each time of an int64 array, as (n, 8) bytes."""
    return (np.int64(MAX_TIME) - times).astype(">i8").view(np.uint8).reshape(-1, 8)


def key_bounds(since: int, until: int) -> tuple[bytes, bytes]:
    """Returns the first key (inclusive) and the last key (exclusive) of the events in [since, until)."""
    return reverse_time(until - 1), reverse_time(since - 1)


def times_of_keys(keys: np.ndarray) -> np.ndarray:
    """Returns the times, int64 microseconds, of (n, 16) keys."""
    return np.int64(MAX_TIME) - np.ascontiguousarray(keys[:, :REVTS_BYTES]).view(">i8").reshape(-1).astype(np.int64)


def time_of_key(key: bytes) -> int:
    """Returns the time (µs since 1970 UTC) of an event's or a block's key: both begin with REVTS."""
    return MAX_TIME - int.from_bytes(key[:REVTS_BYTES], "big")


def time_of_row(row: bytes) -> int:
    """Returns the time (µs since 1970 UTC) of a row of an event table: of its event, or of its block's newest event."""
    return time_of_key(row[SHARD_BYTES:])


def event_keys(times: np.ndarray, hashes: np.ndarray) -> np.ndarray:
    """Returns the keys of events as (n, 16) bytes. ``times``: int64 microseconds. ``hashes``: uint64."""
    keys = np.empty((len(times), KEY_BYTES), np.uint8)
    keys[:, :REVTS_BYTES] = reverse_times(times)
    keys[:, REVTS_BYTES:] = hashes.astype(">u8").view(np.uint8).reshape(-1, HASH_BYTES)
    return keys


def hashes_of_keys(keys: np.ndarray) -> np.ndarray:
    """Returns the HASH parts, uint64, of (n, 16) keys."""
    return np.ascontiguousarray(keys[:, REVTS_BYTES:]).view(">u8").reshape(-1)


def is_hash_known(key: bytes) -> bool:
    """Returns whether a key identifies its event among those of the same microsecond."""
    return int.from_bytes(key[REVTS_BYTES:], "big") != UNKNOWN_HASH


def are_hashes_known(keys: np.ndarray) -> bool:
    """Returns whether all of (n, 16) keys identify their events."""
    return bool((hashes_of_keys(keys) != UNKNOWN_HASH).all())


def event_hashes(file_id: bytes, offsets: np.ndarray) -> np.ndarray:
    """Returns the HASH of the events at these byte offsets of a file: uint64, distinct within the file.

    The finaliser of splitmix64 (Steele, Lea, Flood 2014), a bijection, over the file's identity plus the offset times
    an odd constant: the same line gives the same hash however the file was cut into work items.
    """
    return mix_hashes(np.uint64(int.from_bytes(file_id[:8], "big")), offsets)


def mix_hashes(files: np.uint64 | np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Returns the same hashes as ``event_hashes``.

    ``files`` are the first 8 bytes of file identities as numbers: one number for all events or one for each.
    """
    x = offsets.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    x += files
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def index_prefix(field: str) -> bytes:
    """Returns the bytes after the shard in the index and aggregate rows of a field. A field's name holds no NUL."""
    return field.encode() + b"\x00"


def reversed_prefix(field: str) -> bytes:
    """Returns the bytes after the shard in the index rows of a field's reversed values, which follow its other rows.

    A field's name has no control characters, so the rows of two fields never mix.
    """
    return field.encode() + b"\x01"


def aggregate_shard(field: str, value: bytes, shards: int) -> bytes:
    """Returns the shard that holds the counts of a field's encoded value."""
    return shard_name(zlib.crc32(index_prefix(field) + value) % shards)


def aggregate_rows(field: str, values: list[bytes], shards: int) -> list[bytes]:
    """Returns the aggregate rows of many encoded values of a field."""
    prefix, names = index_prefix(field), shard_names(shards)
    begun = zlib.crc32(prefix)
    return [names[zlib.crc32(value, begun) % shards] + prefix + value for value in values]
