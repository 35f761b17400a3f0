"""Reads the answers of tablet servers about the first events of an order (Java's ``TopRows``)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from watchfloor.store.encoding.byte_arrays import join_bytes, split_bytes
from watchfloor.store.encoding.keys import SHARD_BYTES

FOUND = pa.schema([("key", pa.binary()), ("hit", pa.binary())])
"""Events by their sort keys, and the hits by which a layout fetches them."""


def read_top_answers(entries: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Yields the events of each answer among the entries of a scan; heartbeats, of one byte, are left out."""
    for value in entries.column("value"):
        data = value.as_buffer()
        if data.size > 1:
            yield _read_answer(memoryview(data))


def _read_answer(data: memoryview) -> pa.RecordBatch:
    count, width = np.frombuffer(data, "<u4", 2).tolist()
    lengths = np.frombuffer(data, "<u4", count, 8)
    offsets = np.concatenate((np.zeros(1, np.int32), np.cumsum(lengths, dtype=np.int32)))
    keys_at = 8 + lengths.nbytes
    rows_at = keys_at + int(offsets[-1])
    stored = pa.py_buffer(data[keys_at:rows_at])
    keys = pa.Array.from_buffers(pa.binary(), count, [None, pa.py_buffer(offsets), stored])
    rows = split_bytes(np.frombuffer(data, np.uint8, count * width, rows_at), width)
    # A hit is a row whose shard is moved to its end.
    hits = join_bytes(pc.binary_slice(rows, SHARD_BYTES, width), pc.binary_slice(rows, 0, SHARD_BYTES))
    return pa.RecordBatch.from_arrays([keys, hits], schema=FOUND)
