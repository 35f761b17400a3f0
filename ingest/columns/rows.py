"""Holds lines of a chunk as positions in its bytes, and cuts columns out of them without an object per line."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from watchfloor.ingest.files.lines import Chunk, RejectedLine
from watchfloor.schema.errors import InternalError

Positions = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

_MARK = b"\xef\xbb\xbf"  # the byte order mark, with which some Windows tools begin a UTF-8 file
NEWLINE, RETURN, SPACE, TAB = 10, 13, 32, 9


@dataclass(frozen=True)
class Rows:
    """Lines without their line ends: line i is ``data[starts[i]:ends[i]]``, at ``base + starts[i]`` of the file."""

    data: bytes
    base: int
    starts: Positions
    ends: Positions

    def __len__(self) -> int:
        return len(self.starts)

    @cached_property
    def octets(self) -> npt.NDArray[np.uint8]:
        """The bytes of the chunk as numbers."""
        return np.frombuffer(self.data, np.uint8)

    @property
    def offsets(self) -> Positions:
        """The offset in the file at which each line begins."""
        return self.starts + self.base

    def line_at(self, row: int) -> bytes:
        return self.data[self.starts[row] : self.ends[row]]

    def select(self, keep: Mask | Positions | slice) -> Rows:
        """Returns the lines that a mask, indices or a slice chooses."""
        return Rows(self.data, self.base, self.starts[keep], self.ends[keep])

    def crop(self) -> Rows:
        """Returns the same lines over their own span of bytes, so that reading a few lines of a chunk costs little."""
        if not len(self):
            return self
        first, end = int(self.starts[0]), int(self.ends[-1])
        return Rows(self.data[first:end], self.base + first, self.starts - first, self.ends - first)

    def reject_line(self, row: int, reason: str) -> RejectedLine:
        return RejectedLine(int(self.base + self.starts[row]), reason, self.line_at(row))

    def reject_all(self, reason: str) -> list[RejectedLine]:
        return [self.reject_line(row, reason) for row in range(len(self))]


def split_rows(chunk: Chunk) -> Rows:
    """Returns the lines of a chunk that are not blank (empty, or of spaces, tabs and returns only)."""
    octets = np.frombuffer(chunk.data, np.uint8)
    ends = np.flatnonzero(octets == NEWLINE)
    if len(octets) and octets[-1] != NEWLINE:
        ends = np.append(ends, len(octets))
    starts = np.concatenate(([0], ends[:-1] + 1)) if len(ends) else ends
    if chunk.offset == 0 and chunk.data.startswith(_MARK):
        starts[0] += len(_MARK)
    filled = ends > starts
    if not filled.all():
        starts, ends = starts[filled], ends[filled]
    if len(ends):
        ends = ends - (octets[ends - 1] == RETURN)
        first = octets[starts]
        doubtful = np.flatnonzero((first == SPACE) | (first == TAB) | (first == RETURN))
        if len(doubtful):
            keep = np.ones(len(starts), bool)
            for row in doubtful:
                keep[row] = bool(chunk.data[starts[row] : ends[row]].strip(b" \t\r"))
            starts, ends = starts[keep], ends[keep]
    return Rows(chunk.data, chunk.offset, starts, ends)


def utf8_rows(rows: Rows) -> tuple[Rows, list[RejectedLine]]:
    """Returns the lines that are UTF-8, and the others as rejected lines, each with the place of its first bad byte."""
    if _is_utf8(rows.data) or not len(rows):
        return rows, []
    rejected = []
    keep = np.ones(len(rows), bool)
    high = np.flatnonzero(rows.octets >= 0x80)
    suspects = np.unique(np.searchsorted(rows.starts, high, side="right") - 1)
    for row in suspects[suspects >= 0]:
        raw = rows.line_at(row)
        try:
            raw.decode()
        except UnicodeDecodeError as error:
            keep[row] = False
            reason = f"not UTF-8: byte {raw[error.start]:#04x} at position {error.start} of the line ({error.reason})"
            rejected.append(rows.reject_line(row, reason))
    return rows.select(keep), rejected


def drop_beginning(rows: Rows, beginning: bytes) -> Rows:
    """Returns the lines that do not begin so; all of them if ``beginning`` is empty."""
    if not beginning or not len(rows):
        return rows
    keep = np.ones(len(rows), bool)
    for row in np.flatnonzero(rows.octets[rows.starts] == beginning[0]).tolist():
        keep[row] = not rows.line_at(row).startswith(beginning)
    return rows.select(keep)


def cut_column(data: bytes, starts: Positions, ends: Positions) -> pa.StringArray:
    """Returns ``data[starts[i]:ends[i]]`` as strings; the pieces must be in order, not overlap, and be UTF-8.

    An Arrow string array is one buffer and the offset at which each string ends. So the pieces and the gaps between
    them form an array over ``data`` without a copy. Taking every other element of it copies only the pieces.

    Raises ``InternalError`` if the pieces are not in order: Arrow would read memory that is not its own.
    """
    count = len(starts)
    bounds = np.empty(2 * count + 1, np.int32)
    bounds[0:-1:2] = starts
    bounds[1::2] = ends
    bounds[-1] = len(data)
    if bounds[0] < 0 or (bounds[1:] < bounds[:-1]).any():
        raise InternalError("the pieces of a column of texts are not in order")
    whole = pa.StringArray.from_buffers(2 * count, pa.py_buffer(bounds), pa.py_buffer(data))
    return whole.take(pa.array(np.arange(0, 2 * count, 2, dtype=np.int64)))


def _is_utf8(data: bytes) -> bool:
    array = pa.StringArray.from_buffers(1, pa.py_buffer(np.array([0, len(data)], np.int32)), pa.py_buffer(data))
    try:
        array.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True
