"""Runs work in the sessions of a worker.

The lines of one item are read at a time, but those of the next may be while the one before is encoded and made durable.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from types import TracebackType
from typing import Generic, TypeVar

from watchfloor.store.bridge.threads import JavaThreadPool

S = TypeVar("S")
Work = Callable[[S, Callable[[], None]], None]
"""A function that is called with a free session, and with a function to call as soon as the next work may begin beside
it.
"""


class SessionPool(Generic[S]):
    """A pool with a thread for each session; with one session all work is done one after the other.

    Not for use by several threads at once.
    """

    def __init__(self, sessions: Sequence[S]) -> None:
        self._free = list(sessions)
        self._threads = JavaThreadPool(len(sessions), "session")
        self._in_flight: dict[Future[None], S] = {}
        self._next_allowed = threading.Event()
        self._next_allowed.set()

    def wait(self) -> None:
        """Waits until the next work may begin. Raises the error of any work that has ended since the last call."""
        self._next_allowed.wait()
        if not self._free:
            wait(self._in_flight, return_when=FIRST_COMPLETED)
        for ended in [future for future in self._in_flight if future.done()]:
            self._free.append(self._in_flight.pop(ended))
            ended.result()

    def begin(self, work: Work[S]) -> None:
        """Begins work. ``wait`` must have returned before."""
        session, self._next_allowed = self._free.pop(), threading.Event()
        self._in_flight[self._threads.submit(_run_work, work, session, self._next_allowed)] = session

    def __enter__(self) -> SessionPool[S]:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Waits for all work that has begun. Raises as ``wait`` does."""
        self._threads.shutdown()
        for ended in self._in_flight:
            ended.result()


def _run_work(work: Work[S], session: S, next_allowed: threading.Event) -> None:
    try:
        work(session, next_allowed.set)
    finally:
        next_allowed.set()
