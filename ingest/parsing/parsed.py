"""The input and the output of a parser."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Protocol

import pyarrow as pa

from watchfloor.ingest.columns.leftovers import Misfits
from watchfloor.ingest.columns.rows import Rows, split_rows, utf8_rows
from watchfloor.ingest.files.lines import Chunk, RejectedLine
from watchfloor.schema.source import Source

ResolveSource = Callable[[str, Callable[[], Source]], Source]
"""Returns the catalogued source of a name. The source that the given function returns is registered first if it is new
or has new fields."""


@dataclass
class ParsedChunk:
    """The events and the rejected lines of one chunk; lines = events + rejected, always.

    ``rejected`` includes those that the chunk came with, in file order. Blank lines and header lines are not lines of
    a log and count nowhere. ``misfits`` are values that events lack, because they are not of their field's type.
    """

    events: list[tuple[Source, pa.RecordBatch]] = field(default_factory=list)
    rejected: list[RejectedLine] = field(default_factory=list)
    misfits: list[Misfits] = field(default_factory=list)

    @property
    def count(self) -> int:
        """The number of events of all sources."""
        return sum(batch.num_rows for _, batch in self.events)

    @property
    def lines(self) -> int:
        """The number of all lines of the chunk."""
        return self.count + len(self.rejected)

    def add(
        self, source: Source, batch: pa.RecordBatch, rejected: Iterable[RejectedLine], misfits: Iterable[Misfits]
    ) -> None:
        """Adds what ``event_batch`` returns."""
        if batch.num_rows:
            self.events.append((source, batch))
        self.rejected += rejected
        self.misfits += misfits


class Parser(Protocol):
    """Reads the chunks of one file. Bad input is never an exception.

    ``ordered``: a chunk says how to read the next, so chunks must come in their order and one at a time. Any other
    parser takes them in any order, also from several threads at once.
    """

    ordered: bool

    def parse(self, chunk: Chunk) -> ParsedChunk: ...


def parse_lines(chunk: Chunk, read_rows: Callable[[Rows, ParsedChunk], None]) -> ParsedChunk:
    """Parses a chunk: splits it into lines, rejects those that are not UTF-8, and has ``read_rows`` add the others.

    ``read_rows`` adds the events and the rejected lines among its rows to the result, in any order.
    """
    parsed = ParsedChunk(rejected=list(chunk.rejected))
    rows, bad = utf8_rows(split_rows(chunk))
    parsed.rejected += bad
    if len(rows):
        read_rows(rows, parsed)
    parsed.rejected.sort(key=lambda rejected: rejected.offset)
    return parsed
