"""The health of the store. Asking often is cheap, and a store that is busy or hangs does not delay the answer."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from watchfloor.schema.errors import StoreError
from watchfloor.store.bridge.threads import start_thread

FRESH_SECONDS = 1.0
MAX_WAIT_SECONDS = 3.0
UNASKED_SECONDS = 15.0


class Health:
    """Runs ``probe``, which counts the store's sources, about once a second in a thread, while anybody asks.

    The thread ends when nobody has asked for ``UNASKED_SECONDS``. ``max_wait`` is the time in seconds after which an
    unanswered probe counts as a failure.
    """

    def __init__(self, probe: Callable[[], int], max_wait: float = MAX_WAIT_SECONDS) -> None:
        self._probe, self._max_wait = probe, max_wait
        self._changed = threading.Condition()
        self._is_running = False
        self._asked_at = self._started_at = 0.0
        # The last probe's answer and the time at which that probe was started.
        self._answer: tuple[int | Exception, float] | None = None

    def count_sources(self) -> int:
        """Returns the last probe's answer if it is recent, and otherwise waits for the next one.

        Raises what the probe raised, or ``StoreError`` if it has not answered for ``max_wait`` seconds.
        """
        with self._changed:
            self._asked_at = time.monotonic()
            if not self._is_running:
                self._is_running, self._started_at, self._answer = True, self._asked_at, None
                start_thread(self._keep_probing, "health")
            while (answer := self._find_answer()) is None:
                left = self._started_at + self._max_wait - time.monotonic()
                if left <= 0:
                    raise StoreError(f"the store has not answered for {time.monotonic() - self._started_at:.0f} s")
                self._changed.wait(left)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def _find_answer(self) -> int | Exception | None:
        """Returns the last answer, or None if the next one should have come by now."""
        if self._answer is None or time.monotonic() - self._answer[1] >= self._max_wait + FRESH_SECONDS:
            return None
        return self._answer[0]

    def _keep_probing(self) -> None:
        while True:
            with self._changed:
                self._started_at = time.monotonic()
                if self._started_at - self._asked_at > UNASKED_SECONDS:
                    self._is_running = False
                    return
            answer: int | Exception
            try:
                answer = self._probe()
            except Exception as error:
                answer = error
            with self._changed:
                self._answer = (answer, self._started_at)
                self._changed.notify_all()
            time.sleep(FRESH_SECONDS)
