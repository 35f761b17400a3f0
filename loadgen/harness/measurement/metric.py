"""A metric: the name, unit and definition of a number, and the goal that it should keep."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

Better = Literal["higher", "lower"]
_LOWER = frozenset({"s", "ms", "µs", "MB", "GB"})
"""Units of time and space, which should be low. A rate, which should be high, has a unit ``…/s``."""
_BY_UNIT: Any = object()
"""The default of ``better``: the unit decides."""


@dataclass(frozen=True)
class Metric:
    """A kind of number. ``statistic`` names the function that makes one value of its samples.

    ``better`` is the good direction; None means that neither direction is good (the duration of a run). If it is not
    given, the unit decides: seconds and megabytes should be low, rates high, and other units have no good direction.
    ``exact`` means that the same events give the same value in each run, so that one sample is enough (bytes on the
    disk, wrong answers).
    """

    name: str
    unit: str
    definition: str
    statistic: str = "median"
    better: Better | None = _BY_UNIT
    exact: bool = False

    def __post_init__(self) -> None:
        if self.better is _BY_UNIT:
            by_unit = "lower" if self.unit in _LOWER else "higher" if self.unit.endswith("/s") else None
            object.__setattr__(self, "better", by_unit)


@dataclass(frozen=True)
class Goal:
    """A bound that a figure should keep: ``limit`` at most, or at least."""

    limit: float
    at_most: bool

    def is_met(self, value: float) -> bool:
        return value <= self.limit if self.at_most else value >= self.limit

    def __str__(self) -> str:
        return f"{'≤' if self.at_most else '≥'} {self.limit:g}"

    @classmethod
    def parse(cls, text: str) -> Goal:
        """Returns the goal that ``str`` has formatted."""
        sign, limit = text.split()
        return cls(float(limit), at_most=sign == "≤")
