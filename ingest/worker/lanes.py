"""Lanes of a worker: one item is read at a time, but while what it became is made durable the next may be read."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from types import TracebackType
from typing import Generic, TypeVar

from watchfloor.store.bridge.jvm import visit

D = TypeVar("D")
Work = Callable[[D, Callable[[], None]], None]
"""Gets the desk of its lane, and what to call as soon as the next work may begin beside it."""


class Lanes(Generic[D]):
    """A thread for each desk; with one desk all is done one after the other. Not for use by several threads at once."""

    def __init__(self, desks: Sequence[D]) -> None:
        self._free = list(desks)
        self._threads = ThreadPoolExecutor(len(desks), "lane")
        self._begun: dict[Future[None], D] = {}
        self._next_may = threading.Event()
        self._next_may.set()

    def wait(self) -> None:
        """Returns when work may begin. Raises what work that has ended since has raised."""
        self._next_may.wait()
        if not self._free:
            wait(self._begun, return_when=FIRST_COMPLETED)
        for ended in [future for future in self._begun if future.done()]:
            self._free.append(self._begun.pop(ended))
            ended.result()

    def begin(self, work: Work[D]) -> None:
        """Begins work, once ``wait`` has returned."""
        desk, self._next_may = self._free.pop(), threading.Event()
        self._begun[self._threads.submit(visit()(_run), work, desk, self._next_may)] = desk

    def __enter__(self) -> Lanes[D]:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Waits for all that has begun. Raises as ``wait`` does."""
        self._threads.shutdown()
        for ended in self._begun:
            ended.result()


def _run(work: Work[D], desk: D, next_may: threading.Event) -> None:
    try:
        work(desk, next_may.set)
    finally:
        next_may.set()
