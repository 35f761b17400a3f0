"""Tells whether the files of the code that runs have changed since the process started."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

_TRUST_SECONDS = 1.0
_Signature = frozenset[tuple[str, int, int]]


class CodeState:
    """The files of the code of some ``rooms`` as they were when this was made."""

    def __init__(self, rooms: Sequence[str], folder: Path = Path(__file__).parents[2]) -> None:
        """``folder`` has the folders of the rooms."""
        self._rooms, self._folder = rooms, folder
        self._known = self._sign_files()
        self._checked = time.monotonic()
        self._is_old = False

    @property
    def is_old(self) -> bool:
        """True once a file has changed, come or gone: the code that runs is not what a new process would run."""
        if not self._is_old and time.monotonic() - self._checked > _TRUST_SECONDS:
            self._is_old = self._sign_files() != self._known
            self._checked = time.monotonic()
        return self._is_old

    def _sign_files(self) -> _Signature:
        """Returns the path, the time of the last change and the size of each file of code."""
        return frozenset(sign for room in self._rooms for sign in _sign_folder(str(self._folder / room)))


def _sign_folder(folder: str) -> Iterator[tuple[str, int, int]]:
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.name.endswith((".py", ".lark")):
                    status = entry.stat()
                    yield entry.path, status.st_mtime_ns, status.st_size
                elif "." not in entry.name and entry.name not in ("__pycache__", "java") and entry.is_dir():
                    yield from _sign_folder(entry.path)
    except OSError:
        return  # a folder that vanishes shows by the files that are missing
