"""A process that works at several logs at once, as a worker of each, and is killed when each has come to its step."""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

from watchfloor.ingest.queue.item import WorkItem
from watchfloor.ingest.queue.item_buffer import Delivery
from watchfloor.ingest.reading.item_reader import ItemReader, ReadTask
from watchfloor.ingest.records.ledger import ItemEnd
from watchfloor.ingest.worker import claim
from watchfloor.ingest.worker.claim import ClaimPolicy
from watchfloor.ingest.worker.item_handler import ItemHandler
from watchfloor.ingest.worker.session import WorkerSession
from watchfloor.schema.settings.settings import Settings
from watchfloor.store.layouts.item_writer import WriteSink
from watchfloor.store.runtime.disk_space import DiskGuard

STEPS = ("event", "index", "aggregate", "flush", "ended")
"""What a worker has done last when it is killed: written events, index entries, counts; all durable; ledger written."""
SECONDS = 100.0
log = logging.getLogger("watchfloor.test")


@dataclass(frozen=True)
class Death:
    """The item in which a log's worker dies, and the step at which it does."""

    item_id: bytes
    step: str


def work(settings: Settings, logs: Sequence[Sequence[WorkItem]], deaths: Sequence[Death]) -> int | None:
    """Handles the items of each log by a worker of its own, all in one new process; returns its exit code.

    With ``deaths``, one a log, the process is killed when the last of its workers has come to its death.
    """
    process = multiprocessing.get_context("spawn").Process(target=_work_here, args=(settings, logs, deaths))
    process.start()
    process.join(SECONDS)
    if process.is_alive():
        process.kill()
        process.join()
        raise AssertionError("some worker has not come to its step, or not to its end")
    return process.exitcode


def _work_here(settings: Settings, logs: Sequence[Sequence[WorkItem]], deaths: Sequence[Death]) -> None:
    claim.STALE_SECONDS = -1.0  # the dead give no sign of life, and nobody else is at work
    all_there = threading.Barrier(max(len(deaths), 1), lambda: os.kill(os.getpid(), signal.SIGKILL))
    step_of = {death.item_id: death.step for death in deaths}
    with ThreadPoolExecutor(len(logs)) as threads:
        for handled in [threads.submit(_handle_log, settings, items, step_of, all_there.wait) for items in logs]:
            handled.result()


def _handle_log(
    settings: Settings, items: Sequence[WorkItem], step_of: Mapping[bytes, str], die: Callable[[], object]
) -> None:
    session = WorkerSession(settings, log, DiskGuard(settings, log))
    with MortalReader(step_of, die) as reader:
        handler = ItemHandler(session, ClaimPolicy(), reader, threading.Event(), log, lambda: None)
        for item in items:
            assert handler.handle(Delivery(item, 0, 7, raw=item.to_json()))
            if step_of.get(item.item_id) == "ended":
                die()
    session.close()


class MortalReader(ItemReader):
    """Reads items; of one that is to die it writes as far as its step."""

    def __init__(self, step_of: Mapping[bytes, str], die: Callable[[], object]) -> None:
        super().__init__()
        self._step_of, self._die = step_of, die

    def read(self, task: ReadTask) -> ItemEnd:
        step = self._step_of.get(task.item.item_id, "")
        return super().read(replace(task, event_sink=MortalSink(task.events_to, step, self._die)))


@dataclass(frozen=True)
class MortalSink:
    """Writes to ``sink`` until ``step`` is done, which is durable then."""

    sink: WriteSink
    step: str
    die: Callable[[], object]

    def write_rows(self, table: str, batch: Any) -> None:
        self.sink.write_rows(table, batch)
        self._reach(table.rpartition(".")[2])

    def write_entries(self, table: str, batch: Any) -> None:
        self.sink.write_entries(table, batch)
        self._reach(table.rpartition(".")[2])

    def write_ahead(self, table: str, batch: Any) -> None:
        self.sink.write_ahead(table, batch)

    def flush(self) -> None:
        self.sink.flush()
        self._reach("flush")

    def _reach(self, step: str) -> None:
        if step == self.step:
            self.sink.flush()
            self.die()
