"""The identity of a process: it tells which process wrote something, and whether that process still lives.

The system gives a pid out again. A pid and the time at which its process started together name one process for ever.
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
    """One process of one machine. ``started``: seconds since 1970 UTC; None if unknown, then the pid alone counts."""

    host: str
    pid: int
    started: float | None = None

    @classmethod
    def of_pid(cls, pid: int | None = None) -> ProcessIdentity:
        """Returns the identity of a living process of this machine, by default of this one.

        Raises ``psutil.NoSuchProcess``.
        """
        process = psutil.Process(pid)
        return cls(socket.gethostname(), process.pid, process.create_time())

    def find_process(self) -> psutil.Process | None:
        """Returns the process of this machine, be it a zombie; None if it has ended or the system does not tell."""
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
            # A zombie does nothing any more: it waits for its parent to read its exit status.
            return bool(not self._is_same(process) or process.status() == psutil.STATUS_ZOMBIE)
        except psutil.NoSuchProcess:
            return True
        except psutil.AccessDenied:
            return False

    def _is_same(self, process: psutil.Process) -> bool:
        return self.started is None or abs(process.create_time() - self.started) <= _START_TOLERANCE


def name_this_process() -> str:
    """Returns ``host:pid`` of this process, with which it signs what it writes."""
    return f"{socket.gethostname()}:{os.getpid()}"
