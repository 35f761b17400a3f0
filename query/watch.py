"""Watches for events as they arrive, like ``tail -f``: queries a window of time again and again.

An event is new if a poll finds it and the poll before did not. Therefore a late event is shown if its time lies in the
window, and only the keys of the window's events must be kept.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from watchfloor.query.batches.settings import BatchSettings
from watchfloor.schema.errors import UserError, WatchfloorError
from watchfloor.store.encoding.byte_arrays import to_byte_rows
from watchfloor.store.encoding.keys import KEY_BYTES, KEY_COLUMN, are_hashes_known

from .preparation.request import QueryRequest
from .result import QueryResult

WINDOW_SECONDS = 300.0
"""The least width of the window."""
POLL_SECONDS = 0.5
"""The shortest pause between two polls."""


class Watch:
    """A running watch. Iterating over it yields record batches, the oldest of the new events first.

    Each poll yields at least one batch, without rows if there is nothing new. The watch ends at the request's ``limit``
    or ``deadline``, or by ``close``. ``summary`` has its ``status``, in the words of a query's summary, and the rows,
    polls and seconds so far.

    The window begins ``WINDOW_SECONDS`` before now, or at the request's ``since`` if that was earlier when the watch
    began. It moves with the clock and never reaches back before that ``since``. It has no end, because events may be
    ahead of the clock.
    """

    def __init__(
        self, run_query: Callable[[QueryRequest], QueryResult], request: QueryRequest, schema: pa.Schema
    ) -> None:
        """``request`` is one that ``check_watch`` allows, and ``schema`` that of its result."""
        self.schema = schema
        now, window = _read_clock(), int(WINDOW_SECONDS * 1e6)
        self._since = now - window if request.since is None else request.since
        self._window = max(window, now - self._since)
        self._run_query = run_query
        # Each poll reads the whole window anyway: cut into batches it would only ask the servers more often.
        self._request = replace(request, batching=BatchSettings(policy="none"))
        self._started = time.monotonic()
        self._deadline = None if request.deadline is None else self._started + request.deadline
        # The keys that the last poll found, ascending.
        self._seen = np.empty(0, f"S{KEY_BYTES}")
        self._closed = threading.Event()
        self._lock = threading.Lock()
        self._result: QueryResult | None = None
        self._status, self._rows, self._polls = "running", 0, 0
        self._seconds: float | None = None

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        try:
            while self._status == "running":
                began = time.monotonic()
                for batch in self._poll_events():
                    if self._request.limit is not None:
                        batch = batch.slice(0, self._request.limit - self._rows)
                    self._rows += len(batch)
                    yield batch
                    if self._rows == self._request.limit:
                        self._end("limit")
                        return
                # At most half of the time is spent querying, however much the window holds.
                self._wait_for_poll(max(POLL_SECONDS, time.monotonic() - began))
        except WatchfloorError:
            self._end("failed")
            raise
        finally:
            self.close()

    def close(self) -> None:
        """Ends the watch; does nothing if it has ended. Any thread may call it."""
        self._end("cancelled")
        self._closed.set()
        with self._lock:
            result = self._result
        if result is not None:
            result.close()

    @property
    def summary(self) -> dict[str, Any]:
        """Status, rows, polls, seconds, and the width of the window in seconds."""
        seconds = self._seconds if self._seconds is not None else time.monotonic() - self._started
        return {
            "status": self._status,
            "rows": self._rows,
            "polls": self._polls,
            "seconds": round(seconds, 6),
            "window_seconds": self._window / 1e6,
        }

    def _poll_events(self) -> Iterator[pa.RecordBatch]:
        """Yields the events of the window that the last poll did not find, oldest first."""
        seconds = self._seconds_left()
        if self._closed.is_set() or (seconds is not None and seconds <= 0):
            return
        self._since = max(self._since, _read_clock() - self._window)
        result = self._run_query(replace(self._request, since=self._since, limit=None, deadline=seconds))
        with self._lock:
            self._result = result
        # The watch may have been closed before it had this result to close.
        if self._closed.is_set():
            result.close()
        keys, new = [self._seen[:0]], []
        for batch in result.iterate_with_keys():
            batch_keys = _read_keys(batch)
            keys.append(batch_keys)
            unseen = find_unseen(batch_keys, self._seen)
            if unseen.any():
                new.append(result.show_columns(batch).filter(pa.array(unseen)))
        # A poll that was closed, or ended by the deadline, has not seen the whole window.
        if result.summary["status"] != "complete":
            return
        self._seen = np.concatenate(keys)
        self._polls += 1
        if not new:
            yield pa.RecordBatch.from_pylist([], schema=result.schema)
        for batch in reversed(new):
            yield batch.take(pa.array(range(len(batch) - 1, -1, -1), pa.int64()))

    def _wait_for_poll(self, seconds: float) -> None:
        """Waits until the next poll is due, the watch is closed, or its deadline has passed, which ends it."""
        left = self._seconds_left()
        if left is not None and left <= seconds:
            self._closed.wait(max(0.0, left))
            self._end("deadline")
        else:
            self._closed.wait(seconds)

    def _seconds_left(self) -> float | None:
        return None if self._deadline is None else self._deadline - time.monotonic()

    def _end(self, status: str) -> None:
        if self._status == "running":
            self._status = status
            self._seconds = time.monotonic() - self._started


def check_watch(request: QueryRequest) -> None:
    """Raises ``UserError`` if a request has an end, a cursor or a sort, which do not go with a watch."""
    for name in ("until", "cursor", "sort"):
        if getattr(request, name) is not None:
            raise UserError(f"{name} does not go with watch, which waits for what is still to come")


def _read_clock() -> int:
    """Returns the present time in µs since 1970 UTC."""
    return time.time_ns() // 1000


def find_unseen(keys: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """Returns a boolean for each key: True if it is not among ``seen``, which must ascend."""
    if not len(seen):
        return np.ones(len(keys), bool)
    positions = np.searchsorted(seen, keys)
    return seen[np.minimum(positions, len(seen) - 1)] != keys


def _read_keys(batch: pa.RecordBatch) -> np.ndarray:
    """Returns the keys of a batch as fixed-length bytes. Raises ``UserError`` if some do not identify their events.

    Those of several sources are as long as the longest, which has the longest name of a source at its end.
    """
    column = batch.column(KEY_COLUMN)
    keys = to_byte_rows(pc.binary_slice(column, 0, KEY_BYTES), KEY_BYTES)
    if not are_hashes_known(keys):
        raise UserError(
            "these events cannot be watched: this reader may not see where they come from (the label of the source), "
            "so that new ones cannot be told from those seen"
        )
    longest = pc.max(pc.binary_length(column)).as_py() or KEY_BYTES
    if longest > KEY_BYTES:
        return np.array(column.to_pylist(), f"S{longest}")
    return np.ascontiguousarray(keys).view(f"S{KEY_BYTES}").reshape(-1)
