"""The identity of a process: it tells which process wrote something, and whether that process still runs.

The system uses a pid again after its process has ended. A pid together with the start time of its process is unique.
"""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass

import psutil

_START_TOLERANCE = 1.0
"""Seconds by which two readings of a process's start may differ: the system's clock may have been set in between."""


@dataclass(frozen=True)
class ProcessIdentity:
    """One process of one machine.

    ``started`` is the start time in seconds since 1970 UTC. If it is None, the process is identified by its pid alone.
    """

    host: str
    pid: int
    started: float | None = None

    @classmethod
    def of_pid(cls, pid: int | None = None) -> ProcessIdentity:
        """Returns the identity of a running process of this machine, by default of the current process.

        Raises ``psutil.NoSuchProcess``.
        """
        process = psutil.Process(pid)
        return cls(socket.gethostname(), process.pid, process.create_time())

    @property
    def mark(self) -> str:
        """The text by which names of things tell the process that made them; ``~`` stands between its parts."""
        return f"{self.host}~{self.pid}~{self.started or 0:.0f}"

    @classmethod
    def of_mark(cls, mark: str) -> ProcessIdentity:
        """Returns the process of a ``mark``. Raises ``ValueError``."""
        host, pid, started = mark.split("~")
        return cls(host, int(pid), float(started))

    def find_process(self) -> psutil.Process | None:
        """Returns the process, even if it is a zombie; None if it has ended or the system does not show it.

        The process must be one of this machine.
        """
        try:
            process = psutil.Process(self.pid)
            return process if self._is_same(process) else None
        except psutil.Error:
            return None

    def is_gone(self) -> bool:
        """Returns whether the process has ended. A process of another machine never counts as ended."""
        if self.host != socket.gethostname():
            return False
        try:
            process = psutil.Process(self.pid)
            # A zombie has ended and only waits for its parent to read its exit status.
            return bool(not self._is_same(process) or process.status() == psutil.STATUS_ZOMBIE)
        except psutil.NoSuchProcess:
            return True
        except psutil.AccessDenied:
            return False

    def _is_same(self, process: psutil.Process) -> bool:
        return self.started is None or abs(process.create_time() - self.started) <= _START_TOLERANCE


def name_this_process() -> str:
    """Returns ``host:pid`` of this process, by which its writes are marked."""
    return f"{socket.gethostname()}:{os.getpid()}"
