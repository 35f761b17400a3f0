"""Runs work in threads a little ahead of the code that takes its results in order."""

from __future__ import annotations

import queue
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Executor, Future, wait
from contextlib import contextmanager
from typing import TypeVar

S = TypeVar("S")
T = TypeVar("T")
_POLL_SECONDS = 0.2


class _End:
    """The end of the values, with the error that caused it, if any."""

    def __init__(self, error: BaseException | None) -> None:
        self.error = error


@contextmanager
def read_ahead(source: Generator[T, None, None], depth: int) -> Iterator[Generator[T, None, None]]:
    """Yields an iterator over ``source``, which runs in its own thread, at most ``depth`` things ahead.

    An error in ``source`` is raised where its next thing is taken. Leaving the context stops the thread and closes
    ``source``.
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
        finally:
            source.close()

    def take() -> Generator[T, None, None]:
        while True:
            thing = things.get()
            if isinstance(thing, _End):
                if thing.error is not None:
                    raise thing.error
                return
            yield thing

    thread = threading.Thread(target=run, name="read-ahead", daemon=True)
    thread.start()
    try:
        yield take()
    finally:
        stop.set()
        thread.join()


def map_in_order(
    function: Callable[[S], T], things: Iterable[S], pool: Executor, depth: int
) -> Generator[T, None, None]:
    """Maps a function over things in the threads of a pool, at most ``depth`` at a time. Results come in order.

    An error is raised in its thing's place. Closing the generator waits for what is being done.
    """
    waiting: deque[Future[T]] = deque()
    try:
        for thing in things:
            waiting.append(pool.submit(function, thing))
            if len(waiting) == depth:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        wait([future for future in waiting if not future.cancel()])
