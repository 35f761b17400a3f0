"""The explanation of how a query would run: its plan, and the first of its query batches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from watchfloor.planner.plan import Plan
from watchfloor.query.batches.policy import Batch
from watchfloor.schema.text import format_duration, format_number
from watchfloor.schema.times import format_micros


@dataclass(frozen=True)
class Explanation:
    """A plan and a first batch by which a query would run now; ``first_batch`` is None if the range has no events."""

    plan: Plan
    policy_name: str
    first_batch: Batch | None

    def to_text(self) -> str:
        """Returns the plan, and below it the batching, as lines for people."""
        return f"{self.plan.to_text()}\n{'batching':<9} {self.policy_name}: {self._describe_first_batch()}"

    def to_json(self) -> dict[str, Any]:
        """Returns the explanation as JSON values: times in ISO 8601, widths in seconds, None for unknown values."""
        batch = self.first_batch
        first = batch and {
            "since": format_micros(batch.since),
            "until": format_micros(batch.until),
            "width_seconds": batch.width / 1e6,
            "expected_rows": batch.expected_rows,
            "because": batch.because,
        }
        batching = {"policy": self.policy_name, "first": first}
        return {"plan": self.plan.to_json(), "batching": batching, "text": self.to_text()}

    def _describe_first_batch(self) -> str:
        batch = self.first_batch
        if batch is None:
            return "no batch, for there are no events in the time range"
        rows = "" if batch.expected_rows is None else f", about {format_number(round(batch.expected_rows), 'row')}"
        if self.plan.estimate.matches and not self.plan.estimate.certain:
            rows += " or fewer" if rows else ""
        ends = f"{format_micros(batch.since)} to {format_micros(batch.until)}"
        return f"first {ends} ({format_duration(batch.width / 1e6)}{rows}); {batch.because}"
