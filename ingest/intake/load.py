"""``load``: queue files, ingest them with workers of its own beside any others, and wait by the ledger.

Iterate over a ``Load`` for its progress; ``result`` is there afterwards. Nothing is queued unless all files can be.
"""

from __future__ import annotations

import glob
import os
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from watchfloor.ingest.files.file_scan import open_regular
from watchfloor.ingest.parsing.format import SniffResult
from watchfloor.ingest.queue.work_queue import ItemProducer
from watchfloor.ingest.records.ledger import Ledger, LedgerRow
from watchfloor.ingest.worker.pool import Pool
from watchfloor.schema.errors import InputFileError, InternalError, StackError, WatchfloorError
from watchfloor.schema.settings.settings import Settings
from watchfloor.store.store import Store

from .intake import Intake, Offer

_TICK_SECONDS = 0.3
_LEDGER_SECONDS = (0.1, 0.7)
"""How long until the ledger is read again: a little longer each time, so that a short load ends as soon as it is done.
"""
_SILENT_SECONDS = 6.0
_MAX_DEATHS = 6
BULK_ITEM = 8, 32
"""How much longer the work items of a load in bulk mode may be: if others share it, and if they need not. An import
costs the servers the same for few events as for many, leaves files in each tablet, and is waited for."""


@dataclass(frozen=True)
class Progress:
    """How far a load is. ``lag`` counts its items that are not done; ``problem`` is what it waits for, if anything."""

    phase: str
    bytes: int
    total_bytes: int
    events: int
    quarantined: int
    lag: int
    seconds: float
    problem: str = ""


@dataclass(frozen=True)
class FileResult:
    """What became of one file. ``skipped``: all of it had been loaded before. ``failed`` holds reasons of items that
    failed. lines = events + quarantined."""

    path: str
    items: int
    bytes: int
    events: int
    quarantined: int
    entries: int
    skipped: bool
    failed: tuple[str, ...]

    @property
    def lines(self) -> int:
        return self.events + self.quarantined


@dataclass(frozen=True)
class LoadResult:
    files: tuple[FileResult, ...]
    seconds: float

    @property
    def bytes(self) -> int:
        return sum(f.bytes for f in self.files)

    @property
    def events(self) -> int:
        return sum(f.events for f in self.files)

    @property
    def quarantined(self) -> int:
        return sum(f.quarantined for f in self.files)

    @property
    def lines(self) -> int:
        return self.events + self.quarantined

    @property
    def entries(self) -> int:
        return sum(f.entries for f in self.files)

    @property
    def failed(self) -> tuple[str, ...]:
        return tuple(reason for f in self.files for reason in f.failed)

    @property
    def clean(self) -> bool:
        """Whether every line became an event."""
        return not self.quarantined and not self.failed


class Load:
    """One load. Raises ``InputFileError`` at once if any file cannot be loaded, ``StoreError`` or ``QueueError`` if a
    server is down at the beginning; later failures of servers are waited for and shown in ``Progress.problem``."""

    def __init__(
        self,
        settings: Settings,
        paths: Sequence[str | Path],
        feed: str | None = None,
        *,
        workers: int = 1,
        again: bool = False,
    ) -> None:
        """``paths`` may be patterns. ``feed`` names the kind of all files; ``workers`` 0 leaves the work to others."""
        self._paths = expand(paths)
        if settings.ingest_mode == "bulk":
            settings = replace(settings, item_bytes=bulk_item_bytes(settings.item_bytes, _total(self._paths), workers))
        self._settings, self._feed, self._workers, self._again = settings, feed, workers, again
        self._began = time.monotonic()
        self._result: LoadResult | None = None

    @property
    def result(self) -> LoadResult:
        """The totals; there once the iteration has ended."""
        if self._result is None:
            raise InternalError("the load has not ended")
        return self._result

    @property
    def log_file(self) -> Path:
        """Where the load's own workers write."""
        return self._settings.home / "log" / "load.log"

    def __iter__(self) -> Iterator[Progress]:
        with ExitStack() as stack:
            store = stack.enter_context(Store.open(self._settings))
            ledger = Ledger(store)
            stack.callback(ledger.close)
            producer = stack.enter_context(ItemProducer(self._settings))
            intake = Intake(store, ledger, producer)
            found = _check(intake, self._paths, self._feed)
            total = _total(self._paths)
            pool = stack.enter_context(Pool(self._settings, self._workers, self.log_file))
            offers: list[Offer] = []
            yield self._progress("queueing", offers, {}, total)
            intake.register(found)
            for path in self._paths:
                yield self._progress("queueing", offers, {}, total)
                offers.append(intake.offer(path, self._feed, again=self._again, all_open=True))
                if offers[-1].queued:
                    pool.watch()
            yield from self._wait(_Watcher(self._settings, offers), pool, offers)

    def _wait(self, watcher: _Watcher, pool: Pool, offers: list[Offer]) -> Iterator[Progress]:
        total = sum(offer.bytes for offer in offers)
        with watcher:
            while not watcher.finished:
                if any(offer.queued for offer in offers):
                    pool.watch()
                if self._workers and pool.deaths >= _MAX_DEATHS:
                    raise StackError(f"the load's workers die as soon as they start; see {self.log_file}")
                yield self._progress("loading", offers, watcher.rows, total, watcher.problem)
                watcher.wait(_TICK_SECONDS)
            self._result = LoadResult(
                tuple(_file_result(offer, watcher.rows) for offer in offers), time.monotonic() - self._began
            )
            yield self._progress("done", offers, watcher.rows, total)

    def _progress(
        self, phase: str, offers: list[Offer], rows: dict[bytes, LedgerRow], total: int, problem: str = ""
    ) -> Progress:
        items = {item.item_id for offer in offers for item in offer.items}
        mine = [row for key, row in rows.items() if key in items]
        done = sum(row.state in ("done", "failed") for row in mine)
        return Progress(
            phase,
            sum(row.progress for row in mine),
            total,
            sum(row.events for row in mine),
            sum(row.quarantined for row in mine),
            len(items) - done,
            time.monotonic() - self._began,
            problem,
        )


def bulk_item_bytes(item_bytes: int, size: int, workers: int) -> int:
    """How long the items of a bulk load of ``size`` bytes may be, in bytes: two for each worker, so that all have their
    share; who works alone need not share."""
    shared, alone = (item_bytes * times for times in BULK_ITEM)
    if workers < 2:
        return alone if workers else shared
    return min(max(size // (2 * workers), shared), alone)


def _total(paths: Sequence[str]) -> int:
    return sum(Path(path).stat().st_size for path in paths)


class _Watcher:
    """Reads the ledger in a thread of its own, so that a store that hangs does not stop the progress."""

    def __init__(self, settings: Settings, offers: Sequence[Offer]) -> None:
        self._settings = settings
        self._wanted = {item.item_id: item for offer in offers for item in offer.items}
        self._queued = {item.item_id for offer in offers for item in offer.queued}
        self._stop = threading.Event()
        self._news = threading.Event()
        self._error = ""
        self._heard = time.monotonic()
        self._thread = threading.Thread(target=self._run, name="ledger-watcher", daemon=True)
        self.rows: dict[bytes, LedgerRow] = {}
        self.finished = not self._wanted

    @property
    def problem(self) -> str:
        if self._error:
            return self._error
        if time.monotonic() - self._heard > _SILENT_SECONDS:
            return "the store does not answer; the load goes on when it does (see `watchfloor status`)"
        return ""

    def wait(self, seconds: float) -> None:
        self._news.wait(seconds)
        self._news.clear()

    def _run(self) -> None:
        wait, (pause, longest) = 1.0, _LEDGER_SECONDS
        while not self._stop.is_set() and not self.finished:
            try:
                with Store.open(self._settings) as store:
                    while not self._stop.is_set() and not self.finished:
                        self._look(Ledger(store))
                        self._error, self._heard, wait = "", time.monotonic(), 1.0
                        self._news.set()
                        self._stop.wait(pause)
                        pause = min(pause * 1.2, longest)
            except WatchfloorError as error:
                self._error = f"{error}; trying again"
                self._stop.wait(wait)
                wait = min(wait * 2, 15.0)

    def _look(self, ledger: Ledger) -> None:
        open_files = {item.file_id for key, item in self._wanted.items() if not self._is_over(key)}
        for row in ledger.of_files(open_files):
            if row.item is not None and row.item.item_id in self._wanted:
                self.rows[row.item.item_id] = row
        self.finished = all(map(self._is_over, self._wanted))

    def _is_over(self, key: bytes) -> bool:
        row, item = self.rows.get(key), self._wanted[key]
        if row is None or row.end is None:
            return False
        if row.state == "running":
            return False
        return key not in self._queued or row.end.ticket == item.ticket or (row.end.state == "done" and not item.again)

    def __enter__(self) -> _Watcher:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join(2)


def expand(paths: Sequence[str | Path]) -> tuple[str, ...]:
    """The files that paths and patterns name, each once. Raises ``InputFileError`` naming all that cannot be read."""
    found: dict[str, None] = {}
    problems = []
    for path in paths:
        given = os.fspath(path)
        names = [given]
        if glob.has_magic(given) and not os.path.lexists(given):
            names = sorted(glob.glob(given, recursive=True))  # noqa: PTH207 - a pattern may be absolute
        if not names:
            problems.append(f"{given}: no file fits this pattern")
        for name in names:
            try:
                open_regular(name).close()
                found[os.path.realpath(name)] = None
            except InputFileError as error:
                problems.append(str(error))
    if problems:
        raise InputFileError("; ".join(problems))
    if not found:
        raise InputFileError("no files were named")
    return tuple(found)


def _check(intake: Intake, paths: Sequence[str], feed: str | None) -> list[SniffResult]:
    """Looks at every file before any is queued."""
    problems, found = [], []
    for path in paths:
        try:
            found.append(intake.sniffed(path, feed))
        except InputFileError as error:
            problems.append(str(error))
    if problems:
        raise InputFileError("; ".join(problems))
    return found


def _file_result(offer: Offer, rows: dict[bytes, LedgerRow]) -> FileResult:
    mine = [rows[item.item_id] for item in offer.items if item.item_id in rows]
    return FileResult(
        offer.path,
        len(offer.items),
        offer.bytes,
        sum(row.events for row in mine),
        sum(row.quarantined for row in mine),
        sum(row.entries for row in mine),
        not offer.queued,
        tuple(
            f"{row.path}: {row.reason}" if row.path not in row.reason else row.reason
            for row in mine
            if row.state == "failed"
        ),
    )
