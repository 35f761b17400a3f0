"""How a query would run: its plan, and the first of its query batches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from watchfloor.planner.plan import Plan
from watchfloor.query.batches.policies import Batch
from watchfloor.schema.times import format_micros
from watchfloor.schema.units import format_duration, format_number


@dataclass(frozen=True)
class Explained:
    """``policy`` is the batching policy by its name; ``first`` is None where there is no event in the time range."""

    plan: Plan
    policy: str
    first: Batch | None

    def text(self) -> str:
        """The plan, and below it the batching."""
        return f"{self.plan.to_text()}\n{'batching':<9} {self.policy}: {self._first()}"

    def to_json(self) -> dict[str, Any]:
        """The same for programs: times in ISO 8601, widths in seconds; what is not known is None."""
        batch = self.first
        first = batch and {
            "since": format_micros(batch.since),
            "until": format_micros(batch.until),
            "width_seconds": batch.width / 1e6,
            "expected_rows": batch.expected,
            "because": batch.because,
        }
        batching = {"policy": self.policy, "first": first}
        return {"plan": self.plan.to_json(), "batching": batching, "text": self.text()}

    def _first(self) -> str:
        batch = self.first
        if batch is None:
            return "no batch, for there are no events in the time range"
        rows = "" if batch.expected is None else f", about {format_number(round(batch.expected), 'row')}"
        if self.plan.estimate.matches and not self.plan.estimate.certain:
            rows += " or fewer" if rows else ""
        ends = f"{format_micros(batch.since)} to {format_micros(batch.until)}"
        return f"first {ends} ({format_duration(batch.width / 1e6)}{rows}); {batch.because}"
