"""A metric: the name, title, unit and definition of a number, and the goal that it should keep."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

Better = Literal["higher", "lower"]
_LOWER = frozenset({"s", "ms", "µs", "MB", "GB"})
"""Units of time and space, which should be low. A rate, which should be high, has a unit ``…/s``."""
_BY_UNIT: Any = object()
"""The default of ``better``: the unit decides."""
_UNIT_WORDS = {
    "%": "percent",
    "s": "seconds",
    "ms": "milliseconds",
    "µs": "microseconds",
    "MB": "megabytes",
    "GB": "gigabytes",
    "(events/s)²": "(events a second)²",
}
"""Units in words; a unit that is not here is a word already."""


@dataclass(frozen=True)
class Metric:
    """A kind of number. ``statistic`` names the function that makes one value of its samples.

    ``name`` is what programs call it; people read ``title``, words without the unit.

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
    title: str = ""

    def __post_init__(self) -> None:
        if self.better is _BY_UNIT:
            by_unit = "lower" if self.unit in _LOWER else "higher" if self.unit.endswith("/s") else None
            object.__setattr__(self, "better", by_unit)
        if not self.title:
            object.__setattr__(self, "title", self.name.replace("_", " "))

    @property
    def titled_unit(self) -> str:
        """The title and the unit in words, as axes are labelled: ``speed of a load, megabytes a second``.

        A title that names what is counted, such as ``busy cores``, needs no unit beside it.
        """
        unit = spell_unit(self.unit)
        return self.title if not unit or unit in self.title.split() else f"{self.title}, {unit}"


def spell_unit(unit: str) -> str:
    """Returns a unit in words: ``milliseconds`` for ``ms``, ``events a second`` for ``events/s``."""
    if unit.endswith("/s"):
        return f"{spell_unit(unit.removesuffix('/s'))} a second"
    return _UNIT_WORDS.get(unit, unit)


@dataclass(frozen=True)
class GoalSize:
    """The size of runs that a goal is meant for, ``least`` or more of what is ``counted``; the run had ``measured``."""

    measured: float
    least: float
    counted: str

    def __str__(self) -> str:
        return f"{self.measured:,.0f} {self.counted}, the goal is for {self.least:,.0f} and more"


@dataclass(frozen=True)
class Goal:
    """A bound that a figure should keep: ``limit`` at most, or at least.

    ``size`` is None if runs of all sizes should keep it.
    """

    limit: float
    at_most: bool
    size: GoalSize | None = None

    @property
    def is_judged(self) -> bool:
        """False if the goal is meant for larger runs than the one that was made."""
        return self.size is None or self.size.measured >= self.size.least

    def is_met(self, value: float) -> bool:
        return value <= self.limit if self.at_most else value >= self.limit

    def __str__(self) -> str:
        return f"{'≤' if self.at_most else '≥'} {self.limit:g}"

    @classmethod
    def parse(cls, text: str, size: GoalSize | None = None) -> Goal:
        """Returns the goal that ``str`` has formatted."""
        sign, limit = text.split()
        return cls(float(limit), sign == "≤", size)
