"""What the planner asks of the aggregate table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from watchfloor.schema.filter import Value


class Counts(Protocol):
    """Counts of a source's events in a query's time range."""

    @property
    def total(self) -> int:
        """All events."""
        ...

    def count(self, field: str, value: Value) -> int | None:
        """Events with ``field = value``; None if nobody has counted them."""
        ...


@dataclass(frozen=True)
class DictCounts:
    """Counts held in memory; a pair that is not in ``known`` has the count ``missing``."""

    total: int
    known: Mapping[tuple[str, Value], int | None] = field(default_factory=dict)
    missing: int | None = 0

    def count(self, field: str, value: Value) -> int | None:
        return self.known.get((field, value), self.missing)
