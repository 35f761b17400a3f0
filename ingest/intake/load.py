"""``load``: queues files, ingests them with workers of its own, and waits for their end.

Other workers may share the items; the ledger shows the end of each.


Iterate over a ``Load`` for its progress; ``result`` is there afterwards.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from functools import cache
from itertools import chain
from pathlib import Path

from watchfloor.ingest.files.scan_ahead import ScanAhead
from watchfloor.ingest.formats.registry import load_formats
from watchfloor.ingest.parsing.format import SniffResult
from watchfloor.ingest.queue.waiting import Waiting, read_waiting_items
from watchfloor.ingest.queue.work_queue import ItemProducer
from watchfloor.ingest.records import long_files
from watchfloor.ingest.records.ledger import Ledger, LedgerRow
from watchfloor.ingest.worker.load_start import LoadStart
from watchfloor.schema.definition import builtin_definitions
from watchfloor.schema.errors import InputFileError, InternalError, OperatorError, StackError
from watchfloor.schema.files.addresses import HDFS
from watchfloor.schema.files.paths import show_path
from watchfloor.schema.settings.settings import Settings
from watchfloor.store.bridge.hadoop_files import prepare_hadoop
from watchfloor.store.runtime.disk_space import read_disk_space
from watchfloor.store.store import Store

from .intake import Intake, Offer
from .ledger_watcher import LedgerWatcher
from .load_result import LoadProgress, LoadResult, file_results
from .log_paths import expand_paths, refuse_files, sum_sizes
from .logs_in_file import sniff_logs_at
from .requeue import requeue_lost_items

_TICK_SECONDS = 0.3
_MAX_DEATHS = 6
_REQUEUE_SECONDS = 60.0
"""The pause between two looks for items of the load that the queue has lost."""
BULK_ITEM = 8, 32
"""The factors by which work items of a bulk load may be longer: if several workers share it, and if one has it alone.
Long items save imports: each costs the servers the same for few events as for many, and leaves files in each tablet."""


class Load:
    """One load of files.

    Raises ``InputFileError`` at once if a file is not there, or if the kind of none is known; with ``is_strict`` if the
    kind of any is not. Raises ``StoreError`` or ``QueueError`` if a server is down at the beginning. Later
    failures of servers are waited for and shown in ``LoadProgress.problem``.
    """

    def __init__(
        self,
        settings: Settings,
        paths: Sequence[str | Path],
        feed: str | None = None,
        *,
        workers: int = 1,
        again: bool = False,
        is_strict: bool = False,
        start: LoadStart | None = None,
    ) -> None:
        """``paths`` may be patterns. ``feed`` names the kind of all files; ``workers`` 0 leaves the work to others.

        ``start`` has so many workers, and may have begun; without one the load makes its own.
        """
        if any(str(path).startswith(HDFS) for path in paths):
            prepare_hadoop(settings)
        self._paths = expand_paths(paths)
        if settings.ingest_mode == "bulk":
            settings = replace(
                settings, item_bytes=bulk_item_bytes(settings.item_bytes, sum_sizes(self._paths), workers)
            )
        self._settings, self._feed, self._workers, self._again = settings, feed, workers, again
        self._is_strict, self._start = is_strict, start
        self._unread: list[str] = []
        self._began, self._since = time.monotonic(), time.time()
        self._result: LoadResult | None = None

    def count_since(self, since: float) -> None:
        """Counts what has ended since ``since`` (epoch seconds) as this load's: another has begun it, and was lost."""
        self._since = since

    @property
    def result(self) -> LoadResult:
        """The totals; there once the iteration has ended."""
        if self._result is None:
            raise InternalError("the load has not ended")
        return self._result

    def __iter__(self) -> Iterator[LoadProgress]:
        with ExitStack() as stack:
            start = stack.enter_context(self._start or LoadStart(self._settings, self._workers))
            start.begin()  # workers start while the files are looked at
            scan_ahead = ScanAhead(self._paths[0], long_files.LONG_BYTES)
            connected = stack.enter_context(_connect_producer(self._settings))
            # Read now, as this thread has to wait for the connections anyway.
            load_formats()
            builtin_definitions()
            store = start.await_store()
            ledger = Ledger(store)
            stack.callback(ledger.close)
            sniffed = self._sniff_files(store)
            total = sum_sizes(list(sniffed))
            offers: list[Offer] = []
            yield self._make_progress("queueing", offers, {}, total)
            _register_sources(store, chain.from_iterable(sniffed.values()))
            producer = connected()
            intake = Intake(store, ledger, producer, scan_ahead=scan_ahead, settings=self._settings)

            @cache
            def waiting() -> Waiting:
                return read_waiting_items(self._settings)

            for path in sniffed:
                yield self._make_progress("queueing", offers, {}, total)
                try:
                    offers.append(intake.offer_file(path, self._feed, again=self._again, waiting=waiting))
                except InputFileError as error:  # it has changed since it was looked at
                    self._unread.append(str(error))
                    continue
                if offers[-1].has_open:
                    start.pool.restart_dead()
            watcher, next_look = LedgerWatcher(self._settings, offers), time.monotonic() + _REQUEUE_SECONDS
            for progress in self._wait_for_items(watcher, start, offers):
                yield progress
                if time.monotonic() > next_look:
                    with suppress(OperatorError):  # the progress says what is down
                        requeue_lost_items(self._settings, ledger, producer, [*watcher.rows.values()])
                    next_look = time.monotonic() + _REQUEUE_SECONDS

    def _wait_for_items(self, watcher: LedgerWatcher, start: LoadStart, offers: list[Offer]) -> Iterator[LoadProgress]:
        """Yields the progress until all items are over, and keeps the load's workers running meanwhile."""
        total = sum(offer.bytes for offer in offers)
        with watcher:
            while not watcher.finished:
                if any(offer.has_open for offer in offers):
                    start.pool.restart_dead()
                if self._workers and start.pool.least_deaths >= _MAX_DEATHS:
                    raise StackError(f"the load's workers die as soon as they start; see {show_path(start.log_file)}")
                yield self._make_progress("loading", offers, watcher.rows, total, self._find_problem(watcher))
                watcher.wait(_TICK_SECONDS)
            seconds = time.monotonic() - self._began
            self._result = LoadResult(file_results(offers, watcher.rows, self._since), seconds, tuple(self._unread))
            yield self._make_progress("done", offers, watcher.rows, total)

    def _sniff_files(self, store: Store) -> dict[str, list[SniffResult]]:
        """Looks at every file before any is queued, and returns the logs in those whose kind is known, by path."""
        sniffed: dict[str, list[SniffResult]] = {}
        left_out: list[str] = []
        for path in self._paths:
            try:
                found = sniff_logs_at(path, self._feed, store.catalog.read_sources())
                sniffed[path] = list(found.logs.values())
                left_out += found.left_out
            except InputFileError as error:
                self._unread.append(str(error))
        if self._is_strict or not sniffed:
            refuse_files([*self._unread, *left_out])
        return sniffed

    def _find_problem(self, watcher: LedgerWatcher) -> str:
        """Returns what the load waits for besides its workers; empty if nothing is wrong."""
        space = read_disk_space(self._settings)
        if space and space.is_low:
            return space.describe()
        return watcher.problem or next((row.reason for row in watcher.rows.values() if row.state == "queued"), "")

    def _make_progress(
        self, phase: str, offers: list[Offer], rows: dict[bytes, LedgerRow], total: int, problem: str = ""
    ) -> LoadProgress:
        items = {item.item_id for offer in offers for item in offer.items}
        own_rows = [row for key, row in rows.items() if key in items]
        done = sum(row.state in ("done", "failed") for row in own_rows)
        return LoadProgress(
            phase,
            sum(row.progress for row in own_rows),
            total,
            sum(row.events for row in own_rows),
            sum(row.quarantined for row in own_rows),
            len(items) - done,
            time.monotonic() - self._began,
            problem,
        )


def _register_sources(store: Store, files: Iterable[SniffResult]) -> None:
    """Registers the sources of many files that the catalog lacks, all at once.

    Fields that a file adds to a known source are registered when the file is offered.
    """
    known = store.catalog.read_sources()
    first = {source.name: source for found in reversed(list(files)) for source in found.sources}
    store.catalog.register_all(source for name, source in first.items() if name not in known)


@contextmanager
def _connect_producer(settings: Settings) -> Iterator[Callable[[], ItemProducer]]:
    """Connects to the queue in a thread of its own; yields how to wait for the connection, which is closed at the end.

    The wait raises ``QueueError``.
    """
    with ThreadPoolExecutor(1, "queue") as pool:
        connecting = pool.submit(ItemProducer, settings)
        try:
            yield connecting.result
        finally:
            if connecting.exception() is None:
                connecting.result().close()


def bulk_item_bytes(item_bytes: int, size: int, workers: int) -> int:
    """Returns the length in bytes that items of a bulk load of ``size`` bytes may have.

    There are two items for each worker, so that all have a share; a worker that is alone need not share.
    """
    shared, alone = (item_bytes * times for times in BULK_ITEM)
    if workers < 2:
        return alone if workers else shared
    return min(max(size // (2 * workers), shared), alone)
