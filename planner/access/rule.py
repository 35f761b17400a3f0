"""The contract of a planner rule, which finds an access path for a filter from counts of the filter's conditions.

The planner calls a rule twice. First ``asks`` returns the conditions whose counts the rule needs; the conditions of all
rules are counted together. Then ``apply`` reads the counts and returns an access path, or the reason why the rule does
not apply. If ``apply`` reads a count that ``asks`` did not name, ``RuleCounts.read_count`` raises an error.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Protocol

from watchfloor.schema.filter.tree import Condition, Filter
from watchfloor.schema.source import Source

from .counts import RuleCounts
from .paths import Access, Lookup


@dataclass(frozen=True)
class Question:
    """A filter for which rules find access paths, with all that rules need to know besides counts.

    ``tree`` is the typed filter, flat at its root (``flatten_root``); None stands for no filter. ``source`` has only
    the indexes that cover the whole time range. ``late`` are the names of fields whose index does not cover all of it.
    ``w`` is the density factor: a part of an ``and`` is looked up if its density is below w times the lowest.
    """

    tree: Filter | None
    source: Source
    w: float
    late: Collection[str] = ()


@dataclass(frozen=True)
class RuleAnswer:
    """An access path that a rule found, and the reason for it (``because``).

    ``residual`` is the part of the filter that is left to the tablet servers; None if nothing is left. ``left_out``
    are indexed equalities in the residual that were counted but are not looked up.
    """

    access: Access
    residual: Filter | None
    left_out: tuple[Lookup, ...]
    because: str


@dataclass(frozen=True)
class Refusal:
    """The reason why a rule does not apply."""

    because: str


class Rule(Protocol):
    """A planner rule: one way to find the events that satisfy a filter."""

    @property
    def name(self) -> str:
        """The rule's name, as plans show it."""
        ...

    def asks(self, question: Question) -> Collection[Condition]:
        """Returns the conditions whose counts ``apply`` may read."""
        ...

    def apply(self, question: Question, counts: RuleCounts) -> RuleAnswer | Refusal:
        """Returns the access path for the filter, or the reason why the rule does not apply."""
        ...
