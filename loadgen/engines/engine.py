"""The contract of the engines that are compared with Watchfloor."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from .answer import AnswerRows
from .question import EngineQuestion


class PeerEngine(Protocol):
    """An engine with one table of events."""

    def recreate_table(self) -> None:
        """Drops the table if there is one, and creates an empty one, unless the load creates it."""

    def load_file(self, path: Path) -> None:
        """Loads a file into the empty table; returns when the events are durable and can be found."""

    def finish_merges(self) -> None:
        """Does the merges and checkpoints that the engine would otherwise do by itself later."""

    def measure_disk(self) -> int:
        """Returns the table's bytes on disk."""
        ...

    def count_events(self) -> int:
        """Returns the number of events in the table."""
        ...

    def count_matches(self, question: EngineQuestion) -> int:
        """Returns the number of events that a question matches."""
        ...

    def read_rows(self, question: EngineQuestion) -> Iterator[AnswerRows]:
        """Yields the rows as the engine's users read them: all at once, or page by page."""
        ...

    def close(self) -> None: ...
