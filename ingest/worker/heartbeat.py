"""A worker's signs of life while it reads an item: its progress in the ledger, every few seconds."""

from __future__ import annotations

import threading
import time
from dataclasses import replace

from watchfloor.ingest.queue.item import WorkItem
from watchfloor.ingest.records.ledger import ItemRun, Ledger
from watchfloor.store.runtime.disk_space import DiskGuard

BEAT_SECONDS = 2.0


class Stopped(Exception):
    """Raised if the worker is told to stop in the middle of an item."""


class Heartbeat:
    """Writes an item's ``ItemRun`` to the ledger, at once and then every ``BEAT_SECONDS`` at most."""

    def __init__(self, ledger: Ledger, item: WorkItem, run: ItemRun, stop: threading.Event, disk: DiskGuard) -> None:
        self._ledger, self._item, self._run, self._stop, self._disk = ledger, item, run, stop, disk
        ledger.write_run(item, run)
        self._last = time.monotonic()

    def report(self, done: int, events: int, quarantined: int) -> None:
        """Records the progress in bytes, events and quarantined lines, and calls ``beat``.

        While the disk has no room for more, it waits and gives signs of life.
        """
        self._run = replace(self._run, bytes=done, events=events, quarantined=quarantined)
        self.beat()
        self._disk.await_room(self._stop, self.beat)

    def beat(self) -> None:
        """Gives a sign of life if one is due. Raises ``Stopped`` if the worker is to stop."""
        if self._stop.is_set():
            raise Stopped
        if time.monotonic() - self._last >= BEAT_SECONDS:
            self._last = time.monotonic()
            self._ledger.write_run(self._item, replace(self._run, at=time.time()))

    def release(self) -> None:
        """Gives the item back, so that another worker may read it at once; this attempt does not count."""
        self._ledger.write_run(self._item, replace(self._run, attempt=self._run.attempt - 1, at=0.0))
