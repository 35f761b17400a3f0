"""The questions, in no engine's words but Watchfloor's: each engine has its own way to ask them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum

from watchfloor.loadgen.generator.generate import Generated
from watchfloor.loadgen.generator.planted_paths import PLANTED_PATTERN, SINGLE_PATH, SPREAD_PATH
from watchfloor.schema.filter.print import value_text
from watchfloor.schema.filter.quoting import quote

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
        return f"{self.field} ~ {quote(self.value)}" if self.pattern else f"{self.field} = {value_text(self.value)}"


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
        Question("scan, one hit", Kind.SCAN, "path", SINGLE_PATH),
        Question("scan, spread hits", Kind.SCAN, "path", SPREAD_PATH),
        Question("scan, pattern", Kind.SCAN, "path", PLANTED_PATTERN, pattern=True),
    ]


def newest_rows(made: Generated) -> tuple[list[Question], list[Question]]:
    """The 1st, the 100th and the 1,000th row of each value that has so many, newest first; and all of its rows."""
    marks, whole = [], []
    for name, value in (("popular", made.popular), ("middling", made.middling), ("rare", made.rare)):
        last = Question(f"{name}, last row", Kind.NEWEST, "domain", value.domain)
        whole.append(last)
        rows = (row for row in (1, 100, MANY) if row < value.events)
        marks += [replace(last, name=f"{name}, row {row:,}", limit=row) for row in rows]
    return marks, whole
