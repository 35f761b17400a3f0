"""Ends a running query from outside: by request of its caller, or by its deadline."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal, Protocol

from watchfloor.schema.errors import StoreError
from watchfloor.store.bridge.threads import DueCall, start_timer

StopReason = Literal["cancelled", "deadline"]


class EndableScans(Protocol):
    """A snapshot of the store that a query reads from: its scans can be ended."""

    def end_scans(self) -> None: ...


class QueryStop:
    """Ends a query at once, on the servers too, even while it waits for them. It is safe to use from any thread.

    ``reason`` is None until the query is ended, and then the first reason given. If ``seconds`` is given, the query is
    ended when they have passed; at once if there are none.
    """

    def __init__(self, scans: EndableScans, seconds: float | None = None) -> None:
        self.reason: StopReason | None = None
        self._scans = scans
        self._lock = threading.Lock()
        self._timer: DueCall | None = None
        if seconds is not None and seconds <= 0:
            # A query of which all is known already would begin to read before a timer rings.
            self.end_query("deadline")
        elif seconds is not None:
            self._timer = start_timer(seconds, self.end_query, "deadline")

    def end_query(self, reason: StopReason) -> None:
        """Ends the query's scans, including those that it begins later."""
        with self._lock:
            self.reason = self.reason or reason
        self._scans.end_scans()

    def cancel_deadline(self) -> None:
        """Cancels the deadline; to be called when the query has ended."""
        if self._timer is not None:
            self._timer.cancel()

    @contextmanager
    def guard_preparation(self) -> Iterator[None]:
        """Guards the preparation of a query. It cancels the deadline if the preparation fails.

        A preparation that fails because the query was ended meanwhile raises nothing, and has no result.
        """
        try:
            yield
        except BaseException as error:
            self.cancel_deadline()
            if not isinstance(error, StoreError) or self.reason is None:
                raise
