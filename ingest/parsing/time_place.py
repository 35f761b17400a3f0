"""The place of the event's time in a line. A replay of a log replaces the time there, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from watchfloor.ingest.columns.scalars import Unfit


@dataclass(frozen=True)
class TimePlace:
    """``line[start:end]`` is the text of a time, which is ``micros`` microseconds since 1970 UTC."""

    start: int
    end: int
    micros: int


class TimeFinder(Protocol):
    """Finds the time in each line of a file. It is called with the lines in their order, header lines too."""

    def find_time(self, line: bytes) -> TimePlace | None:
        """Returns where the time stands in a line without its line end; None if the line has no time."""


class NoTimeFinder:
    """Finds no time in any line: for a file of which no source is known."""

    def find_time(self, line: bytes) -> TimePlace | None:
        return None


def read_time_place(line: bytes, start: int, end: int, parse: Callable[[str], int]) -> TimePlace | None:
    """Returns the place of the time in ``line[start:end]``; None if that text is no time."""
    try:
        return TimePlace(start, end, parse(line[start:end].decode()))
    except (Unfit, UnicodeDecodeError):
        return None
