"""The content of all files that were written: times, hosts and users of their events, to compare answers with."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True)
class FileTruth:
    """The content of a file of ``size`` bytes: each event's time in µs, host and user (-1: none), and the bad lines."""

    path: Path
    number: int
    size: int
    times: IntArray
    hosts: IntArray
    users: IntArray
    bad: tuple[bytes, ...]

    def moved_to(self, path: Path) -> FileTruth:
        """Returns the same file under another path."""
        return replace(self, path=path)


@dataclass(frozen=True)
class Condition:
    """The events that a question is about: those in [since, until) with this host and user; None stands for all."""

    since: int | None = None
    until: int | None = None
    host: int | None = None
    user: int | None = None

    def mark_events(self, file: FileTruth) -> npt.NDArray[np.bool_]:
        """Returns for each event of a file whether the condition holds."""
        marks = np.ones(len(file.times), np.bool_)
        if self.since is not None:
            marks &= file.times >= self.since
        if self.until is not None:
            marks &= file.times < self.until
        if self.host is not None:
            marks &= file.hosts == self.host
        if self.user is not None:
            marks &= file.users == self.user
        return marks


class SourceTruth:
    """The files of one source that were written so far. Threads may share it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._files: dict[int, FileTruth] = {}

    def add_file(self, file: FileTruth) -> None:
        with self._lock:
            self._files[file.number] = file

    @property
    def files(self) -> dict[int, FileTruth]:
        """All files by number, as of now."""
        with self._lock:
            return dict(self._files)

    def count_by_file(self, condition: Condition, numbers: Iterable[int]) -> dict[int, int]:
        """Returns the number of events that fit, for each of the files ``numbers`` that has one."""
        files = self.files
        counts = {number: int(np.count_nonzero(condition.mark_events(files[number]))) for number in numbers}
        return {number: count for number, count in counts.items() if count}

    def count_events(self, condition: Condition, numbers: Iterable[int]) -> int:
        return sum(self.count_by_file(condition, numbers).values())

    def count_by_host(self, condition: Condition, numbers: Iterable[int]) -> dict[int, int]:
        """Returns the number of events that fit for each host that has one, in the files ``numbers``."""
        files = self.files
        return _count_values(files[n].hosts[condition.mark_events(files[n])] for n in numbers)

    def count_over_time(self, condition: Condition, bucket: int, numbers: Iterable[int]) -> dict[int, int]:
        """Returns the number of events that fit for each bucket of ``bucket`` µs that has one, by its start."""
        files = self.files
        return _count_values(files[n].times[condition.mark_events(files[n])] // bucket * bucket for n in numbers)


def _count_values(arrays: Iterable[IntArray]) -> dict[int, int]:
    """Returns how often each value occurs in all arrays together."""
    parts = list(arrays)
    values, counts = np.unique(np.concatenate(parts) if parts else np.zeros(0, np.int64), return_counts=True)
    return dict(zip(values.tolist(), counts.tolist(), strict=True))
