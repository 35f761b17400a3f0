"""Watches the ledger for the items of a load, in a thread of its own."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence

from watchfloor.ingest.records.ledger import Ledger, LedgerRow
from watchfloor.schema.errors import WatchfloorError
from watchfloor.schema.settings.settings import Settings
from watchfloor.store.store import Store

from .intake import Offer

_FIRST_PAUSE, _LAST_PAUSE = 0.1, 0.7
"""Seconds between readings of the ledger: they grow from the first to the last, so that the end of a short load is seen
soon."""
_SILENT_SECONDS = 6.0
"""The store counts as silent if the ledger was not read for so long."""


class LedgerWatcher:
    """Reads the ledger until all items of a load are over.

    A store that hangs blocks only this watcher's thread, not the load's. A context manager. ``rows`` are the ledger's
    rows by item identity, as last read.
    """

    def __init__(self, settings: Settings, offers: Sequence[Offer]) -> None:
        self._settings = settings
        self._items = {item.item_id: item for offer in offers for item in offer.items}
        self._stop = threading.Event()
        self._news = threading.Event()
        self._error = ""
        self._heard = time.monotonic()
        self._thread = threading.Thread(target=self._watch_ledger, name="ledger-watcher", daemon=True)
        self.rows: dict[bytes, LedgerRow] = {}
        self.finished = not self._items

    @property
    def problem(self) -> str:
        """The failure that the watcher waits out; empty if the store answers."""
        if self._error:
            return self._error
        if time.monotonic() - self._heard > _SILENT_SECONDS:
            return "the store does not answer; the load goes on when it does (see `watchfloor status`)"
        return ""

    def wait(self, seconds: float) -> None:
        """Waits until the ledger has been read again, at most for ``seconds``."""
        self._news.wait(seconds)
        self._news.clear()

    def _watch_ledger(self) -> None:
        """Reads the ledger until the load is over, with a new connection after each failure."""
        wait, pause = 1.0, _FIRST_PAUSE
        while not self._stop.is_set() and not self.finished:
            try:
                with Store.open(self._settings) as store:
                    while not self._stop.is_set() and not self.finished:
                        self._read_rows(Ledger(store))
                        self._error, self._heard, wait = "", time.monotonic(), 1.0
                        self._news.set()
                        self._stop.wait(pause)
                        pause = min(pause * 1.2, _LAST_PAUSE)
            except WatchfloorError as error:
                self._error = f"{error}; trying again"
                self._stop.wait(wait)
                wait = min(wait * 2, 15.0)

    def _read_rows(self, ledger: Ledger) -> None:
        open_files = {item.file_id for key, item in self._items.items() if not self._is_over(key)}
        for row in ledger.read_files(open_files):
            if row.item is not None and row.item.item_id in self._items:
                self.rows[row.item.item_id] = row
        self.finished = all(map(self._is_over, self._items))

    def _is_over(self, key: bytes) -> bool:
        """Returns true if the last queueing of an item has ended, be it that of this load or a later one."""
        row = self.rows.get(key)
        return row is not None and row.state in ("done", "failed")

    def __enter__(self) -> LedgerWatcher:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join(2)
