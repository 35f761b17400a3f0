"""Measures the memory of a process while something runs."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import psutil

MEMORY_SECONDS = 0.05
"""Seconds between two looks at the memory."""


@contextmanager
def watch_memory(pid: int) -> Iterator[list[float]]:
    """Yields a list that gets the megabytes of a process' memory (RSS) every now and then."""
    process = psutil.Process(pid)
    megabytes = [process.memory_info().rss / 1e6]
    ended = threading.Event()

    def watch() -> None:
        while not ended.wait(MEMORY_SECONDS):
            megabytes.append(process.memory_info().rss / 1e6)

    watching = threading.Thread(target=watch)
    watching.start()
    try:
        yield megabytes
    finally:
        ended.set()
        watching.join()
