"""What the planner asks of the store: how many events satisfy a condition, and what the index has of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from watchfloor.schema.filter.tree import Condition


@dataclass(frozen=True)
class Known:
    """What is known of a condition in a query's time range: the ``events`` that satisfy it, the ``places`` that the
    index leads to (events, or blocks of events), and the index ``entries`` that say so. ``newer``: events of the range
    that are newer than all that satisfy it."""

    events: int
    places: int
    entries: int
    newer: int = 0


class Counts(Protocol):
    """Counts of a source's events in a query's time range."""

    @property
    def total(self) -> int:
        """All events."""
        ...

    def of(self, condition: Condition) -> Known | None:
        """What is known of a condition on an indexed field; None if it has not been counted."""
        ...


NOTHING = Known(0, 0, 0)


@dataclass(frozen=True)
class DictCounts:
    """Counts held in memory; of a condition that is not in ``known`` there is ``missing``."""

    total: int
    known: Mapping[Condition, Known | None] = field(default_factory=dict)
    missing: Known | None = NOTHING

    def of(self, condition: Condition) -> Known | None:
        return self.known.get(condition, self.missing)
