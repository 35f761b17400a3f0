"""A worker's hold on an item: takes it in the ledger, gives signs of life there, and notices when it has lost it."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace

from watchfloor.ingest.queue.item import WorkItem
from watchfloor.ingest.records.ledger import ItemEnd, ItemRun, Ledger
from watchfloor.store.runtime.disk_space import DiskGuard

BEAT_SECONDS = 2.0


class Stopped(Exception):
    """Raised if the worker is told to stop in the middle of an item."""


class LostItem(Exception):
    """Raised if another worker has taken the item over, because this one gave no sign of life for too long."""


class Heartbeat:
    """Writes an item's ``ItemRun`` to the ledger, at once and then every ``BEAT_SECONDS`` at most.

    Each writing replaces the one before, by compare-and-set. It raises ``LostItem`` if that is not there any more.
    """

    def __init__(
        self,
        ledger: Ledger,
        item: WorkItem,
        found: ItemRun | None,
        run: ItemRun,
        stop: threading.Event,
        disk: DiskGuard,
    ) -> None:
        """Takes the item, whose run in the ledger is ``found``."""
        self._ledger, self._item, self._run, self._stop, self._disk = ledger, item, run, stop, disk
        self._stored = self._write(found, run)

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
            self.confirm()

    def confirm(self) -> None:
        """Gives a sign of life now. What a worker that takes the item over writes comes after this."""
        self._stored = self._write(self._stored, replace(self._run, at=time.time()))

    def record_end(self, end: ItemEnd) -> None:
        """Records the end of the item. Raises ``LostItem`` if another worker has taken it over."""
        own = replace(end, claim=self._run.claim)
        if not self._ledger.write_end_of(self._item, self._stored, own):
            self.confirm()
            if not self._ledger.write_end_of(self._item, self._stored, own):
                raise LostItem

    def release(self) -> None:
        """Gives the item back, so that another worker may read it at once; this attempt does not count."""
        with suppress(LostItem):
            self.give_back(self._run.missed)

    def give_back(self, missed: Mapping[str, str]) -> None:
        """Releases the item, whose file the hosts ``missed`` could not open. Raises ``LostItem``."""
        self._write(self._stored, replace(self._run, attempt=self._run.attempt - 1, at=0.0, missed=missed))

    def _write(self, stored: ItemRun | None, run: ItemRun) -> ItemRun:
        """Replaces the run that is stored in the ledger, and returns the new one."""
        if not self._ledger.swap_run(self._item, stored, run):
            # An earlier writing may have failed for this worker and yet have reached the ledger.
            row = self._ledger.read_item(self._item)
            there = row.run if row else None
            if there is None or there.claim != run.claim or not self._ledger.swap_run(self._item, there, run):
                raise LostItem
        self._last = time.monotonic()
        return run
