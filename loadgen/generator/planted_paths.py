"""Plants values of ``path`` that no other event has into a file of generated events, for filters with known hits."""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO

SINGLE_PATH, SPREAD_PATH = "/da/needle.zip", "/da/thread.zip"
"""The planted paths. They sort between the least and the greatest generated path, so that no bounds of a column exclude
them."""
PLANTED_PATTERN = r"/[a-z]+/(needle|thr[a-z]+)\.zip$"
"""A regular expression that matches both planted paths and no other."""
SPREAD_INTERVAL = 16_384
"""Events between two occurrences of ``SPREAD_PATH``: a full block."""

_MEMBER = b'"path":"'


def plant_paths(path: Path, events: int) -> int:
    """Gives ``SINGLE_PATH`` to an event in the middle and ``SPREAD_PATH`` to one in about every ``SPREAD_INTERVAL``.

    The lines keep their length: white space after the new value fills the rest. Returns the number of ``SPREAD_PATH``.
    """
    count = max(1, events // SPREAD_INTERVAL)
    size = path.stat().st_size
    with path.open("r+b") as file:
        _plant_path(file, size // 2, SINGLE_PATH)
        for i in range(count):
            _plant_path(file, size * (2 * i + 1) // (2 * count), SPREAD_PATH)
    return count


def _plant_path(file: BinaryIO, offset: int, value: str) -> None:
    """Replaces the path of the first line after ``offset`` whose path is long enough and not planted."""
    file.seek(offset)
    file.readline()
    while True:
        begin = file.tell()
        line = file.readline()
        start = line.index(_MEMBER) + len(_MEMBER)
        stop = line.index(b'"', start)
        old = line[start:stop].decode()
        if len(old) >= len(value) and old not in (SINGLE_PATH, SPREAD_PATH):
            break
    file.seek(begin + start)
    file.write(f'{value}"'.ljust(len(old) + 1).encode())
