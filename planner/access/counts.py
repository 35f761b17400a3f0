"""Counts of conditions, as the planner gets them from the store for a query's time range."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from watchfloor.schema.errors import InternalError
from watchfloor.schema.filter.print import to_short_text
from watchfloor.schema.filter.tree import Condition


@dataclass(frozen=True)
class ConditionCount:
    """The count of a condition in a query's time range.

    ``events`` is the number of events that satisfy the condition. To find them, ``entries`` index entries are read,
    which lead to ``places`` (single events, or blocks of events). ``newer`` is the number of events in the range that
    are newer than every event that satisfies the condition.
    """

    events: int
    places: int
    entries: int
    newer: int = 0


@dataclass(frozen=True)
class Counts:
    """The number of events in a query's time range, and the counts of conditions among them.

    ``conditions`` maps each condition to its count, or to None if it has more index entries than are worth reading.
    """

    total: int
    conditions: Mapping[Condition, ConditionCount | None] = field(default_factory=dict)

    def find_count(self, condition: Condition) -> ConditionCount | None:
        """Returns the count of a condition; None if it was not counted."""
        return self.conditions.get(condition)

    def share_of_total(self, events: int) -> float:
        """Returns ``events`` as a share of ``total``, from 0 to 1; 0 if there are no events."""
        return min(1.0, events / self.total) if self.total else 0.0


@dataclass(frozen=True)
class RuleCounts:
    """The counts that one rule may read: those of the conditions that it asked for.

    ``asked`` are the conditions that the rule asked for. ``dropped`` are conditions that were not counted, because one
    filter had too many to count; the rule gets None for them, as for conditions with too many index entries.
    """

    rule: str
    counts: Counts
    asked: Collection[Condition]
    dropped: Collection[Condition] = ()

    @property
    def total(self) -> int:
        """The number of events in the time range."""
        return self.counts.total

    def read_count(self, condition: Condition) -> ConditionCount | None:
        """Returns the count of a condition; None if it has more index entries than are worth reading.

        Raises ``InternalError`` if the rule did not ask for the condition, or if the caller did not count it.
        """
        if condition not in self.asked:
            text = to_short_text(condition)
            raise InternalError(f"planner rule {self.rule} reads the count of {text}, but its asks() does not name it")
        if condition in self.dropped:
            return None
        if condition not in self.counts.conditions:
            raise InternalError(
                f"planner rule {self.rule} asked for the count of {to_short_text(condition)}, and got none"
            )
        return self.counts.conditions[condition]
