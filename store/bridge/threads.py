"""Python threads that may call Java: each attaches itself to the JVM and detaches itself when its work is done.

The JVM keeps 8 KB for every Python thread that has called it until that thread detaches. In a thread that is not
attached, each release of a record batch that came from Java takes most of a millisecond.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
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


def start_timer(seconds: float, function: Callable[..., None], *args: Any) -> threading.Timer:
    """Starts and returns a timer that calls ``function`` in a daemon thread when ``seconds`` have passed."""
    timer = threading.Timer(seconds, attach_thread()(function), args)
    timer.daemon = True
    timer.start()
    return timer
