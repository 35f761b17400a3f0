"""All figures of an experiment that has run, with the surroundings in which they were measured, as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson

from .figure import Figure


@dataclass(frozen=True)
class Measurement:
    """An experiment that has run. ``options`` are all of its own, defaults and the seed included."""

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
            "titles": {f.metric.name: f.metric.title for f in self.figures},
            "figures": [figure.to_json() for figure in self.figures],
        }

    @classmethod
    def from_json(cls, written: Mapping[str, Any]) -> Measurement:
        """Reads what ``to_json`` wrote. Raises KeyError, TypeError or ValueError for anything else."""
        names = ("experiment", "summary", "options", "settings", "machine", "versions")
        return cls(
            **{name: written[name] for name in names},
            started=datetime.fromisoformat(written["started"]),
            seconds=written["seconds"],
            figures=tuple(
                # Runs before metrics had titles are read too.
                Figure.from_json(figure, written["metrics"], written.get("titles", {}))
                for figure in written["figures"]
            ),
        )


def write_json(path: Path, written: Mapping[str, Any]) -> None:
    write_whole(path, orjson.dumps(written, option=orjson.OPT_INDENT_2) + b"\n")


def write_whole(path: Path, content: bytes) -> None:
    """Writes a file completely or not at all: a reader of ``path`` never finds half of it, even after a crash."""
    part = path.with_name(f".{path.name}.part")
    part.write_bytes(content)
    part.replace(path)


def current_time() -> datetime:
    return datetime.now(UTC)
