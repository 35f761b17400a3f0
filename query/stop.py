"""How a running query is ended from outside: by whoever wants no more of it, or by its deadline."""

from __future__ import annotations

import threading
from typing import Literal, Protocol

from watchfloor.store.bridge.jvm import visit

Reason = Literal["cancelled", "deadline"]


class Scans(Protocol):
    """What a query reads from: a store's snapshot."""

    def end_scans(self) -> None: ...


class Stop:
    """Ends a query at once, on the servers too, also while it waits for them. Safe to use from any thread.

    ``why`` is None until then, and the first reason after it. With ``seconds`` the query ends when these have passed.
    """

    def __init__(self, scans: Scans, seconds: float | None = None) -> None:
        self.why: Reason | None = None
        self._scans = scans
        self._lock = threading.Lock()
        self._timer: threading.Timer | None = None
        if seconds is not None:
            self._timer = threading.Timer(seconds, visit()(self.now), ["deadline"])
            self._timer.daemon = True
            self._timer.start()

    def now(self, why: Reason) -> None:
        with self._lock:
            self.why = self.why or why
        self._scans.end_scans()

    def over(self) -> None:
        """The query has ended: its deadline means nothing any more."""
        if self._timer is not None:
            self._timer.cancel()
