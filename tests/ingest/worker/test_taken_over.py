"""A worker that stands still in the middle of an item until another one has finished it does no harm when it goes on.

In `make test`: the workers are threads of the test, and the compaction deletes at once.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from ingest_support import counts, exactly, ledger_rows, load, log_file, own, source

from watchfloor.ingest.intake.intake import Intake
from watchfloor.ingest.maintenance.compact import compact_source
from watchfloor.ingest.queue.item import WorkItem
from watchfloor.ingest.queue.item_buffer import Delivery
from watchfloor.ingest.queue.work_queue import ItemProducer
from watchfloor.ingest.reading.item_reader import ItemReader
from watchfloor.ingest.records.ledger import ItemEnd, ItemRun, Ledger
from watchfloor.ingest.worker import claim, heartbeat, item_handler
from watchfloor.ingest.worker.claim import ClaimPolicy
from watchfloor.ingest.worker.heartbeat import Heartbeat, LostItem
from watchfloor.ingest.worker.item_handler import ItemHandler
from watchfloor.ingest.worker.session import WorkerSession
from watchfloor.query.service import QueryService
from watchfloor.schema.settings.settings import Settings
from watchfloor.store.runtime.disk_space import DiskGuard
from watchfloor.store.store import Store

pytestmark = pytest.mark.stack

LINES = 200
log = logging.getLogger("watchfloor.test")


@pytest.fixture(scope="module")
def store(store_settings: Settings) -> Iterator[Store]:
    with Store.open(store_settings) as opened:
        opened.grace = 0.0
        yield opened


class Worker:
    """A worker without a queue: handles the item that it is given."""

    def __init__(self, settings: Settings, reader: ItemReader) -> None:
        self.session = WorkerSession(settings, log, DiskGuard(settings, log))
        claims, stop = ClaimPolicy(), threading.Event()
        self._handler = ItemHandler(self.session, claims, reader, stop, log, lambda: None)

    def handle(self, item: WorkItem) -> bool:
        return self._handler.handle(Delivery(item, 0, 7, raw=item.to_json()))

    def close(self) -> None:
        self.session.close()


class StandingReader(ItemReader):
    """Stands still in its first reading: before it writes, or when everything is durable."""

    def __init__(self, before: bool) -> None:
        super().__init__()
        self._before, self._first = before, True
        self.stands, self.go_on = threading.Event(), threading.Event()

    def _read_once(self, *arguments: Any) -> Any:
        first, self._first = self._first, False
        if first and self._before:
            self._stand_still()
        outcome = super()._read_once(*arguments)
        if first and not self._before:
            self._stand_still()
        return outcome

    def _stand_still(self) -> None:
        self.stands.set()
        assert self.go_on.wait(60)


def queue_file(store: Store, settings: Settings, file: Path, feed: str) -> WorkItem:
    with ItemProducer(settings) as producer:
        ledger = Ledger(store)
        (item,) = Intake(store, ledger, producer).offer_file(str(file), feed).items
        ledger.close()
    return item


class KilledError(Exception):
    """Raised in place of a signal that kills a compaction."""


def compact(store: Store, name: str, killed: bool) -> None:
    """Merges the blocks. If it is killed after the merging, the names of the dead blocks are still known."""

    def step(done: str) -> None:
        if killed and done == "committed":
            raise KilledError

    with suppress(KilledError):
        assert compact_source(store, name, 0, step).events == 2 * LINES


@pytest.mark.parametrize(
    ("layout", "begun", "before", "killed"),
    [
        ("block", True, True, True),
        ("block", True, True, False),
        ("block", True, False, False),
        ("block", False, True, False),
        ("cell", True, False, False),
        ("cell", False, True, False),
    ],
)
def test_an_item_that_was_taken_over_is_there_once(
    store_settings: Settings,
    store: Store,
    layout: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    begun: bool,
    before: bool,
    killed: bool,
) -> None:
    """``begun``: a dead worker has begun the item. ``before``: the slow one stands still before it has written."""
    # Everything that takes seconds between real workers happens at once.
    monkeypatch.setattr(claim, "STALE_SECONDS", -1.0)
    monkeypatch.setattr(heartbeat, "BEAT_SECONDS", 0.0)
    monkeypatch.setattr(item_handler, "LOST_WAIT", 0.1)
    name = f"taken{begun:d}{before:d}{killed:d}"
    settings, kind = own(store_settings, name), store.catalog.register(source(name, layout))
    load(settings, log_file(tmp_path / "other.log", LINES, "other"), feed=kind.name)
    file = log_file(tmp_path / "taken.log", LINES)
    item = queue_file(store, settings, file, kind.name)
    if begun:
        assert Ledger(store).swap_run(item, None, ItemRun(item.ticket, 1, 1.0, "dead:1", claim="dead"))
    with StandingReader(before) as standing, ItemReader() as reader, ThreadPoolExecutor(1) as thread:
        slow, fast = Worker(settings, standing), Worker(settings, reader)
        first = thread.submit(slow.handle, item)
        assert standing.stands.wait(60)
        assert fast.handle(item)
        by_fast = ledger_rows(store, file)[0]
        assert by_fast.state == "done"
        if layout == "block":
            compact(store, kind.name, killed)
        standing.go_on.set()
        assert first.result(60), "what it wrote afterwards is set right by reading the item once more"
        slow.close()
        fast.close()
    by_slow = ledger_rows(store, file)[0]
    assert by_slow.state == "done" and by_slow.run != by_fast.run, "the slow worker has read it again"
    assert QueryService(store).count_events(kind.name) == 2 * LINES
    if layout == "block":
        compact_source(store, kind.name, 0)
    assert counts(store, kind) == exactly(kind, 2 * LINES)


def test_a_heartbeat_notices_another_worker_and_only_that(
    store_settings: Settings, store: Store, tmp_path: Path
) -> None:
    settings, kind = own(store_settings, "beats"), store.catalog.register(source("beats"))
    item = queue_file(store, settings, log_file(tmp_path / "a.log", 5), kind.name)
    ledger, stop, disk = Ledger(store), threading.Event(), DiskGuard(settings, log)
    mine = ItemRun(item.ticket, 1, 100.0, "one", claim="mine")
    beat = Heartbeat(ledger, item, None, mine, stop, disk)
    row = ledger.read_item(item)
    assert row is not None and row.run == mine
    # A writing whose answer was lost: the ledger has it, and the worker does not know.
    assert ledger.swap_run(item, mine, replace(mine, at=101.0))
    beat.confirm()
    row = ledger.read_item(item)
    assert row is not None and row.run is not None and row.run.at > 101.0
    with pytest.raises(LostItem):
        Heartbeat(ledger, item, mine, replace(mine, claim="late"), stop, disk)
    theirs = replace(mine, by="two", claim="theirs")
    Heartbeat(ledger, item, row.run, theirs, stop, disk)
    with pytest.raises(LostItem):
        beat.confirm()
    beat.release()
    row = ledger.read_item(item)
    assert row is not None and row.run == theirs


@pytest.mark.parametrize("late", [False, True])
def test_the_end_of_a_worker_that_has_lost_its_item_is_not_recorded(
    store_settings: Settings, store: Store, tmp_path: Path, late: bool
) -> None:
    """``late``: it wakes when the other one has ended."""
    settings, kind = own(store_settings, "ends"), store.catalog.register(source("ends"))
    item = queue_file(store, settings, log_file(tmp_path / "a.log", 5 + late), kind.name)
    ledger, stop, disk = Ledger(store), threading.Event(), DiskGuard(settings, log)
    mine = ItemRun(item.ticket, 1, 100.0, "one", claim="mine")
    slow = Heartbeat(ledger, item, None, mine, stop, disk)
    theirs = replace(mine, attempt=2, by="two", claim="theirs")
    fast = Heartbeat(ledger, item, mine, theirs, stop, disk)
    # A sign of life whose answer was lost.
    assert ledger.swap_run(item, theirs, replace(theirs, at=101.0))
    end = ItemEnd(item.ticket, "done", 102.0, "two", events=5)
    if late:
        fast.record_end(end)
    with pytest.raises(LostItem):
        slow.record_end(replace(end, by="one", events=3))
    if not late:
        fast.record_end(end)
    row = ledger.read_item(item)
    assert row is not None and row.state == "done" and row.end == replace(end, claim="theirs")
