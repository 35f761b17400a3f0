"""The room that is left where a stack keeps its data, against the reserve that ingest leaves free (``disk_reserve``).

A full disk ends Kafka first and then every other server. So workers pause before it is full: the reserve is for what
goes on meanwhile, as compactions, write-ahead logs of entries that are under way, and logs of servers.
"""

from __future__ import annotations

import logging
import shutil
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from watchfloor.schema.errors import NoRoomError
from watchfloor.schema.files.paths import show_path
from watchfloor.schema.settings.settings import Settings

_LOOK_SECONDS = 0.5
_MORE_TO_RESUME = 16
"""A worker that has paused goes on once the reserve and a 16th of it are free, so that it does not stop at once."""


@dataclass(frozen=True)
class DiskSpace:
    """The bytes that are ``free`` on the file system of ``folder``, and the ``reserve`` that should be."""

    folder: Path
    free: int
    reserve: int

    @property
    def is_low(self) -> bool:
        """True if ingest pauses."""
        return self.free < self.reserve

    @property
    def has_recovered(self) -> bool:
        """True if there is room enough for ingest that has paused to go on."""
        return self.free >= self.reserve + self.reserve // _MORE_TO_RESUME

    def describe(self) -> str:
        """Returns how much room is left, what follows from it, and the remedy; for a disk that is low."""
        return f"the disk of {show_path(self.folder)} is nearly full: {self.describe_room()}"

    def check_room(self, size: int) -> None:
        """Raises ``NoRoomError`` if less than the reserve would be free once ``size`` bytes are written."""
        if self.free - size < self.reserve:
            needed = f", {size >> 20:,} MiB are to be written" if size >> 20 else ""
            raise NoRoomError(
                f"the disk of {show_path(self.folder)} is nearly full: {self.free >> 20:,} MiB are free{needed}, and "
                f"{self.reserve >> 20:,} MiB (disk_reserve) must stay free: free some space, then try again"
            )

    def describe_room(self) -> str:
        """Returns what ``describe`` says, without the folder."""
        return (
            f"{self.free >> 20:,} MiB are free, ingest pauses below {self.reserve >> 20:,} MiB (disk_reserve); nothing "
            "is lost, and it goes on by itself when there is room: free some space"
        )


def read_disk_space(settings: Settings) -> DiskSpace | None:
    """Returns the room for the local stack's data, workers' files for bulk imports included; None without such a stack.

    The disks of a cluster are not looked at: its own operators watch them. Raises ``OSError``.
    """
    if not (settings.is_accumulo_local or settings.is_kafka_local):
        return None
    return DiskSpace(settings.home, count_free_bytes(settings.home), settings.disk_reserve)


def count_free_bytes(home: Path) -> int:
    """Returns the bytes that are free for a stack's folder, which need not exist yet. Raises ``OSError``.

    Its data may lie on another file system than the rest; the one with less room counts.
    """
    places = [next(path for path in (folder, *folder.parents) if path.exists()) for folder in (home, home / "data")]
    return min(shutil.disk_usage(place).free for place in places)


class DiskGuard:
    """Tells a worker when to pause, and logs when that begins and ends. Threads may share it."""

    def __init__(self, settings: Settings, log: logging.Logger) -> None:
        self._settings, self._log = settings, log
        self._lock = threading.Lock()
        self._is_low = False

    @property
    def is_low(self) -> bool:
        """True from when ``has_room`` has found too little until it has found enough."""
        return self._is_low

    def has_room(self) -> bool:
        """Returns whether ingest may write now."""
        with self._lock:
            space = read_disk_space(self._settings)
            if space is None:
                return True
            if self._is_low and space.has_recovered:
                self._is_low = False
                self._log.warning("there is room on the disk again (%s MiB): going on", f"{space.free >> 20:,}")
            elif not self._is_low and space.is_low:
                self._is_low = True
                self._log.warning("pausing: %s", space.describe())
            return not self._is_low

    def await_room(self, stop: threading.Event, beat: Callable[[], None] = lambda: None) -> None:
        """Returns when there is room, or when ``stop`` is set; calls ``beat`` about twice a second meanwhile."""
        while not self.has_room() and not stop.wait(_LOOK_SECONDS):
            beat()
