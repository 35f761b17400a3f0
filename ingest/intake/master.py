"""The master watches folders, and queues each file once when it is complete."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from watchfloor.ingest.metrics.master_metrics import MasterMetrics
from watchfloor.ingest.queue.work_queue import ItemProducer, trim_topic
from watchfloor.ingest.records.ledger import OPEN_STATES, Ledger
from watchfloor.schema.errors import InputFileError, OperatorError, UserError
from watchfloor.schema.files.paths import find_path, show_path
from watchfloor.schema.settings.settings import Settings
from watchfloor.store.runtime.metrics_port import serve_metrics
from watchfloor.store.store import Store

from .folder_watcher import FolderWatcher
from .intake import Intake, LostTurn
from .requeue import requeue_lost_items
from .settling import FileState, read_state

SETTLE_SECONDS = 5.0
_TICK_SECONDS = 0.5
_FIRST_WAIT, _LAST_WAIT = 1.0, 20.0
TIDY_SECONDS = 600.0
"""The pause after which the master compares the topic with the ledger again."""
TURN_SECONDS = 10.0
"""The time that a master has to queue a file; then another one takes it for dead and queues the same items."""
log = logging.getLogger("watchfloor.master")


def watch_folders(
    settings: Settings,
    folders: Sequence[str | Path],
    stop: threading.Event,
    *,
    feed: str | None = None,
    settle: float = SETTLE_SECONDS,
    polling: bool = False,
) -> None:
    """Queues the files that appear in folders, until ``stop`` is set.

    Raises ``InputFileError`` if one of ``folders`` cannot be listed. Servers that are down are waited for.

    ``feed`` names the kind of all files; None leaves that to each file's content. ``settle`` and ``polling`` are those
    of ``FolderWatcher``.
    """
    paths = [os.path.realpath(find_path(os.fspath(folder))) for folder in folders]
    for path in paths:
        if not Path(path).is_dir() or not os.access(path, os.R_OK | os.X_OK):
            raise InputFileError(f"{show_path(path)}: not a folder that can be listed; name the folders to watch")
    metrics = MasterMetrics(settings)
    with FolderWatcher(paths, settle, polling) as watcher, serve_metrics(settings, "master", metrics.registry):
        _Master(settings, watcher, stop, feed, metrics).run(", ".join(map(show_path, paths)))


class _Master:
    """Queues the files that a ``FolderWatcher`` returns as complete."""

    def __init__(
        self,
        settings: Settings,
        watcher: FolderWatcher,
        stop: threading.Event,
        feed: str | None,
        metrics: MasterMetrics,
    ) -> None:
        self._settings, self._watcher, self._stop, self._feed = settings, watcher, stop, feed
        self._metrics = metrics
        self._wait = _FIRST_WAIT
        self._turns: dict[str, tuple[bytes, float]] = {}

    def run(self, folders: str) -> None:
        """Queues files until ``stop`` is set, with new connections after each failure of a server."""
        while not self._stop.is_set():
            try:
                with ExitStack() as stack:
                    store = stack.enter_context(Store.open(self._settings))
                    ledger = Ledger(store)
                    stack.callback(ledger.close)
                    producer = stack.enter_context(ItemProducer(self._settings))
                    how = "" if self._watcher.has_notices else " (by looking, without notices)"
                    log.info("watching %s%s", folders, how)
                    self._queue_files(Intake(store, ledger, producer, fenced=True), ledger, producer)
            except OperatorError as error:
                log.error("%s; trying again in %.0f s", error, self._wait)
                self._stop.wait(self._wait)
                self._wait = min(self._wait * 2, _LAST_WAIT)

    def _queue_files(self, intake: Intake, ledger: Ledger, producer: ItemProducer) -> None:
        """Queues files as they become complete, and now and then what the queue has lost."""
        next_tidying = 0.0
        while not self._stop.is_set():
            if time.monotonic() >= next_tidying:
                self._tidy_topic(ledger, producer)
                next_tidying = time.monotonic() + TIDY_SECONDS
            for state in self._watcher.complete_files():
                if self._stop.is_set():
                    return
                if self._queue_file(intake, ledger, state):
                    self._watcher.take(state)
                self._wait = _FIRST_WAIT
            self._stop.wait(_TICK_SECONDS)

    def _tidy_topic(self, ledger: Ledger, producer: ItemProducer) -> None:
        """Queues again what the topic has lost, and deletes from it what is done."""
        lost = requeue_lost_items(self._settings, ledger, producer, ledger.read_rows(OPEN_STATES))
        if lost:
            log.warning("the queue had lost %d work items that the ledger calls queued; they are queued again", lost)
        trim_topic(self._settings)

    def _is_others(self, path: str, cell: bytes, clock: float) -> bool:
        """Returns whether another master is queueing a file, as it began ``TURN_SECONDS`` ago at most."""
        known, since = self._turns.get(path, (b"", clock))
        since = since if known == cell else clock
        self._turns[path] = (cell, since)
        return clock - since < TURN_SECONDS

    def _queue_file(self, intake: Intake, ledger: Ledger, state: FileState) -> bool:
        """Queues a complete file, or records the reason for refusing it; false if it is to be looked at again.

        A file that the ledger has seen in this state is left alone, and so is one that another master is queueing.
        """
        seen, cell = ledger.read_seen_cell(state.path)
        if seen is not None and cell is not None and seen.begun is not None:
            if self._is_others(state.path, cell, time.monotonic()):
                return False
        elif seen is not None and (seen.size, seen.mtime_ns) == (state.size, state.mtime_ns):
            return True
        self._turns.pop(state.path, None)
        try:
            offer = intake.offer_file(state.path, self._feed)
        except LostTurn:
            log.info("%s: another master queues it", show_path(state.path))
            return False
        except UserError as error:
            now = read_state(state.path)
            if now is None:
                log.info("%s: gone before it was queued", show_path(state.path))
            elif (now.size, now.mtime_ns) == (state.size, state.mtime_ns):
                log.warning("refused: %s", error)
                intake.refuse_file(state.path, (state.size, state.mtime_ns), str(error), cell)
                self._metrics.files.labels("refused").inc()
            return True
        for reason in offer.left_out:
            log.warning("left out: %s", reason)
        self._metrics.files.labels("queued" if offer.queued else "known").inc()
        self._metrics.items.inc(len(offer.queued))
        self._metrics.bytes.inc(offer.bytes)
        if offer.queued:
            what = "what was added to it, " if offer.grown else ""
            log.info("%s: queued, %s%d items of %d bytes", show_path(state.path), what, len(offer.queued), offer.bytes)
        else:
            log.info("%s: its content was queued before", show_path(state.path))
        return True
