"""The contract of the engines other than Watchfloor."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from .answer import AnswerRows
from .question import EngineQuestion


class PeerEngine(Protocol):
    """An engine with one table of events."""

    def recreate_table(self) -> None:
        """Drops the table if there is one, and makes an empty one, or, where a load makes it, what will hold it."""

    def load_file(self, path: Path) -> None:
        """Loads a file into the empty table; returns when the events are there for good, and found."""

    def finish_merges(self) -> None:
        """Does what the engine would do in time by itself: merges, checkpoints."""

    def measure_disk(self) -> int:
        """The table's size on the disk."""
        ...

    def count_events(self) -> int:
        """Those in the table."""
        ...

    def count_matches(self, question: EngineQuestion) -> int: ...

    def read_rows(self, question: EngineQuestion) -> Iterator[AnswerRows]:
        """As the engine's users read them: all at once, or a page after the other."""
        ...

    def close(self) -> None: ...
