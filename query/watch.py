"""Events as they arrive, like ``tail -f``: a window of time is asked for again and again.

What a poll finds and the one before did not is new. So a late event is shown as long as its time lies in the window,
and what must be kept is the keys of the window's events.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from watchfloor.query.batches.policies import BatchSettings
from watchfloor.schema.errors import UserError, WatchfloorError
from watchfloor.store.encoding.keys import KEY_BYTES, KEY_COLUMN, are_hashes_known
from watchfloor.store.encoding.values import fixed_rows

if TYPE_CHECKING:
    from .result import QueryResult
    from .service import QueryRequest

WINDOW_SECONDS = 300.0
POLL_SECONDS = 0.5


class Watch:
    """A running watch: iterate over it for record batches, the oldest of the new events first.

    There is a batch after each poll, without rows if there is nothing new. It ends at the request's ``limit`` or
    ``deadline`` or by ``close``; ``summary`` has its ``status`` as that of a query, and rows, polls and seconds.

    The window begins ``WINDOW_SECONDS`` before now, or at the request's ``since`` if that was earlier, moves with the
    clock, and never reaches back before that ``since``. It has no end: events may be ahead of the clock.
    """

    def __init__(
        self,
        run: Callable[[QueryRequest], QueryResult],
        request: QueryRequest,
        clock: Callable[[], int] = lambda: time.time_ns() // 1000,
        pause: float = POLL_SECONDS,
    ) -> None:
        """``clock`` gives µs since 1970 UTC. Raises ``UserError`` for a request that is not one of the future."""
        for name in ("until", "cursor"):
            if getattr(request, name) is not None:
                raise UserError(f"{name} does not go with watch, which waits for what is still to come")
        now, window = clock(), int(WINDOW_SECONDS * 1e6)
        self._since = now - window if request.since is None else request.since
        self._window = max(window, now - self._since)
        self._run, self._clock, self._pause = run, clock, pause
        # Each poll reads the whole window anyway: cut into batches it would only ask the servers more often.
        self._request = replace(request, batching=BatchSettings(policy="none"))
        self._started = time.monotonic()
        self._ends = None if request.deadline is None else self._started + request.deadline
        self._seen = np.empty(0, f"S{KEY_BYTES}")
        self._closed = threading.Event()
        self._lock = threading.Lock()
        self._poll: QueryResult | None = None
        self._status, self._rows, self._polls = "running", 0, 0
        self._seconds: float | None = None

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        try:
            while self._status == "running":
                began = time.monotonic()
                for batch in self._new():
                    if self._request.limit is not None:
                        batch = batch.slice(0, self._request.limit - self._rows)
                    self._rows += len(batch)
                    yield batch
                    if self._rows == self._request.limit:
                        self._end("limit")
                        return
                # Half of the time at most is spent asking, however much the window holds.
                wait = max(self._pause, time.monotonic() - began)
                if self._ends is not None and self._ends - time.monotonic() <= wait:
                    self._closed.wait(max(0.0, self._ends - time.monotonic()))
                    self._end("deadline")
                else:
                    self._closed.wait(wait)
        except WatchfloorError:
            self._end("failed")
            raise
        finally:
            self.close()

    def close(self) -> None:
        """Ends the watch, from any thread; nothing happens to one that has ended."""
        self._end("cancelled")
        self._closed.set()
        with self._lock:
            poll = self._poll
        if poll is not None:
            poll.close()

    @property
    def summary(self) -> dict[str, Any]:
        seconds = self._seconds if self._seconds is not None else time.monotonic() - self._started
        return {
            "status": self._status,
            "rows": self._rows,
            "polls": self._polls,
            "seconds": round(seconds, 6),
            "window_seconds": self._window / 1e6,
        }

    def _new(self) -> Iterator[pa.RecordBatch]:
        """The events of the window that the last poll did not find, oldest first."""
        left = None if self._ends is None else self._ends - time.monotonic()
        if self._closed.is_set() or (left is not None and left <= 0):
            return
        self._since = max(self._since, self._clock() - self._window)
        result = self._run(replace(self._request, since=self._since, limit=None, deadline=left))
        with self._lock:
            self._poll = result
        if self._closed.is_set():
            result.close()
        names, keys, new = result.schema.names, [self._seen[:0]], []
        for batch in result.with_keys():
            found = _keys(batch)
            keys.append(found)
            fresh = unseen(found, self._seen)
            if fresh.any():
                new.append(batch.select(names).filter(pa.array(fresh)))
        if result.summary["status"] != "complete":  # closed meanwhile, or the deadline: it has not seen all
            return
        self._seen = np.concatenate(keys)
        self._polls += 1
        if not new:
            yield pa.RecordBatch.from_pylist([], schema=result.schema)
        for batch in reversed(new):
            yield batch.take(pa.array(range(len(batch) - 1, -1, -1), pa.int64()))

    def _end(self, status: str) -> None:
        if self._status == "running":
            self._status = status
            self._seconds = time.monotonic() - self._started


def unseen(keys: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """Which keys are not among those seen, which ascend."""
    if not len(seen):
        return np.ones(len(keys), bool)
    places = np.searchsorted(seen, keys)
    return seen[np.minimum(places, len(seen) - 1)] != keys


def _keys(batch: pa.RecordBatch) -> np.ndarray:
    keys = fixed_rows(batch.column(KEY_COLUMN), KEY_BYTES)
    if not are_hashes_known(keys):
        raise UserError(
            "these events cannot be watched: this reader may not see where they come from (the label of the source), "
            "so that new ones cannot be told from those seen"
        )
    return np.ascontiguousarray(keys).view(f"S{KEY_BYTES}").reshape(-1)
