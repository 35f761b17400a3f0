"""Finds the lines of a plain file that begin with a given text, without splitting the file into lines."""

from __future__ import annotations

import os
from collections.abc import Iterator

_BLOCK_BYTES = 1 << 20
_LINE_BYTES = 64 << 10


def find_line_ends(descriptor: int, beginning: bytes) -> Iterator[int]:
    """Yields the places of the line ends before the lines that begin so. The file may be cut off meanwhile.

    The file is not mapped into memory: whoever cuts a mapped file off kills the process that reads it.
    """
    sought = b"\n" + beginning
    offset, tail = 0, b""
    while block := os.pread(descriptor, _BLOCK_BYTES, offset):
        data = tail + block
        place = data.find(sought)
        while place >= 0:
            yield offset - len(tail) + place
            place = data.find(sought, place + 1)
        offset, tail = offset + len(block), data[1 - len(sought) :]


def find_lines(descriptor: int, beginning: bytes) -> Iterator[bytes]:
    """Yields the lines that begin so, without their ends, but the file's first; of a long one its beginning."""
    for place in find_line_ends(descriptor, beginning):
        yield os.pread(descriptor, _LINE_BYTES, place + 1).partition(b"\n")[0].rstrip(b"\r")
