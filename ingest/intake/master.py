"""The master: watches folders, and queues each file once when it is complete.

The kernel's notices (inotify, through watchdog) make it quick; a walk over the folders now and then makes it complete:
it finds what was there before, what a notice was lost of, and everything where notices are not to be had.
"""

from __future__ import annotations

import logging
import os
import queue
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from watchdog.events import FileClosedEvent, FileMovedEvent, FileSystemEvent, FileSystemEventHandler
from watchdog.observers import Observer
from watchdog.observers.api import BaseObserver

from watchfloor.ingest.queue.work_queue import ItemProducer
from watchfloor.ingest.records.ledger import Ledger
from watchfloor.schema.errors import InputFileError, OperatorError, UserError
from watchfloor.schema.settings.settings import Settings
from watchfloor.store.store import Store

from .folder_watch import Look, Settling, is_wanted, look, walk
from .intake import Intake

SETTLE_SECONDS = 5.0
WALK_SECONDS, BLIND_WALK_SECONDS = 20.0, 2.0
_TICK_SECONDS = 0.5
log = logging.getLogger("watchfloor.master")


def master(
    settings: Settings,
    folders: Sequence[str | Path],
    stop: threading.Event,
    *,
    feed: str | None = None,
    settle: float = SETTLE_SECONDS,
    polling: bool = False,
) -> None:
    """Watches until ``stop``. Raises ``InputFileError`` if a folder is none; servers that are down are waited for.

    ``feed`` says what kind all files are; else each tells by its content. ``polling`` does without notices.
    """
    paths = [os.path.realpath(folder) for folder in folders]
    for path in paths:
        if not Path(path).is_dir() or not os.access(path, os.R_OK | os.X_OK):
            raise InputFileError(f"{path}: not a folder that can be listed; name the folders to watch")
    watch = _Watch(paths, settle, polling)
    wait = 1.0
    with watch:
        while not stop.is_set():
            try:
                with ExitStack() as stack:
                    store = stack.enter_context(Store.open(settings))
                    ledger = Ledger(store)
                    stack.callback(ledger.close)
                    producer = stack.enter_context(ItemProducer(settings))
                    intake = Intake(store, ledger, producer)
                    log.info(
                        "watching %s%s", ", ".join(paths), "" if watch.notices else " (by looking, without notices)"
                    )
                    while not stop.is_set():
                        for found in watch.complete():
                            if stop.is_set():
                                break
                            _take(intake, ledger, found, feed)
                            watch.settling.took(found)
                            wait = 1.0
                        stop.wait(_TICK_SECONDS)
            except OperatorError as error:
                log.error("%s; trying again in %.0f s", error, wait)
                stop.wait(wait)
                wait = min(wait * 2, 20.0)


def _take(intake: Intake, ledger: Ledger, found: Look, feed: str | None) -> None:
    """Queues a complete file, or records why not. A file that the ledger knows as it is is left alone."""
    seen = ledger.seen(found.path)
    if seen is not None and (seen.size, seen.mtime_ns) == (found.size, found.mtime_ns):
        return
    try:
        offer = intake.offer(found.path, feed)
    except UserError as error:
        now = look(found.path)
        if now is None:
            log.info("%s: gone before it was queued", found.path)
        elif (now.size, now.mtime_ns) == (found.size, found.mtime_ns):
            log.warning("refused: %s", error)
            intake.refuse(found.path, found.size, found.mtime_ns, str(error))
        return
    if offer.queued:
        what = "what was added to it, " if offer.grown else ""
        log.info("%s: queued, %s%d items of %d bytes", found.path, what, len(offer.queued), offer.bytes)
    else:
        log.info("%s: its content was queued before", found.path)


class _Watch:
    """Folders, notices and walks."""

    def __init__(self, folders: list[str], settle: float, polling: bool) -> None:
        self._folders = folders
        self._closed: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._observer: BaseObserver | None = None if polling else self._observe()
        self.settling = Settling(settle)
        self._next_walk = 0.0

    @property
    def notices(self) -> bool:
        return self._observer is not None and self._observer.is_alive()

    def complete(self) -> list[Look]:
        """The files that are complete by now."""
        now = time.monotonic()
        while not self._closed.empty():
            path = self._closed.get()
            found = look(path)
            if found is not None:
                self.settling.saw(found, now, closed=True)
        if now >= self._next_walk:
            self._next_walk = now + (WALK_SECONDS if self.notices else BLIND_WALK_SECONDS)
            present = set()
            for found in walk(self._folders):
                present.add(found.path)
                self.settling.saw(found, now)
            self.settling.gone(present)
        return [found for found in self.settling.ready(now) if self._still(found, now)]

    def _still(self, found: Look, now: float) -> bool:
        current = look(found.path)
        if current is not None and current != found:
            self.settling.saw(current, now)
        return current == found

    def _observe(self) -> BaseObserver | None:
        observer = _observer()
        handler = _Closed(self._closed, self._folders)
        try:
            for folder in self._folders:
                observer.schedule(handler, folder, recursive=True)
            observer.start()
        except OSError as error:  # most often the limit of watches per user
            log.warning("no notices from the kernel (%s); looking every %.0f s", error, BLIND_WALK_SECONDS)
            return None
        return observer

    def __enter__(self) -> _Watch:
        return self

    def __exit__(self, *_: object) -> None:
        if self._observer is not None:
            self._observer.stop()
            self._observer.join(5)


def _observer() -> BaseObserver:
    if sys.platform == "linux":
        from watchdog.observers.inotify import InotifyObserver

        # Full events: a file moved in from outside the folders is reported as moved, not as one that is being made.
        return InotifyObserver(generate_full_events=True)
    return Observer()


class _Closed(FileSystemEventHandler):
    """Passes on files that were closed after writing or moved in."""

    def __init__(self, closed: queue.SimpleQueue[str], folders: list[str]) -> None:
        self._closed, self._folders = closed, folders

    def on_any_event(self, event: FileSystemEvent) -> None:
        if isinstance(event, FileClosedEvent):
            path = os.fsdecode(event.src_path)
        elif isinstance(event, FileMovedEvent):
            path = os.fsdecode(event.dest_path)
        else:
            return
        inside = next((f for f in self._folders if path.startswith(f + os.sep)), None)
        if inside is not None and all(map(is_wanted, Path(path).relative_to(inside).parts)):
            self._closed.put(path)
