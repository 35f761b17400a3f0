"""Python threads that may call Java: each attaches itself to the JVM and detaches itself when its work is done.

The JVM keeps 8 KB for every Python thread that has called it until that thread detaches. In a thread that is not
attached, each release of a record batch that came from Java takes most of a millisecond.
"""

from __future__ import annotations

import heapq
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import Any, ParamSpec, TypeVar

import jpype

from .jvm import is_running

P = ParamSpec("P")
R = TypeVar("R")


@contextmanager
def attach_thread() -> Iterator[None]:
    """Attaches the current thread to the JVM, if one runs in this process, until the ``with`` block is left."""
    if is_running():
        jpype.JClass("java.lang.Thread").attachAsDaemon()
    try:
        yield
    finally:
        if is_running():
            jpype.JClass("java.lang.Thread").detach()


class JavaThreadPool(ThreadPoolExecutor):
    """A pool of threads, each of which is attached to the JVM while it works on a task."""

    def submit(self, function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> Future[R]:
        return super().submit(attach_thread()(function), *args, **kwargs)


def start_thread(function: Callable[[], None], name: str) -> threading.Thread:
    """Starts and returns a daemon thread that runs ``function``."""
    thread = threading.Thread(target=attach_thread()(function), name=name, daemon=True)
    thread.start()
    return thread


class DueCall:
    """A call that is made at a time, by ``time.monotonic``, unless it is cancelled before."""

    def __init__(self, due: float, function: Callable[[], None]) -> None:
        self.due = due
        self._function: Callable[[], None] | None = function

    def cancel(self) -> None:
        """Keeps the call from being made, and keeps nothing that it refers to."""
        self._function = None

    def make(self) -> None:
        """Makes the call in a thread of its own, as it may take long; does nothing if it was cancelled."""
        if (function := self._function) is not None:
            start_thread(function, "due call")

    def __lt__(self, other: DueCall) -> bool:
        return self.due < other.due


class DueCalls:
    """Makes calls at their times. One thread waits for all of them, because most are cancelled: one a query."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._waiting: list[DueCall] = []
        self._thread: threading.Thread | None = None

    def add(self, call: DueCall) -> None:
        with self._changed:
            heapq.heappush(self._waiting, call)
            if self._thread is None or not self._thread.is_alive():  # as after a fork
                self._thread = threading.Thread(target=self._make_calls, name="due calls", daemon=True)
                self._thread.start()
            elif self._waiting[0] is call:
                self._changed.notify()

    def _make_calls(self) -> None:
        while True:
            with self._changed:
                while not self._waiting or self._waiting[0].due > time.monotonic():
                    self._changed.wait(self._waiting[0].due - time.monotonic() if self._waiting else None)
                call = heapq.heappop(self._waiting)
            call.make()


_DUE_CALLS = DueCalls()


def start_timer(seconds: float, function: Callable[..., None], *args: Any) -> DueCall:
    """Has ``function`` called in a daemon thread when ``seconds`` have passed; the result can cancel that."""
    call = DueCall(time.monotonic() + seconds, partial(function, *args))
    _DUE_CALLS.add(call)
    return call
