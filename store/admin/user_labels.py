"""The labels with which a user may read now, as a long-running process knows them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress

from watchfloor.store.bridge.threads import start_thread

FRESH_SECONDS = 1.0
"""Age up to which the known labels are used without a wait."""
RENEW_SECONDS = 0.5
"""The pause between two readings while the labels are asked for."""
KEPT_SECONDS = 60.0
"""Seconds without a question after which the labels are no longer read."""
MAX_WAIT_SECONDS = 1.0
"""The longest wait for a reading. If the store does not answer by then, the labels last read are used."""


class UserLabels:
    """The labels of one user, kept fresh beside the questions for them, so that these seldom wait for the store.

    ``read`` asks the store. It runs in a thread of its own, because a store that is down does not answer. Safe to use
    from several threads.
    """

    def __init__(self, read: Callable[[], Sequence[str]], known: Sequence[str]) -> None:
        """``known`` are the labels as they were read just now."""
        self._read = read
        self._changed = threading.Condition()
        self._known = frozenset(known)
        self._read_at = self._asked_at = time.monotonic()
        self._due_at = self._read_at + RENEW_SECONDS
        self._readings = 0
        self._is_kept = self._is_wanted = self._is_closed = False

    def get_labels(self) -> frozenset[str]:
        """Returns the labels, which are about a second old at most if the store answers."""
        with self._changed:
            self._asked_at = time.monotonic()
            is_fresh = self._asked_at - self._read_at < FRESH_SECONDS
            if not self._is_kept and not self._is_closed:
                self._is_kept = True
                start_thread(self._keep_fresh, "user-labels")
            if not is_fresh and self._is_kept:
                readings, self._is_wanted = self._readings, True
                self._changed.notify_all()
                self._changed.wait_for(lambda: self._readings > readings, MAX_WAIT_SECONDS)
            return self._known

    def close(self) -> None:
        """Ends the reading; the labels stay as they are."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()

    def _keep_fresh(self) -> None:
        """Reads the labels again and again until nobody has asked for them for ``KEPT_SECONDS``."""
        while True:
            with self._changed:
                pause = max(0.0, self._due_at - time.monotonic())
                self._changed.wait_for(lambda: self._is_wanted or self._is_closed, pause)
                if self._is_closed or time.monotonic() - self._asked_at > KEPT_SECONDS:
                    self._is_kept = False
                    return
                self._is_wanted = False
            self._refresh()

    def _refresh(self) -> None:
        """Reads the labels. If that fails they stay as they are, and the scan that follows says what is wrong."""
        began = time.monotonic()
        self._due_at = began + RENEW_SECONDS
        with suppress(Exception):
            self._known, self._read_at = frozenset(self._read()), began
        with self._changed:
            self._readings += 1
            self._changed.notify_all()
