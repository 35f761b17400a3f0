"""What every parser takes and gives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

import pyarrow as pa

from watchfloor.ingest.files.lines import Chunk, Rejected
from watchfloor.schema.source import Source

Resolve = Callable[[str, Callable[[], Source]], Source]
"""The catalogued source of this name; registers what the function gives where it is new or has new fields."""


@dataclass
class Parsed:
    """What became of a chunk's lines: lines = events + rejected, always.

    ``rejected`` includes the chunk's own, in file order; ``lines`` counts them. Blank lines and header lines are
    not lines of a log and count nowhere.
    """

    events: list[tuple[Source, pa.RecordBatch]] = field(default_factory=list)
    rejected: list[Rejected] = field(default_factory=list)

    @property
    def count(self) -> int:
        """Events of all sources."""
        return sum(batch.num_rows for _, batch in self.events)

    @property
    def lines(self) -> int:
        return self.count + len(self.rejected)

    def add(self, source: Source, batch: pa.RecordBatch, rejected: list[Rejected]) -> None:
        if batch.num_rows:
            self.events.append((source, batch))
        self.rejected += rejected


class Parser(Protocol):
    """Reads the chunks of one file. Bad input is never an exception.

    ``ordered``: one chunk says how to read the next, so they must come in their order and one at a time. Any other
    parser takes them as they come, also from several threads at once.
    """

    ordered: bool

    def parse(self, chunk: Chunk) -> Parsed: ...
