"""The questions, each in Watchfloor's words and in SQL, so that every engine is asked the same."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from ..generate import Generated
from ..marks import ONE, PATTERN, SPREAD

MANY = 1000


class Kind(Enum):
    """What is asked for of the events that match."""

    NEWEST = "newest"  # in order, at most ``limit``, all columns
    EVERYTHING = "everything"  # in any order, all columns
    COUNT = "count"
    SCAN = "scan"  # as EVERYTHING, on a field without an index


@dataclass(frozen=True)
class Question:
    """``field`` is ``value``, or has it as a ``pattern``."""

    name: str
    kind: Kind
    field: str
    value: str
    limit: int | None = None
    pattern: bool = False

    @property
    def where(self) -> str:
        """Watchfloor's filter."""
        return f'{self.field} {"~" if self.pattern else "="} "{self.value}"'.replace("\\", "\\\\")

    def sql(self, time_field: str, pattern_function: str) -> str:
        """``pattern_function``: what the engine calls the search for a pattern in a string."""
        condition = f"{self.field} = '{self.value}'"
        if self.pattern:
            condition = f"{pattern_function}({self.field}, '{self.value}')"
        selected = "count(*)" if self.kind is Kind.COUNT else "*"
        text = f"SELECT {selected} FROM events WHERE {condition}"
        if self.kind is Kind.NEWEST:
            text += f" ORDER BY {time_field} DESC"
        return text if self.limit is None else f"{text} LIMIT {self.limit}"


def questions(made: Generated) -> list[Question]:
    """What is asked about generated events with marks."""
    named = {"dense": made.popular.domain, "middling": made.middling.domain, "rare": made.rare.domain}
    dense, middling, rare = named.values()
    return [
        *(Question(f"newest row, {name}", Kind.NEWEST, "domain", value, 1) for name, value in named.items()),
        Question(f"newest {MANY}, dense", Kind.NEWEST, "domain", dense, MANY),
        Question(f"newest {MANY}, middling", Kind.NEWEST, "domain", middling, MANY),
        Question("all, rare", Kind.NEWEST, "domain", rare),
        *(Question(f"count, {name}", Kind.COUNT, "domain", value) for name, value in named.items()),
        Question("everything, dense", Kind.EVERYTHING, "domain", dense),
        *scans(),
    ]


def values(made: Generated) -> dict[str, Question]:
    """All events of a dense, a middling and a rare value, newest first."""
    named = {"dense": made.popular, "middling": made.middling, "rare": made.rare}
    return {name: Question(name, Kind.NEWEST, "domain", value.domain) for name, value in named.items()}


def scans() -> list[Question]:
    """Filters that no index helps."""
    return [
        Question("scan, one hit", Kind.SCAN, "path", ONE),
        Question("scan, spread hits", Kind.SCAN, "path", SPREAD),
        Question("scan, pattern", Kind.SCAN, "path", PATTERN, pattern=True),
    ]
