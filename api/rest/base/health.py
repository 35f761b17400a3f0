"""The health of the store. Asking often is cheap, and the answer comes soon even while the store hangs."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from watchfloor.schema.errors import StoreError
from watchfloor.store.bridge.threads import start_thread

FRESH_SECONDS = 1.0
MAX_WAIT_SECONDS = 3.0


class Health:
    """Runs ``probe``, which counts the store's sources, at most once a second and never twice at the same time.

    ``max_wait`` is the time in seconds after which an unanswered probe counts as a failure.
    """

    def __init__(self, probe: Callable[[], int], max_wait: float = MAX_WAIT_SECONDS) -> None:
        self._probe, self._max_wait = probe, max_wait
        self._lock = threading.Lock()
        self._done = threading.Event()
        self._is_probing = False
        self._probed_at = -FRESH_SECONDS
        self._answer: int | Exception = 0

    def count_sources(self) -> int:
        """Returns the probe's answer, which is at most about a second old.

        Raises what the probe raised, or ``StoreError`` if it has not answered for ``max_wait`` seconds.
        """
        with self._lock:
            if not self._is_probing and time.monotonic() - self._probed_at >= FRESH_SECONDS:
                self._is_probing, self._probed_at = True, time.monotonic()
                self._done.clear()
                start_thread(self._run_probe, "health")
        if not self._done.wait(max(0.0, self._probed_at + self._max_wait - time.monotonic())):
            raise StoreError(f"the store has not answered for {time.monotonic() - self._probed_at:.0f} s")
        if isinstance(self._answer, Exception):
            raise self._answer
        return self._answer

    def _run_probe(self) -> None:
        try:
            self._answer = self._probe()
        except Exception as error:
            self._answer = error
        self._is_probing = False
        self._done.set()
