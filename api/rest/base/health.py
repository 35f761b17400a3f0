"""Whether the store answers, for anybody who asks: cheap to ask often, and quick to answer when it does not."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from watchfloor.schema.errors import StoreError
from watchfloor.store.bridge.jvm import visit

FRESH_SECONDS = 1.0
PATIENCE_SECONDS = 3.0


class Health:
    """``probe`` asks the store how many sources it knows. It is asked at most once a second, and once at a time."""

    def __init__(self, probe: Callable[[], int], patience: float = PATIENCE_SECONDS) -> None:
        self._probe, self._patience = probe, patience
        self._lock = threading.Lock()
        self._done = threading.Event()
        self._asking = False
        self._asked = -FRESH_SECONDS
        self._answer: int | Exception = 0

    def sources(self) -> int:
        """The answer; raises what asking raised, or ``StoreError`` when there is none for a few seconds."""
        with self._lock:
            if not self._asking and time.monotonic() - self._asked >= FRESH_SECONDS:
                self._asking, self._asked = True, time.monotonic()
                self._done.clear()
                threading.Thread(target=visit()(self._ask), name="health", daemon=True).start()
        if not self._done.wait(max(0.0, self._asked + self._patience - time.monotonic())):
            raise StoreError(f"the store has not answered for {time.monotonic() - self._asked:.0f} s")
        if isinstance(self._answer, Exception):
            raise self._answer
        return self._answer

    def _ask(self) -> None:
        try:
            self._answer = self._probe()
        except Exception as error:
            self._answer = error
        self._asking = False
        self._done.set()
