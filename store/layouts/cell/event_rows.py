"""The rows of events in the ``cell`` layout (``docs/keys.md``)."""

from __future__ import annotations

import numpy as np

from watchfloor.store.encoding.keys import KEY_BYTES, SHARD_BYTES, event_hashes, event_keys, key_bounds, shard_names
from watchfloor.store.index.index_hits import IndexKeys

ROW_BYTES = SHARD_BYTES + KEY_BYTES
EVENT_KEYS = IndexKeys(key_bounds, KEY_BYTES)


def make_event_rows(
    file_id: bytes, times: np.ndarray, offsets: np.ndarray, shards: int
) -> tuple[np.ndarray, np.ndarray]:
    """Returns the row IDs of events, (n, 20) bytes, and their shard numbers. ``times`` are int64 µs."""
    hashes = event_hashes(file_id, offsets)
    numbers = (hashes % np.uint64(shards)).astype(np.int64)
    names = np.frombuffer(b"".join(shard_names(shards)), np.uint8).reshape(-1, SHARD_BYTES)
    rows = np.empty((len(times), ROW_BYTES), np.uint8)
    rows[:, :SHARD_BYTES] = names[numbers]
    rows[:, SHARD_BYTES:] = event_keys(times, hashes)
    return rows, numbers
