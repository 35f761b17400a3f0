"""The record of a query within a filter that has run; ``query/subqueries.py`` runs it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from watchfloor.schema.text import format_duration, format_number


@dataclass(frozen=True)
class Subquery:
    """A query within a filter that has run: its ``text``, the number of its values, and how it ran."""

    text: str
    values: int
    seconds: float
    plan: Mapping[str, Any]

    def to_text(self) -> str:
        """Returns what is known of it as lines for people."""
        found = f"{format_number(self.values, 'value')}, found in {format_duration(self.seconds)}"
        lines = [f"within    ({self.text}): {found}"]
        return "\n".join([*lines, *(f"  {line}" for line in self.plan["text"].splitlines())])

    def to_json(self) -> dict[str, Any]:
        """Returns what is known of it as JSON values."""
        return {"query": self.text, "values": self.values, "seconds": round(self.seconds, 6), **self.plan}
