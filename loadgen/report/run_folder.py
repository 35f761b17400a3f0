"""A run folder: ``NAME.json`` of each experiment that has run, and ``run.json``, the record of what was requested.

DIR/run.json      quick or not, seed, machine, versions; of each experiment its options, seconds, and its failure
DIR/NAME.json     an experiment's figures, as ``bench NAME --json`` writes them
DIR/log/NAME.log  its output while it ran
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from watchfloor.loadgen.experiments.registry import list_names
from watchfloor.loadgen.harness.measurement.measurement import Measurement, write_json
from watchfloor.schema.errors import InputFileError, UserError
from watchfloor.schema.files.paths import show_path

RECORD = "run.json"


@dataclass(frozen=True)
class SuiteRun:
    """The contents of a run folder, or of one experiment's JSON file.

    ``missing`` has the reason for each experiment that was requested and not measured; empty if it is not known.
    """

    path: Path
    record: Mapping[str, Any]
    measurements: tuple[Measurement, ...]
    missing: Mapping[str, str]


def read_run(path: Path) -> SuiteRun:
    """Reads a run folder, its experiments in alphabetical order; or one JSON file, as a run of one experiment.

    Raises ``InputFileError`` if there is no run, or if a file in the folder was not written by an experiment.
    """
    if not path.is_dir():
        return SuiteRun(path, {}, (read_measurement(path),), {})
    ranks = {name: rank for rank, name in enumerate(list_names())}
    record = _read_record(path)
    read = [read_measurement(file) for file in sorted(path.glob("*.json")) if file.name != RECORD]
    requested: Mapping[str, Any] = record.get("experiments", {})
    if not read and not requested:
        raise InputFileError(
            f"{show_path(path)} holds no experiment's JSON: `watchfloor bench all --out {show_path(path)}` writes them"
        )
    missing = {n: e.get("failed") or "" for n, e in requested.items() if n not in {m.experiment for m in read}}
    measurements = sorted(read, key=lambda m: (ranks.get(m.experiment, len(ranks)), m.experiment))
    return SuiteRun(path, record, tuple(measurements), missing)


def read_measurement(path: Path) -> Measurement:
    """Reads a file that ``bench NAME --json`` wrote. Raises ``InputFileError`` for anything else."""
    try:
        return Measurement.from_json(_read_json(path))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputFileError(
            f"{show_path(path)} is not what `watchfloor bench NAME --json` writes: {type(error).__name__}: {error}"
        ) from None


class RunFolder:
    """A run folder that is written. ``surroundings`` are the machine and versions of a run that begins here."""

    def __init__(self, path: Path, quick: bool, seed: int, surroundings: Mapping[str, Any]) -> None:
        """Begins a run in ``path``, or continues the run there.

        Raises ``UserError`` if that run was requested otherwise, or if ``path`` holds something else.
        """
        self.path = path
        if path.exists() and not path.is_dir():
            raise UserError(f"--out {show_path(path)} is a file; name a folder for the run")
        self._record = _read_record(path)
        requested = {"quick": quick, "seed": seed}
        if not self._record:
            if other := next(iter(sorted(path.glob("*.json"))), None):
                raise UserError(
                    f"--out {show_path(path)} holds {show_path(other.name)} and no {RECORD}: "
                    "name another folder for the run"
                )
            self._record = {**requested, **surroundings, "experiments": {}}
        for name, value in requested.items():
            if self._record.get(name) != value:
                raise UserError(
                    f"--out {show_path(path)} holds a run with {name} = {self._record.get(name)}, not {value}: "
                    "ask for the same, or name another folder"
                )

    @property
    def seconds(self) -> Mapping[str, float]:
        """The seconds of each experiment that has ended in this folder."""
        entries = self._record["experiments"].items()
        return {name: entry["seconds"] for name, entry in entries if "seconds" in entry}

    def json_path(self, name: str) -> Path:
        return self.path / f"{name}.json"

    def log_path(self, name: str) -> Path:
        return self.path / "log" / f"{name}.log"

    def request_experiment(self, name: str, options: Sequence[str]) -> bool:
        """Records the request of an experiment. Returns True if it has run with these options already.

        Raises ``UserError`` if it has run with other options.
        """
        entry = self._record["experiments"].get(name)
        done = self.json_path(name).exists()
        if done and (entry is None or entry["options"] != list(options)):
            had = " ".join(entry["options"]) or "its defaults" if entry else "options that are not known"
            raise UserError(
                f"{show_path(self.json_path(name))} was measured with {had}, "
                f"not {' '.join(options) or 'its defaults'}: delete it, or name another folder"
            )
        if done:
            read_measurement(self.json_path(name))
        elif entry is None or entry["options"] != list(options):
            self._record["experiments"][name] = {"options": list(options)}
        return done

    def record_end(self, name: str, seconds: float, failed: str = "") -> None:
        """Records the seconds of an experiment, and the reason if it failed."""
        entry = self._record["experiments"][name]
        entry.update(seconds=round(seconds, 1), failed=failed)
        if failed:
            self.json_path(name).unlink(missing_ok=True)
        self.save()

    def save(self) -> None:
        (self.path / "log").mkdir(parents=True, exist_ok=True)
        write_json(self.path / RECORD, self._record)


def _read_record(folder: Path) -> dict[str, Any]:
    """Reads ``run.json``; returns an empty record if there is none."""
    path = folder / RECORD
    if not path.exists():
        return {}
    record = _read_json(path)
    if not isinstance(record, dict) or not isinstance(record.get("experiments"), dict):
        raise InputFileError(f"{show_path(path)} is not what `watchfloor bench all` writes")
    return record


def _read_json(path: Path) -> Any:
    try:
        return orjson.loads(path.read_bytes())
    except OSError as error:
        raise InputFileError(f"{show_path(path)} cannot be read: {error.strerror}") from None
    except orjson.JSONDecodeError as error:
        raise InputFileError(f"{show_path(path)} is not JSON: {error}") from None
