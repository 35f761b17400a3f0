"""Watches folders for files that are complete, by the kernel's notices and by walks.

The kernel's notices (inotify, through watchdog) make it quick; a walk over the folders now and then makes it complete:
it finds the files that were there before, those whose notice was lost, and all files where there are no notices.
"""

from __future__ import annotations

import logging
import os
import queue
import sys
import time
from pathlib import Path

from watchdog.events import FileClosedEvent, FileMovedEvent, FileSystemEvent, FileSystemEventHandler
from watchdog.observers import Observer
from watchdog.observers.api import BaseObserver

from .settling import FileState, Settling, is_log_name, read_state, walk_folders

WALK_SECONDS, BLIND_WALK_SECONDS = 20.0, 2.0
log = logging.getLogger("watchfloor.master")


class FolderWatcher:
    """Watches folders until the end of its context. Not for use by several threads at once."""

    def __init__(self, folders: list[str], settle: float, polling: bool) -> None:
        """``settle``: seconds after which an unchanged file is complete; ``polling`` uses walks only."""
        self._folders = folders
        self._closed: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._observer: BaseObserver | None = None if polling else self._start_observer()
        self._settling = Settling(settle)
        self._next_walk, self._has_walked = 0.0, False

    @property
    def has_notices(self) -> bool:
        """True while the kernel's notices come."""
        return self._observer is not None and self._observer.is_alive()

    def complete_files(self) -> list[FileState]:
        """Returns the files that are complete by now. They are returned again until ``take`` or a change."""
        now = time.monotonic()
        while not self._closed.empty():
            state = read_state(self._closed.get())
            if state is not None:
                self._settling.record_state(state, now, closed=True)
        if now >= self._next_walk:
            self._next_walk = now + (WALK_SECONDS if self.has_notices else BLIND_WALK_SECONDS)
            present = set()
            for state in walk_folders(self._folders):
                present.add(state.path)
                self._settling.record_state(state, now, unchanged=0.0 if self._has_walked else _find_age(state))
            self._settling.forget_others(present)
            self._has_walked = True
        return [state for state in self._settling.complete_files(now) if self._is_unchanged(state, now)]

    def take(self, state: FileState) -> None:
        """Marks a file as handled: it is returned again only if it changes."""
        self._settling.take(state)

    def _is_unchanged(self, state: FileState, now: float) -> bool:
        current = read_state(state.path)
        if current is not None and current != state:
            self._settling.record_state(current, now)
        return current == state

    def _start_observer(self) -> BaseObserver | None:
        """Starts the kernel's notices. Returns None if the system refuses them."""
        observer = _make_observer()
        handler = _ClosedFiles(self._closed, self._folders)
        try:
            for folder in self._folders:
                observer.schedule(handler, folder, recursive=True)
            observer.start()
        except OSError as error:  # most often the limit of watches per user
            log.warning("no notices from the kernel (%s); looking every %.0f s", error, BLIND_WALK_SECONDS)
            return None
        return observer

    def __enter__(self) -> FolderWatcher:
        return self

    def __exit__(self, *_: object) -> None:
        if self._observer is not None:
            self._observer.stop()
            self._observer.join(5)


def _find_age(state: FileState) -> float:
    """Returns the seconds since a file was modified, by the clocks of this machine and of the disk's.

    It tells of files that were there before the master which need not be watched first. Of later ones it is not asked,
    as those clocks may differ.
    """
    return max(0.0, time.time() - state.mtime_ns / 1e9)


def _make_observer() -> BaseObserver:
    if sys.platform == "linux":
        from watchdog.observers.inotify import InotifyObserver

        # Full events: a file moved in from outside the folders is reported as moved, not as one that is being made.
        return InotifyObserver(generate_full_events=True)
    return Observer()


class _ClosedFiles(FileSystemEventHandler):
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
        if inside is not None and all(map(is_log_name, Path(path).relative_to(inside).parts)):
            self._closed.put(path)
