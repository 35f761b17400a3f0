"""Merges streams of events, each ordered by key, into one."""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from watchfloor.store.bridge.threads import JavaThreadPool
from watchfloor.store.encoding.keys import KEY_COLUMN, reverse_time

STARTING = 16
"""The most streams that are started at once."""

EventStream = Generator[pa.RecordBatch, None, None]
_Head = tuple[EventStream, pa.RecordBatch]
"""A stream that is started, and its next events, at least one."""


@dataclass(frozen=True)
class BoundedStream:
    """A stream of events, all of them before ``until`` (µs). It costs nothing until it is started."""

    until: int
    batches: EventStream


def merge_streams(streams: Sequence[BoundedStream]) -> EventStream:
    """Yields the events of all streams in the order of their keys, which are all different.

    A stream is started when the events before its ``until`` have come; the first batches of streams with the same
    ``until`` are waited for at the same time. Closes the streams at the end.
    """
    try:
        with JavaThreadPool(STARTING, "merge") as pool:
            yield from _Merge(streams, pool).run()
    finally:
        for stream in streams:
            stream.batches.close()


class _Merge:
    """A merge of streams: ``waiting`` have those that are not started, the newest first."""

    def __init__(self, streams: Sequence[BoundedStream], pool: JavaThreadPool) -> None:
        self._waiting = deque(sorted(streams, key=lambda stream: -stream.until))
        self._heads: list[_Head] = []
        self._pool = pool
        self._wave = 1
        """How many streams are started next. It doubles: the first rows come soon, and the rest together."""

    def run(self) -> EventStream:
        while self._waiting or len(self._heads) > 1:
            if self._waiting and not self._is_any_head_before(self._first_waiting_key()):
                self._start_streams()
            else:
                yield self._take_known()
        for stream, batch in self._heads:
            yield batch
            yield from stream

    def _first_waiting_key(self) -> bytes:
        """Returns a key that is not after the first key of any stream that is not started."""
        return reverse_time(self._waiting[0].until - 1)

    def _is_any_head_before(self, key: bytes) -> bool:
        return any(batch.column(KEY_COLUMN)[0].as_py() < key for _, batch in self._heads)

    def _start_streams(self) -> None:
        """Starts the next streams: all with the newest ``until``, and others if these are few."""
        newest = self._waiting[0].until
        started: list[EventStream] = []
        while self._waiting and (len(started) < self._wave or self._waiting[0].until == newest):
            started.append(self._waiting.popleft().batches)
        self._wave = min(2 * self._wave, STARTING)
        firsts = self._pool.map(_find_next, started) if len(started) > 1 else map(_find_next, started)
        self._heads += [(s, batch) for s, batch in zip(started, firsts, strict=True) if batch is not None]

    def _take_known(self) -> pa.RecordBatch:
        """Takes the events that no other event can come before."""
        # What comes before the end of each head is known in full.
        bound = min(batch.column(KEY_COLUMN)[-1].as_py() for _, batch in self._heads)
        is_before = pc.less_equal
        if self._waiting and self._first_waiting_key() <= bound:
            bound, is_before = self._first_waiting_key(), pc.less
        parts, left = [], []
        for stream, batch in self._heads:
            before = pc.sum(is_before(batch.column(KEY_COLUMN), pa.scalar(bound, pa.binary()))).as_py()
            parts.append(batch.slice(0, before))
            rest = batch.slice(before) if before < len(batch) else _find_next(stream)
            if rest is not None:
                left.append((stream, rest))
        self._heads = left
        return _sort_by_key([part for part in parts if len(part)])


def _find_next(stream: Iterator[pa.RecordBatch]) -> pa.RecordBatch | None:
    """Returns the next batch that has events; None at the end."""
    return next((batch for batch in stream if len(batch)), None)


def _sort_by_key(parts: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    if len(parts) == 1:
        return parts[0]
    events = pa.concat_batches(parts)
    return events.take(pc.sort_indices(events.column(KEY_COLUMN)))
