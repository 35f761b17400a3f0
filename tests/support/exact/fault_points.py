"""Workers, retries and compactions that die between two steps, and the definition by which each item was read.

Death is an exception that no code under test handles: what was durable stays, nothing else is done. It differs from a
killed process in that the process's threads and connections are closed; ``test_ingest_crash.py`` kills processes.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from watchfloor.ingest.maintenance import retry
from watchfloor.ingest.queue.item import WorkItem
from watchfloor.ingest.reading import item_reader
from watchfloor.ingest.reading.item_reader import ItemReader, ReadTask
from watchfloor.ingest.records.definitions import SourceResolver
from watchfloor.ingest.records.ledger import ItemEnd, ItemRun, Ledger
from watchfloor.ingest.records.quarantine import RETRIED, Quarantine
from watchfloor.ingest.worker import claim
from watchfloor.ingest.worker.worker import run_worker
from watchfloor.schema.settings.settings import Settings
from watchfloor.schema.source import Source
from watchfloor.store.layouts.block import block_encoder
from watchfloor.store.layouts.cell import cell_encoder
from watchfloor.store.layouts.item_writer import WriteSink

READING_STEPS = (
    *("event", "index", "aggregate", "ahead", "sightings", "flushed", "swept", "sightings_swept", "counts_swept"),
    *("read", "ended"),
)
"""What a reading has done last when it dies: durable events, index entries, counts, records of sightings, sightings;
all durable; stale cells or blocks removed; stale sightings removed; stale counts removed; all of it; its end in the
ledger."""
RETRY_STEPS = ("claimed", "written", "half_marked")


class Killed(BaseException):
    """The death of a worker, a retry or a compaction."""


@dataclass
class Fault:
    """A death at the ``skip``-th time that ``step`` is reached; ``change`` is called right before it."""

    step: str
    skip: int = 0
    change: Callable[[], None] = lambda: None
    deadly: bool = True


@dataclass
class FaultPoints:
    """The faults that are still to happen, in their order, and what was seen of readings and retries."""

    faults: list[Fault] = field(default_factory=list)
    read_by: dict[bytes, tuple[WorkItem, Source | None]] = field(default_factory=dict)
    """By item identity, the item and the definition by which it was read last."""
    retried: list[bytes] = field(default_factory=list)
    """The identities of the items that the last retry has begun with."""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def reach(self, step: str, before: Callable[[], None] = lambda: None) -> None:
        """Dies here if the next fault is of this step; ``before`` is called first."""
        with self._lock:
            if not self.faults or self.faults[0].step != step:
                return
            if self.faults[0].skip:
                self.faults[0].skip -= 1
                return
            fault = self.faults.pop(0)
        before()
        fault.change()
        if fault.deadly:
            raise Killed(step)


@dataclass(frozen=True)
class _Sink:
    """A sink that dies after it has written entries of a table, durably."""

    sink: WriteSink
    points: FaultPoints

    def write_rows(self, table: str, batch: Any) -> None:
        self.sink.write_rows(table, batch)
        self.points.reach(table.rpartition(".")[2], self.sink.flush)

    def write_entries(self, table: str, batch: Any) -> None:
        self.sink.write_entries(table, batch)
        self.points.reach(table.rpartition(".")[2], self.sink.flush)

    def write_ahead(self, table: str, batch: Any) -> None:
        self.sink.write_ahead(table, batch)
        self.points.reach("ahead")

    def flush(self) -> None:
        self.sink.flush()
        self.points.reach("flushed")


def put_fault_points(patch: pytest.MonkeyPatch, name: str) -> FaultPoints:
    """Puts fault points into readings and retries of the source ``name``."""
    points = FaultPoints()
    _put_reading_points(patch, points, name)
    _put_retry_points(patch, points)
    # The dead give no sign of life, and nobody else is at work.
    patch.setattr(claim, "STALE_SECONDS", -1.0)
    return points


def _put_reading_points(patch: pytest.MonkeyPatch, points: FaultPoints, name: str) -> None:
    read, parse_chunks, write_end_of = ItemReader.read, ItemReader._parse_chunks, Ledger.write_end_of
    reading = threading.local()

    def read_dying(reader: ItemReader, task: ReadTask) -> ItemEnd:
        return read(reader, replace(task, event_sink=_Sink(task.events_to, points)))

    def parse_noting(reader: ItemReader, task: ReadTask, file: Any, content: Any) -> Any:
        reading.item = task.item  # a generator runs in the thread that reads ahead
        yield from parse_chunks(reader, task, file, content)

    class NotingResolver(SourceResolver):
        def __init__(self, store: Any) -> None:
            super().__init__(store)
            if item := getattr(reading, "item", None):
                points.read_by[item.item_id] = item, self._known.get(name)

    def end_dying(ledger: Ledger, item: WorkItem, run: ItemRun, end: ItemEnd) -> bool:
        points.reach("read")
        done = write_end_of(ledger, item, run, end)
        points.reach("ended")
        return done

    patch.setattr(ItemReader, "read", read_dying)
    patch.setattr(ItemReader, "_parse_chunks", parse_noting)
    patch.setattr(item_reader, "SourceResolver", NotingResolver)
    patch.setattr(Ledger, "write_end_of", end_dying)
    for encoder in (cell_encoder, block_encoder):
        for function, *steps in (
            ("remove_stale_sightings", "swept", "sightings_swept"),
            ("remove_stale_counts", "", "counts_swept"),
        ):
            _put_points_around(patch, points, encoder, function, *steps)


def _put_points_around(patch: pytest.MonkeyPatch, points: FaultPoints, module: Any, name: str, *steps: str) -> None:
    """Puts fault points before and after a function of a module."""
    function = getattr(module, name)

    def run_dying(*args: Any) -> None:
        points.reach(steps[0])
        function(*args)
        points.reach(steps[1])

    patch.setattr(module, name, run_dying)


def _put_retry_points(patch: pytest.MonkeyPatch, points: FaultPoints) -> None:
    retry_item, claim_lines = retry._Retry._retry_item, Quarantine.claim_lines
    write_events, close_lines = retry._Retry._write_events, Quarantine.close_lines

    def retry_noting(running: Any, item_id: bytes, *args: Any) -> None:
        points.retried.append(item_id)
        retry_item(running, item_id, *args)

    def claim_dying(*args: Any) -> None:
        claim_lines(*args)
        points.reach("claimed")

    def write_dying(*args: Any, **options: Any) -> bool:
        written = write_events(*args, **options)
        points.reach("written")
        return written

    def close_dying(quarantine: Quarantine, sink: Any, lines: Any, state: str) -> None:
        lines = list(lines)
        if state == RETRIED and points.faults and points.faults[0].step == "half_marked":
            half = len(lines) // 2
            close_lines(quarantine, sink, lines[:half], state)
            sink.flush()
            points.reach("half_marked")
            lines = lines[half:]
        close_lines(quarantine, sink, lines, state)

    patch.setattr(retry._Retry, "_retry_item", retry_noting)
    patch.setattr(Quarantine, "claim_lines", claim_dying)
    patch.setattr(retry._Retry, "_write_events", write_dying)
    patch.setattr(Quarantine, "close_lines", close_dying)


@contextmanager
def mortal_worker(settings: Settings) -> Iterator[None]:
    """Runs a worker in this process; another one takes its place when it dies."""
    stop = threading.Event()

    def run() -> None:
        while not stop.is_set():
            try:
                run_worker(settings, stop)
            except Killed:
                continue

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
