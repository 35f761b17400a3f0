"""Decides when a file in a watched folder is complete, and walks the folders."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from watchfloor.ingest.files.open_file import stat_log_file

_TEMPORARY = (".part", ".tmp", ".temp", ".partial", ".filepart", ".crdownload", ".swp", "~")


@dataclass(frozen=True)
class FileState:
    """A regular file as it was at some moment: its path, size in bytes and time of modification in ns."""

    path: str
    size: int
    mtime_ns: int


@dataclass
class _Waiting:
    """A file that waits; ``since`` is the monotonic time from which on it has been in this state."""

    size: int
    mtime_ns: int
    since: float
    closed: bool


class Settling:
    """The files that wait until they are complete.

    A file is complete when its writer has closed it (or moved it in), or when it has not changed for ``seconds``. A
    file that was taken waits again only after a change.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._waiting: dict[str, _Waiting] = {}
        self._taken: dict[str, tuple[int, int]] = {}

    def record_state(self, state: FileState, now: float, closed: bool = False, unchanged: float = 0.0) -> None:
        """Records the state of a file.

        ``closed``: the file was just closed after writing, or moved in. ``unchanged`` are the seconds for which it is
        known to be as it is. ``now`` is monotonic.
        """
        if self._taken.get(state.path) == (state.size, state.mtime_ns):
            return
        waiting = self._waiting.get(state.path)
        if waiting is None or (waiting.size, waiting.mtime_ns) != (state.size, state.mtime_ns):
            self._waiting[state.path] = _Waiting(state.size, state.mtime_ns, now - unchanged, closed)
        elif closed:
            waiting.closed = True

    def forget_others(self, present: set[str]) -> None:
        """Forgets files that are no longer among those ``present``."""
        for path in [path for path in self._waiting if path not in present]:
            del self._waiting[path]
        for path in [path for path in self._taken if path not in present]:
            del self._taken[path]

    def complete_files(self, now: float) -> list[FileState]:
        """Returns the complete files, in the order of their names. They stay until ``take`` or a change."""
        return [
            FileState(path, w.size, w.mtime_ns)
            for path, w in sorted(self._waiting.items())
            if w.closed or now - w.since >= self._seconds
        ]

    def take(self, state: FileState) -> None:
        """Marks a file as handled in this state; it does not wait again unless it changes."""
        self._taken[state.path] = (state.size, state.mtime_ns)
        waiting = self._waiting.get(state.path)
        if waiting is not None and (waiting.size, waiting.mtime_ns) == (state.size, state.mtime_ns):
            del self._waiting[state.path]


def is_log_name(name: str) -> bool:
    """Returns false for the name of a hidden or temporary file or folder, which is left out."""
    return not name.startswith(".") and not name.lower().endswith(_TEMPORARY)


def read_state(path: str) -> FileState | None:
    """Returns the state of a file; None if it is gone, behind a symbolic link, or anything but a regular file.

    Links are not followed, because they could bring the same file twice or a file from outside the folder.
    """
    found = stat_log_file(path)
    return FileState(path, found.st_size, found.st_mtime_ns) if found is not None else None


def walk_folders(folders: Iterable[str]) -> Iterator[FileState]:
    """Iterates over the log files in folders and all folders in them. A folder that cannot be listed is left out."""
    pending = list(folders)
    while pending:
        folder = pending.pop()
        try:
            with os.scandir(folder) as entries:
                found = list(entries)
        except OSError:
            continue
        for entry in found:
            if not is_log_name(entry.name):
                continue
            if entry.is_dir(follow_symlinks=False):
                pending.append(entry.path)
            elif (seen := read_state(entry.path)) is not None:
                yield seen
