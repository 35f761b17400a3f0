"""The questions that engines are asked. Each engine translates them into its own language."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum

from watchfloor.loadgen.generator.generate import GenerationSummary
from watchfloor.loadgen.generator.planted_paths import PLANTED_PATTERN, SINGLE_PATH, SPREAD_PATH
from watchfloor.schema.filter.print import format_value
from watchfloor.schema.filter.syntax.quoting import quote_text

MANY_ROWS = 1000


class QuestionKind(Enum):
    """The part of the matching events that a question asks for."""

    NEWEST = "newest"  # in order, at most ``limit``, all columns
    EVERYTHING = "everything"  # in any order, all columns
    COUNT = "count"
    SCAN = "scan"  # as EVERYTHING, on a field without an index


@dataclass(frozen=True)
class EngineQuestion:
    """A question for the events whose ``field`` equals ``value``, or matches it if ``pattern`` is true.

    A ``condition`` in the language of the engine that is asked takes the place of these three.
    """

    name: str
    kind: QuestionKind
    field: str = ""
    value: str = ""
    limit: int | None = None
    pattern: bool = False
    condition: str | None = None

    @property
    def where(self) -> str:
        """The question's condition in Watchfloor's filter language."""
        if self.pattern:
            return f"{self.field} ~ {quote_text(self.value)}"
        return f"{self.field} = {format_value(self.value)}"


def list_questions(summary: GenerationSummary) -> list[EngineQuestion]:
    """Returns the questions about generated events with planted paths."""
    named = {"dense": summary.popular.value, "middling": summary.middling.value, "rare": summary.rare.value}
    dense, middling, rare = named.values()
    return [
        *(
            EngineQuestion(f"newest row, {name}", QuestionKind.NEWEST, "domain", value, 1)
            for name, value in named.items()
        ),
        EngineQuestion(f"newest {MANY_ROWS}, dense", QuestionKind.NEWEST, "domain", dense, MANY_ROWS),
        EngineQuestion(f"newest {MANY_ROWS}, middling", QuestionKind.NEWEST, "domain", middling, MANY_ROWS),
        EngineQuestion("all, rare", QuestionKind.NEWEST, "domain", rare),
        *(EngineQuestion(f"count, {name}", QuestionKind.COUNT, "domain", value) for name, value in named.items()),
        EngineQuestion("everything, dense", QuestionKind.EVERYTHING, "domain", dense),
        *list_scan_questions(),
    ]


def list_value_questions(summary: GenerationSummary) -> dict[str, EngineQuestion]:
    """Returns questions for all events of a dense, a middling and a rare value, newest first."""
    named = {"dense": summary.popular, "middling": summary.middling, "rare": summary.rare}
    return {name: EngineQuestion(name, QuestionKind.NEWEST, "domain", value.value) for name, value in named.items()}


def list_scan_questions() -> list[EngineQuestion]:
    """Returns questions with conditions on a field without an index."""
    return [
        EngineQuestion("scan, one hit", QuestionKind.SCAN, "path", SINGLE_PATH),
        EngineQuestion("scan, spread hits", QuestionKind.SCAN, "path", SPREAD_PATH),
        EngineQuestion("scan, pattern", QuestionKind.SCAN, "path", PLANTED_PATTERN, pattern=True),
    ]


def list_newest_questions(summary: GenerationSummary) -> tuple[list[EngineQuestion], list[EngineQuestion]]:
    """Returns questions for the newest 1, 100 and 1,000 rows of each value that has more, and for all of its rows."""
    limited, unlimited = [], []
    for name, value in (("popular", summary.popular), ("middling", summary.middling), ("rare", summary.rare)):
        last = EngineQuestion(f"{name}, last row", QuestionKind.NEWEST, "domain", value.value)
        unlimited.append(last)
        rows = (row for row in (1, 100, MANY_ROWS) if row < value.events)
        limited += [replace(last, name=f"{name}, row {row:,}", limit=row) for row in rows]
    return limited, unlimited
