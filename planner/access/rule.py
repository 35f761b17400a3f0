"""The contract of a planner rule: it names the conditions that it needs counted, and makes an access path of a filter.

A rule is asked twice. ``asks`` names conditions before anything is known of them; the caller counts those of all rules
by scans at once. ``apply`` then reads the counts and makes an access path, or says why the rule does not apply. A rule
that reads a count which it did not ask for is a defect, and fails (``RuleCounts.read_count``).
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
    """The question that is put to rules: a typed filter on events of ``source``, flat at its root (None: no filter).

    ``source`` has only the indexes that cover the whole time range; the fields in ``late`` have others. ``w`` is the
    density factor: an equality of an ``and`` is looked up if its density is below w times the lowest.
    """

    tree: Filter | None
    source: Source
    w: float
    late: Collection[str] = ()


@dataclass(frozen=True)
class RuleAnswer:
    """An access path that a rule made, and the reason (``because``).

    ``residual`` is the part of the filter that is left to the tablet servers. ``left_out`` are indexed equalities in
    it that were counted but are not looked up.
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
    """One way to find a filter's events."""

    @property
    def name(self) -> str:
        """The name by which plans call the rule."""
        ...

    def asks(self, question: Question) -> Collection[Condition]:
        """Returns the conditions whose counts ``apply`` may read."""
        ...

    def apply(self, question: Question, counts: RuleCounts) -> RuleAnswer | Refusal:
        """Returns the access path for the filter, or the reason why there is none by this rule."""
        ...
