"""A figure: one measured number, with its raw samples and the labels of its case."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from .metric import Goal, GoalSize, Metric


@dataclass(frozen=True)
class Figure:
    """One measured number. ``labels`` tell its case: the feed, the scheme, the value of the query.

    Samples are in order. ``derived`` is the value of a metric that is computed from other figures; its samples are the
    same computation turn by turn. ``note`` is a remark on the value, for people. ``at`` is for samples that depend on
    each other, as steps of a time series and requests that wait for one another do: the seconds from the beginning of
    their run at which each was taken, or due. Otherwise it is empty.
    """

    metric: Metric
    samples: tuple[float, ...]
    labels: Mapping[str, str] = field(default_factory=dict)
    goal: Goal | None = None
    derived: float | None = None
    note: str = ""
    at: tuple[float, ...] = ()

    @property
    def value(self) -> float:
        """The figure's number: the statistic of its samples, or ``derived``."""
        return STATISTICS[self.metric.statistic](self.samples) if self.derived is None else self.derived

    @property
    def statistic(self) -> str:
        """The name of the statistic that makes ``value`` of the samples, or ``derived``."""
        return self.metric.statistic if self.derived is None else DERIVED

    @property
    def meets_goal(self) -> bool | None:
        """True if the figure meets its goal; None if it has no goal, or one that is meant for larger runs."""
        return None if self.goal is None or not self.goal.is_judged else self.goal.is_met(self.value)

    @property
    def verdict(self) -> str:
        """The judgement in words: ``met``, ``missed``, ``not judged at this size`` with the sizes, or nothing."""
        if self.goal is None:
            return ""
        if not self.goal.is_judged:
            return f"not judged at this size: {self.goal.size}"
        return "met" if self.meets_goal else "missed"

    def to_json(self) -> dict[str, Any]:
        return {
            "metric": self.metric.name,
            "of": dict(self.labels),
            "value": self.value,
            "unit": self.metric.unit,
            "statistic": self.statistic,
            "better": self.metric.better,
            "exact": self.metric.exact,
            "goal": str(self.goal) if self.goal else None,
            "goal_size": asdict(self.goal.size) if self.goal and self.goal.size else None,
            "met": self.meets_goal,
            "note": self.note,
            "samples": list(self.samples),
            **({"at": list(self.at)} if self.at else {}),
        }

    @classmethod
    def from_json(cls, written: Mapping[str, Any], definitions: Mapping[str, str], titles: Mapping[str, str]) -> Figure:
        """Reads what ``to_json`` wrote; ``definitions`` and ``titles`` are those of the metrics by name."""
        name, statistic = written["metric"], written["statistic"]
        derived, size = statistic == DERIVED, written.get("goal_size")
        how = (definitions[name], "median" if derived else statistic, written["better"], written["exact"])
        return cls(
            Metric(name, written["unit"], *how, title=titles.get(name, "")),
            tuple(written["samples"]),
            written["of"],
            Goal.parse(written["goal"], GoalSize(**size) if size else None) if written["goal"] else None,
            written["value"] if derived else None,
            written["note"],
            tuple(written.get("at", ())),
        )


def _make_percentile(percent: float) -> Callable[[Sequence[float]], float]:
    """Returns a statistic: the smallest sample that ``percent`` percent of the samples do not exceed (nearest rank)."""
    return lambda samples: sorted(samples)[max(0, math.ceil(len(samples) * percent / 100) - 1)]


STATISTICS: Mapping[str, Callable[[Sequence[float]], float]] = {
    "median": statistics.median,
    "mean": statistics.fmean,
    "max": max,
    "variance": statistics.pvariance,
    "coefficient of variation": lambda samples: statistics.pstdev(samples) / statistics.fmean(samples),
    "90th percentile": _make_percentile(90),
    "99th percentile": _make_percentile(99),
}
"""The functions that make one value of samples, by the name that a metric and its JSON give them."""
DERIVED = "derived"
