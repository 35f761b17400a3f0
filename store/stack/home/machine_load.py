"""Tells how busy the machine is with other work than that of some processes, and when a service was last asked."""

from __future__ import annotations

import time
from collections.abc import Iterable
from contextlib import suppress

import psutil

from watchfloor.schema.settings.settings import Settings

from .home_folder import QUERY_LOG

_IDLE = ("idle", "iowait", "guest", "guest_nice")
"""Times in which a core does nothing, and those that the system counts under other names, too."""


class MachineLoad:
    """Counts the busy cores of the machine, those of other users' processes and of the system included."""

    def __init__(self) -> None:
        self._at, self._busy, self._own = time.monotonic(), _read_busy_seconds(), dict[int, float]()

    def count_busy(self, own: Iterable[psutil.Process] = ()) -> float:
        """Returns how many cores were busy on average since the last call, without what the processes ``own`` took.

        What a process took counts as own if it was among ``own`` in the last call, too.
        """
        at, busy = time.monotonic(), _read_busy_seconds()
        seconds = {}
        for process in own:
            with suppress(psutil.Error):
                times = process.cpu_times()
                seconds[process.pid] = times.user + times.system
        taken = sum(spent - self._own[pid] for pid, spent in seconds.items() if pid in self._own)
        passed = max(at - self._at, 1e-3)
        others = max(0.0, busy - self._busy - taken) / passed
        self._at, self._busy, self._own = at, busy, seconds
        return others


def read_last_query(settings: Settings) -> float:
    """Returns when a service of this stack last answered a query, in epoch seconds; 0 if none did."""
    try:
        return (settings.home / QUERY_LOG).stat().st_mtime
    except OSError:
        return 0.0


def _read_busy_seconds() -> float:
    """Returns the seconds for which all cores together were busy since the machine was started."""
    times = psutil.cpu_times()._asdict()
    return float(sum(seconds for name, seconds in times.items() if name not in _IDLE))
