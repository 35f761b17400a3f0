"""What a measurement is made of: figures with their raw samples, and what they were measured on."""

from __future__ import annotations

import dataclasses
import math
import os
import platform
import statistics
import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

import orjson
import psutil

from watchfloor.store.settings import Settings
from watchfloor.store.stack_java import find_java

_PACKAGES = ("watchfloor", "pyarrow", "numpy", "jpype1", "kafka-python", "flask", "waitress")
_OPTIONAL = ("duckdb", "chdb", "tantivy", "polars")
_ENGINES = ("accumulo-core", "zookeeper", "kafka-clients", "arrow-c-data")


@dataclass(frozen=True)
class Metric:
    """What a number means: its name, unit and definition. ``statistic`` is how samples become one value."""

    name: str
    unit: str
    definition: str
    statistic: str = "median"


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
    turn by turn. ``note``: a word on the value, for people. ``at``: for a time series, the seconds from the beginning
    of its run at which each sample was taken; else empty.
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
    def met(self) -> bool | None:
        return None if self.goal is None else self.goal.met(self.value)

    def to_json(self) -> dict[str, Any]:
        return {
            "metric": self.metric.name,
            "of": dict(self.of),
            "value": self.value,
            "unit": self.metric.unit,
            "statistic": "derived" if self.derived is not None else self.metric.statistic,
            "goal": str(self.goal) if self.goal else None,
            "met": self.met,
            "note": self.note,
            "samples": list(self.samples),
            **({"at": list(self.at)} if self.at else {}),
        }

    @classmethod
    def from_json(cls, written: Mapping[str, Any], definitions: Mapping[str, str]) -> Figure:
        """What ``to_json`` wrote; ``definitions`` of the metrics, by name."""
        derived = written["statistic"] == "derived"
        name = written["metric"]
        return cls(
            Metric(name, written["unit"], definitions[name], "median" if derived else written["statistic"]),
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


@dataclass(frozen=True)
class Measured:
    """An experiment that has run: ``options`` are all of its own, defaults and the seed included."""

    experiment: str
    options: Mapping[str, Any]
    settings: Settings
    started: datetime
    seconds: float
    figures: tuple[Figure, ...]

    def to_json(self) -> dict[str, Any]:
        return {
            "experiment": self.experiment,
            "started": self.started.isoformat(),
            "seconds": round(self.seconds, 3),
            "options": dict(self.options),
            "settings": _plain(dataclasses.asdict(self.settings)),
            "machine": machine(),
            "versions": versions(self.settings),
            "metrics": {f.metric.name: f.metric.definition for f in self.figures},
            "figures": [figure.to_json() for figure in self.figures],
        }


def write_json(path: Path, measured: Measured) -> None:
    path.write_bytes(orjson.dumps(measured.to_json(), option=orjson.OPT_INDENT_2) + b"\n")


def now() -> datetime:
    return datetime.now(UTC)


def machine() -> dict[str, Any]:
    """What the figures were measured on, its load average of the last minute included."""
    memory = psutil.virtual_memory()
    return {
        "system": platform.platform(),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "usable_cores": len(psutil.Process().cpu_affinity()) if hasattr(psutil.Process, "cpu_affinity") else None,
        "memory_bytes": memory.total,
        "available_bytes": memory.available,
        "load_average": round(os.getloadavg()[0], 2),
    }


def versions(settings: Settings) -> dict[str, str]:
    """Versions of Python, Java, the packages and the engines' jars."""
    found = {"python": platform.python_version(), "java": _java_version()}
    for package in _PACKAGES:
        found[package] = metadata.version(package)
    for package in _OPTIONAL:
        with suppress(metadata.PackageNotFoundError):
            found[package] = metadata.version(package)
    for engine in _ENGINES:
        jar = next(iter(sorted(settings.jars.glob(f"{engine}-[0-9]*.jar"))), None)
        if jar is not None:
            found[engine] = jar.stem.removeprefix(f"{engine}-")
    return found


def table(figures: Sequence[Figure]) -> str:
    """The figures for people: a line each, in columns."""
    rows = [("metric", "of", "value", "unit", "goal", "", "lowest", "highest", "samples")]
    for figure in figures:
        verdict = {None: "", True: "met", False: "MISSED"}[figure.met]
        rows.append(
            (
                figure.metric.name,
                " ".join(figure.of.values()),
                _number(figure.value),
                figure.metric.unit,
                str(figure.goal) if figure.goal else "",
                f"{verdict} {figure.note}".strip(),
                _number(min(figure.samples)),
                _number(max(figure.samples)),
                str(len(figure.samples)),
            )
        )
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    right = {2, 6, 7, 8}
    lines = (
        "  ".join(
            cell.rjust(w) if i in right else cell.ljust(w) for i, (cell, w) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    )
    return "\n".join(line.rstrip() for line in lines)


def _number(value: float) -> str:
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    if 0 < abs(value) < 0.1:
        return f"{value:.2g}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")


def _java_version() -> str:
    said = subprocess.run([find_java() / "bin/java", "-version"], capture_output=True, text=True, timeout=20).stderr
    return said.splitlines()[0] if said else ""


def _plain(values: Mapping[str, Any]) -> dict[str, Any]:
    return {key: str(value) if isinstance(value, Path) else value for key, value in values.items()}
