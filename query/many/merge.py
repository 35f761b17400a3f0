"""Merges streams of events, each ordered by key, into one."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from watchfloor.store.bridge.threads import JavaThreadPool
from watchfloor.store.encoding.keys import KEY_COLUMN

STARTING = 16
"""The most streams that are started at once."""


def merge_streams(streams: Sequence[Generator[pa.RecordBatch, None, None]]) -> Generator[pa.RecordBatch, None, None]:
    """Yields the events of all streams in the order of their keys, which are all different.

    The first batches of the streams are waited for at the same time. Closes the streams at the end.
    """
    try:
        yield from _merge_heads(streams)
    finally:
        for stream in streams:
            stream.close()


def _merge_heads(streams: Sequence[Iterator[pa.RecordBatch]]) -> Generator[pa.RecordBatch, None, None]:
    if len(streams) == 1:
        yield from streams[0]
        return
    with JavaThreadPool(STARTING, "merge") as pool:
        firsts = list(pool.map(_find_next, streams))
    heads = [(stream, batch) for stream, batch in zip(streams, firsts, strict=True) if batch is not None]
    while len(heads) > 1:
        # What comes before the end of each head is known in full.
        bound = min(batch.column(KEY_COLUMN)[-1].as_py() for _, batch in heads)
        parts, left = [], []
        for stream, batch in heads:
            before = pc.sum(pc.less_equal(batch.column(KEY_COLUMN), pa.scalar(bound, pa.binary()))).as_py()
            parts.append(batch.slice(0, before))
            rest = batch.slice(before) if before < len(batch) else _find_next(stream)
            if rest is not None:
                left.append((stream, rest))
        heads = left
        yield _sort_by_key([part for part in parts if len(part)])
    for stream, batch in heads:
        yield batch
        yield from stream


def _find_next(stream: Iterator[pa.RecordBatch]) -> pa.RecordBatch | None:
    """Returns the next batch that has events; None at the end."""
    return next((batch for batch in stream if len(batch)), None)


def _sort_by_key(parts: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    if len(parts) == 1:
        return parts[0]
    events = pa.concat_batches(parts)
    return events.take(pc.sort_indices(events.column(KEY_COLUMN)))
