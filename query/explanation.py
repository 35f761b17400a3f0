"""The explanation of how a query would run: its plan, and the first of its query batches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from watchfloor.planner.plan import Plan
from watchfloor.query.batches.policy import Batch
from watchfloor.schema.text import format_duration, format_number
from watchfloor.schema.times import format_micros

from .many.prepare import PreparedSources
from .preparation.subquery import Subquery
from .sorting.prepare import SortedQuery


@dataclass(frozen=True)
class Explanation:
    """A plan and a first batch by which a query would run now; ``first_batch`` is None if the range has no events."""

    plan: Plan
    policy_name: str
    first_batch: Batch | None
    within: tuple[Subquery, ...] = ()
    """The queries within the filter, which have run."""

    def to_text(self) -> str:
        """Returns the queries within the filter, the plan, and below it the batching, as lines for people."""
        batching = f"{'batching':<9} {self.policy_name}: {self._describe_first_batch()}"
        return "\n".join([*(one.to_text() for one in self.within), self.plan.to_text(), batching])

    def to_json(self) -> dict[str, Any]:
        """Returns the explanation as JSON values: times in ISO 8601, widths in seconds, None for unknown values."""
        batching = {"policy": self.policy_name, "first": _batch_to_json(self.first_batch)}
        return {"plan": self.plan.to_json(), "batching": batching, "text": self.to_text(), **_to_json(self.within)}

    def _describe_first_batch(self) -> str:
        return _describe_batch(self.first_batch, not self.plan.estimate.matches or self.plan.estimate.certain)


@dataclass(frozen=True)
class SourcesExplanation:
    """The plans of a query of several sources, and the first batch, which is common to all of them."""

    query: PreparedSources | SortedQuery
    first_batch: Batch | None
    within: tuple[Subquery, ...] = ()

    def to_text(self) -> str:
        """Returns the plan of each source, below its name, and the batching, as lines for people."""
        lines = [one.to_text() for one in self.within]
        for name, plan in self.query.plans.items():
            lines += [name, *(f"  {line}" for line in plan.to_text().splitlines())]
        lines += [f"{name}\n  not read: the counts say that nothing matches" for name in self.query.settled]
        lines += [f"{name}\n  left out: {because}" for name, because in self.query.left_out.items()]
        return "\n".join(
            [*lines, f"{'batching':<9} {self.query.policy_name}: {_describe_batch(self.first_batch, False)}"]
        )

    def to_json(self) -> dict[str, Any]:
        """Returns the explanation as JSON values; ``sources`` has the plan of each source that is read."""
        batching = {"policy": self.query.policy_name, "first": _batch_to_json(self.first_batch)}
        described = self.query.describe_plans()
        return {**described, "batching": batching, "text": self.to_text(), **_to_json(self.within)}


def _to_json(within: tuple[Subquery, ...]) -> dict[str, Any]:
    """Returns the member of an explanation that has the queries within the filter; none if there are none."""
    return {"within": [one.to_json() for one in within]} if within else {}


def _batch_to_json(batch: Batch | None) -> dict[str, Any] | None:
    if batch is None:
        return None
    return {
        "since": format_micros(batch.since),
        "until": format_micros(batch.until),
        "width_seconds": batch.width / 1e6,
        "expected_rows": batch.expected_rows,
        "because": batch.because,
    }


def _describe_batch(batch: Batch | None, is_certain: bool) -> str:
    if batch is None:
        return "no batch, for there are no events in the time range"
    rows = "" if batch.expected_rows is None else f", about {format_number(round(batch.expected_rows), 'row')}"
    if not is_certain:
        rows += " or fewer" if rows else ""
    ends = f"{format_micros(batch.since)} to {format_micros(batch.until)}"
    return f"first {ends} ({format_duration(batch.width / 1e6)}{rows}); {batch.because}"
