"""The threads that answer requests, started when they are needed.

waitress starts all of its threads at once and gives requests to them in turn. A thread is slow at first: it attaches to
the JVM, and its memory and caches are cold. Here a few clients meet a few threads, which stay warm.
"""

from __future__ import annotations

from typing import Any

from waitress.task import ThreadedTaskDispatcher

STOP_SECONDS = 0.5
"""Seconds that threads get to end when the service stops; running answers have had their time before."""


class RequestThreads(ThreadedTaskDispatcher):
    """A dispatcher of waitress with at most ``most`` threads. One more starts only when all others are busy."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most

    def add_task(self, task: Any) -> None:
        """Lets a thread answer a request; overrides waitress' method. Any thread may call it."""
        with self.lock:
            needed = min(self.active_count + len(self.queue) + 1, self._most)
            is_short = len(self.threads) < needed
        if is_short:
            self.set_thread_count(needed)
        super().add_task(task)

    def shutdown(self, cancel_pending: bool = True, timeout: float = STOP_SECONDS) -> bool:
        """Ends all threads that end within ``timeout`` seconds; overrides waitress' method."""
        self._most = 0
        ended: bool = super().shutdown(cancel_pending, timeout)
        return ended
