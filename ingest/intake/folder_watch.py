"""When a file in a watched folder is complete: a pure core over what was seen of it, and the walk that sees."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

_TEMPORARY = (".part", ".tmp", ".temp", ".partial", ".filepart", ".crdownload", ".swp", "~")


@dataclass(frozen=True)
class Look:
    """A regular file as it was seen: ``size`` in bytes, ``mtime_ns``."""

    path: str
    size: int
    mtime_ns: int


@dataclass
class _Waiting:
    size: int
    mtime_ns: int
    since: float
    closed: bool


class Settling:
    """Files that wait until they are complete: their writer closed them (or moved them in), or they stayed the same for
    ``seconds``. A file that was taken comes again only if it changes."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._waiting: dict[str, _Waiting] = {}
        self._taken: dict[str, tuple[int, int]] = {}

    def saw(self, look: Look, now: float, closed: bool = False) -> None:
        """``closed``: the look follows a close after writing, or a move. ``now`` in seconds, monotonic."""
        if self._taken.get(look.path) == (look.size, look.mtime_ns):
            return
        waiting = self._waiting.get(look.path)
        if waiting is None or (waiting.size, waiting.mtime_ns) != (look.size, look.mtime_ns):
            self._waiting[look.path] = _Waiting(look.size, look.mtime_ns, now, closed)
        elif closed:
            waiting.closed = True

    def gone(self, present: set[str]) -> None:
        """Forgets files that are no longer among those ``present``."""
        for path in [path for path in self._waiting if path not in present]:
            del self._waiting[path]
        for path in [path for path in self._taken if path not in present]:
            del self._taken[path]

    def ready(self, now: float) -> list[Look]:
        """The complete files, in the order of their names. They stay until ``took`` or a change."""
        return [
            Look(path, w.size, w.mtime_ns)
            for path, w in sorted(self._waiting.items())
            if w.closed or now - w.since >= self._seconds
        ]

    def took(self, look: Look) -> None:
        self._taken[look.path] = (look.size, look.mtime_ns)
        waiting = self._waiting.get(look.path)
        if waiting is not None and (waiting.size, waiting.mtime_ns) == (look.size, look.mtime_ns):
            del self._waiting[look.path]


def is_wanted(name: str) -> bool:
    """Whether a file or folder of this name is to be looked at: hidden and temporary ones are not."""
    return not name.startswith(".") and not name.lower().endswith(_TEMPORARY)


def look(path: str) -> Look | None:
    """A look at a file; None if it is gone, a symbolic link, or anything but a regular file.

    Links are not followed: the same file would come twice, or one from outside the folder.
    """
    try:
        found = os.lstat(path)
    except OSError:
        return None
    return Look(path, found.st_size, found.st_mtime_ns) if stat.S_ISREG(found.st_mode) else None


def walk(folders: Iterable[str]) -> Iterator[Look]:
    """All wanted files in the folders and the folders in them. What cannot be listed is left out."""
    pending = list(folders)
    while pending:
        folder = pending.pop()
        try:
            with os.scandir(folder) as entries:
                found = list(entries)
        except OSError:
            continue
        for entry in found:
            if not is_wanted(entry.name):
                continue
            if entry.is_dir(follow_symlinks=False):
                pending.append(entry.path)
            elif (seen := look(entry.path)) is not None:
                yield seen
