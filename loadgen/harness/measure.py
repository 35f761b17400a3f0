"""What a measurement is made of: figures with their raw samples, what they were measured on, and all of it as JSON."""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, TypeVar

import orjson

Better = Literal["higher", "lower"]
_LOWER = frozenset({"s", "ms", "µs", "MB", "GB"})
"""Units of what should be small: time and space. A rate, which should be large, has a unit ``…/s``."""
_BY_UNIT: Any = object()
"""A metric's ``better`` where nothing is said of it."""


T = TypeVar("T")


def in_turn(cases: Iterable[T], turn: int) -> list[T]:
    """All cases in an order of the turn's own: each leaves caches and garbage to the next, not always to the same."""
    every = list(cases)
    random.Random(turn).shuffle(every)
    return every


@dataclass(frozen=True)
class Metric:
    """What a number means: its name, unit and definition. ``statistic`` is how samples become one value.

    ``better`` tells which way is good, None that neither is (how long a run was); left out, the unit tells it, or
    nothing does (a number of batches). ``exact``: the same events give the same value in each run, so that one sample
    tells all (bytes on the disk, wrong answers).
    """

    name: str
    unit: str
    definition: str
    statistic: str = "median"
    better: Better | None = _BY_UNIT
    exact: bool = False

    def __post_init__(self) -> None:
        if self.better is _BY_UNIT:
            told = "lower" if self.unit in _LOWER else "higher" if self.unit.endswith("/s") else None
            object.__setattr__(self, "better", told)


@dataclass(frozen=True)
class Goal:
    """A bound that a figure should keep: ``limit`` at most, or at least."""

    limit: float
    at_most: bool

    def met(self, value: float) -> bool:
        return value <= self.limit if self.at_most else value >= self.limit

    def __str__(self) -> str:
        return f"{'≤' if self.at_most else '≥'} {self.limit:g}"

    @classmethod
    def parse(cls, text: str) -> Goal:
        """What ``str`` of a goal was."""
        sign, limit = text.split()
        return cls(float(limit), at_most=sign == "≤")


@dataclass(frozen=True)
class Figure:
    """One measured number. ``of`` says of what: the feed, the scheme, the value asked for. Samples are in order.

    ``derived`` is the value of a metric that is computed from other figures; its samples are the same computation
    turn by turn. ``note``: a word on the value, for people. ``at``: of samples that depend on each other, as steps of a
    time series and requests that wait for one another do, the seconds from the beginning of their run at which each was
    taken, or due; else empty.
    """

    metric: Metric
    samples: tuple[float, ...]
    of: Mapping[str, str] = field(default_factory=dict)
    goal: Goal | None = None
    derived: float | None = None
    note: str = ""
    at: tuple[float, ...] = ()

    @property
    def value(self) -> float:
        return STATISTICS[self.metric.statistic](self.samples) if self.derived is None else self.derived

    @property
    def statistic(self) -> str:
        """How ``value`` comes from the samples, or ``derived``."""
        return self.metric.statistic if self.derived is None else DERIVED

    @property
    def met(self) -> bool | None:
        return None if self.goal is None else self.goal.met(self.value)

    def to_json(self) -> dict[str, Any]:
        return {
            "metric": self.metric.name,
            "of": dict(self.of),
            "value": self.value,
            "unit": self.metric.unit,
            "statistic": self.statistic,
            "better": self.metric.better,
            "exact": self.metric.exact,
            "goal": str(self.goal) if self.goal else None,
            "met": self.met,
            "note": self.note,
            "samples": list(self.samples),
            **({"at": list(self.at)} if self.at else {}),
        }

    @classmethod
    def from_json(cls, written: Mapping[str, Any], definitions: Mapping[str, str]) -> Figure:
        """What ``to_json`` wrote; ``definitions`` of the metrics, by name."""
        name, statistic = written["metric"], written["statistic"]
        derived = statistic == DERIVED
        how = (definitions[name], "median" if derived else statistic, written["better"], written["exact"])
        return cls(
            Metric(name, written["unit"], *how),
            tuple(written["samples"]),
            written["of"],
            Goal.parse(written["goal"]) if written["goal"] else None,
            written["value"] if derived else None,
            written["note"],
            tuple(written.get("at", ())),
        )


def _percentile(percent: float) -> Callable[[Sequence[float]], float]:
    """The smallest sample that so many percent of the samples do not exceed (nearest rank)."""
    return lambda samples: sorted(samples)[max(0, math.ceil(len(samples) * percent / 100) - 1)]


STATISTICS: Mapping[str, Callable[[Sequence[float]], float]] = {
    "median": statistics.median,
    "mean": statistics.fmean,
    "max": max,
    "variance": statistics.pvariance,
    "coefficient of variation": lambda samples: statistics.pstdev(samples) / statistics.fmean(samples),
    "90th percentile": _percentile(90),
    "99th percentile": _percentile(99),
}
"""How samples become one value, by the name that a metric and its JSON give it."""
DERIVED = "derived"


@dataclass(frozen=True)
class Measured:
    """An experiment that has run: ``options`` are all of its own, defaults and the seed included."""

    experiment: str
    summary: str
    options: Mapping[str, Any]
    settings: Mapping[str, Any]
    machine: Mapping[str, Any]
    versions: Mapping[str, str]
    started: datetime
    seconds: float
    figures: tuple[Figure, ...]

    def to_json(self) -> dict[str, Any]:
        return {
            "experiment": self.experiment,
            "summary": self.summary,
            "started": self.started.isoformat(),
            "seconds": round(self.seconds, 3),
            "options": dict(self.options),
            "settings": dict(self.settings),
            "machine": dict(self.machine),
            "versions": dict(self.versions),
            "metrics": {f.metric.name: f.metric.definition for f in self.figures},
            "figures": [figure.to_json() for figure in self.figures],
        }

    @classmethod
    def from_json(cls, written: Mapping[str, Any]) -> Measured:
        """What ``to_json`` wrote. KeyError, TypeError or ValueError for anything else."""
        names = ("experiment", "summary", "options", "settings", "machine", "versions")
        return cls(
            **{name: written[name] for name in names},
            started=datetime.fromisoformat(written["started"]),
            seconds=written["seconds"],
            figures=tuple(Figure.from_json(figure, written["metrics"]) for figure in written["figures"]),
        )


def write_json(path: Path, written: Mapping[str, Any]) -> None:
    write_whole(path, orjson.dumps(written, option=orjson.OPT_INDENT_2) + b"\n")


def write_whole(path: Path, content: bytes) -> None:
    """All of it or nothing: whoever reads ``path`` meanwhile, or after a crash, finds no half of it."""
    part = path.with_name(f".{path.name}.part")
    part.write_bytes(content)
    part.replace(path)


def now() -> datetime:
    return datetime.now(UTC)


def table(figures: Sequence[Figure]) -> str:
    """The figures for people: a line each, in columns."""
    rows = [("metric", "of", "value", "unit", "goal", "", "lowest", "highest", "samples")]
    for figure in figures:
        verdict = {None: "", True: "met", False: "MISSED"}[figure.met]
        rows.append(
            (
                figure.metric.name,
                " ".join(figure.of.values()),
                number(figure.value),
                figure.metric.unit,
                str(figure.goal) if figure.goal else "",
                f"{verdict} {figure.note}".strip(),
                number(min(figure.samples)),
                number(max(figure.samples)),
                str(len(figure.samples)),
            )
        )
    return aligned(rows, right={2, 6, 7, 8})


def aligned(rows: Sequence[Sequence[str]], right: set[int]) -> str:
    """Rows of cells in columns; the columns of ``right`` end at one place."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = (
        "  ".join(
            cell.rjust(w) if i in right else cell.ljust(w) for i, (cell, w) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    )
    return "\n".join(line.rstrip() for line in lines)


def number(value: float) -> str:
    """A value for people, to three digits or so."""
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    if 0 < abs(value) < 0.1:
        return f"{value:.2g}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"
