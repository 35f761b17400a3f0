"""Bounds what is kept of the lines of a work item that become no event.

A few hundred bytes of gzip may be hundreds of thousands of bad lines. Beyond the bounds lines are only counted, and one
record says how many they are and where in the file they lie.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from watchfloor.ingest.files.lines import RejectedLine

CUT_LINE_BYTES = 4 << 10
"""Bytes that are kept of a line of which only the beginning is there: for people, as it cannot be retried."""
FILE_LINES, FILE_BYTES = 100_000, 64 << 20
"""Lines and bytes that are kept of a file, shared out to its work items by their lengths. Bytes count with what a line
costs besides. A file with so many bad lines is of another kind than was said: its first lines tell why."""
MOST_LINES, MOST_BYTES = 10_000, 16 << 20
"""The largest share of a work item: as many lines as a retry takes at once, and a quarter of the file's bytes."""
LEAST_LINES, LEAST_BYTES = 1_000, 1 << 20
"""The least share of a work item: a file that grows has many short ones."""
_LINE_COST = 256
"""Bytes that a line costs beside its own and its reason's: its place, file and state."""
_REASON_CHARACTERS = 500


@dataclass(frozen=True)
class UnkeptLines:
    """The ``count`` rejected lines of an item that were not kept; the last one begins at ``until``.

    ``first`` is the first of them, whose text is not kept either.
    """

    first: RejectedLine
    until: int
    count: int

    @property
    def reason(self) -> str:
        """The reason of the record that stands for the lines."""
        return (
            f"{self.count:,} more lines became no event, and are only counted: they begin at bytes "
            f"{self.first.offset:,} to {self.until:,}; the first of them: {self.first.reason}"
        )


class KeptLines:
    """Chooses the rejected lines of one reading of an item that are kept: the first ones, within the item's share."""

    def __init__(self, item_bytes: int, file_bytes: int) -> None:
        """``item_bytes`` is the length of the item, ``file_bytes`` that of its file."""
        share = item_bytes / max(file_bytes, 1)
        self._lines = round(min(max(FILE_LINES * share, LEAST_LINES), MOST_LINES))
        self._bytes = round(min(max(FILE_BYTES * share, LEAST_BYTES), MOST_BYTES))
        self.unkept: UnkeptLines | None = None

    def choose(self, rejected: Iterable[RejectedLine], cut: Iterable[RejectedLine]) -> list[RejectedLine]:
        """Returns those of the next rejected lines that are kept. Of those also in ``cut`` only the beginning is."""
        not_whole = {line.offset for line in cut}
        kept = []
        for line in rejected:
            if line.offset in not_whole:
                line = replace(line, raw=line.raw[:CUT_LINE_BYTES])
            size = len(line.raw) + len(line.reason) + _LINE_COST
            if self.unkept is None and self._lines > 0 and size <= self._bytes:
                self._lines -= 1
                self._bytes -= size
                kept.append(replace(line, reason=line.reason[:_REASON_CHARACTERS]))
            elif self.unkept is None:
                first = replace(line, raw=b"", reason=line.reason[:_REASON_CHARACTERS])
                self.unkept = UnkeptLines(first, line.offset, 1)
            else:
                self.unkept = replace(self.unkept, until=line.offset, count=self.unkept.count + 1)
        return kept
