"""The contract of the engines other than Watchfloor."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from .answer import Rows
from .question import Question


class Engine(Protocol):
    """An engine with one table of events."""

    def renew(self) -> None:
        """Drops the table if there is one, and makes an empty one, or, where a load makes it, what will hold it."""

    def load(self, path: Path) -> None:
        """Loads a file into the empty table; returns when the events are there for good, and found."""

    def settle(self) -> None:
        """Does what the engine would do in time by itself: merges, checkpoints."""

    def disk_bytes(self) -> int:
        """The table's size on the disk."""
        ...

    def events(self) -> int:
        """Those in the table."""
        ...

    def count(self, question: Question) -> int: ...

    def rows(self, question: Question) -> Iterator[Rows]:
        """As the engine's users read them: all at once, or a page after the other."""
        ...

    def close(self) -> None: ...
