"""The labels with which a user may read now, as a long-running process knows them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence

from watchfloor.store.bridge.threads import start_thread

FRESH_SECONDS = 1.0
"""Age from which the known labels are read again."""
MAX_WAIT_SECONDS = 1.0
"""The longest wait for a reading. If the store does not answer by then, the labels last read are used."""


class UserLabels:
    """The labels of one user, which are read again when they are older than ``FRESH_SECONDS``.

    ``read`` asks the store. It runs in a thread of its own, and never twice at the same time, because a store that is
    down does not answer. Safe to use from several threads.
    """

    def __init__(self, read: Callable[[], Sequence[str]], known: Sequence[str]) -> None:
        """``known`` are the labels as they were read just now."""
        self._read = read
        self._lock = threading.Lock()
        self._done = threading.Event()
        self._known = frozenset(known)
        self._read_at = time.monotonic()
        self._is_reading = False

    def get_labels(self) -> frozenset[str]:
        """Returns the labels, which are about a second old at most if the store answers."""
        with self._lock:
            if time.monotonic() - self._read_at < FRESH_SECONDS:
                return self._known
            if not self._is_reading:
                self._is_reading = True
                self._done.clear()
                start_thread(self._refresh, "user-labels")
        self._done.wait(MAX_WAIT_SECONDS)
        return self._known

    def _refresh(self) -> None:
        """Reads the labels. If that fails they stay as they are, and the scan that follows says what is wrong."""
        try:
            self._known = frozenset(self._read())
            self._read_at = time.monotonic()
        except Exception:
            pass
        finally:
            self._is_reading = False
            self._done.set()
