"""Runs an iterator in a thread, a little ahead of whoever takes from it."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar

T = TypeVar("T")
_POLL_SECONDS = 0.2


class _End:
    def __init__(self, error: BaseException | None) -> None:
        self.error = error


@contextmanager
def ahead(source: Iterator[T], depth: int) -> Iterator[Iterator[T]]:
    """Yields an iterator over ``source``, which is run in its own thread and at most ``depth`` things ahead.

    An error in ``source`` is raised where its next thing is taken. Leaving the context stops the thread.
    """
    things: queue.Queue[T | _End] = queue.Queue(depth)
    stop = threading.Event()

    def put(thing: T | _End) -> None:
        while not stop.is_set():
            try:
                return things.put(thing, timeout=_POLL_SECONDS)
            except queue.Full:
                continue

    def run() -> None:
        try:
            for thing in source:
                put(thing)
                if stop.is_set():
                    return
            put(_End(None))
        except BaseException as error:
            put(_End(error))

    def take() -> Iterator[T]:
        while True:
            thing = things.get()
            if isinstance(thing, _End):
                if thing.error is not None:
                    raise thing.error
                return
            yield thing

    thread = threading.Thread(target=run, name="ahead", daemon=True)
    thread.start()
    try:
        yield take()
    finally:
        stop.set()
        thread.join()
