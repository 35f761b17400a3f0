"""Loads a file through the queue and worker processes, timed by the workers' own clocks, with its CPU seconds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from watchfloor.ingest.intake.load import Load
from watchfloor.ingest.records.ledger import Ledger
from watchfloor.loadgen.generator.generate import GenerationSummary, generate_events
from watchfloor.loadgen.generator.planted_paths import plant_paths
from watchfloor.schema.errors import InternalError
from watchfloor.schema.source import Source

from .cpu_usage import CpuMeter, CpuPart, await_rest
from .session import BenchSession, print_progress

_SAY_SECONDS = 10


@dataclass(frozen=True)
class LogFile:
    """A file of ``events`` lines; ``feed`` names the built-in definition that all of them fit."""

    path: Path
    feed: str
    events: int
    bytes: int


@dataclass(frozen=True)
class EventFile(LogFile):
    """A file of generated proxy events with planted paths; ``spread`` events have ``SPREAD_PATH``."""

    generated: GenerationSummary
    spread: int


@dataclass(frozen=True)
class LoadCase:
    """A way to load: ``file`` names the file, and ``mode`` is the way in which the workers write."""

    layout: str
    file: Literal["whole", "tenth", "access log"]
    workers: int
    mode: Literal["live", "bulk"] = "live"


@dataclass(frozen=True)
class LoadTiming:
    """The times of a load.

    ``seconds`` count from the first item taken to the last item durable; ``cpu`` has the CPU seconds of each part in
    that time.
    """

    events: int
    bytes: int
    seconds: float
    cpu: Mapping[CpuPart, float]


def make_case_labels(case: LoadCase, file: LogFile) -> dict[str, str]:
    """Returns the labels of a figure of a load."""
    workers = f"{case.workers} worker{'s' * (case.workers > 1)}"
    labels = {"engine": case.layout, "events": f"{file.events:,}", "workers": workers, "mode": case.mode}
    return labels if isinstance(file, EventFile) else {**labels, "feed": file.feed}


def write_events(path: Path, events: int, seed: int) -> EventFile:
    """Generates proxy events into a file and plants the paths that questions look for."""
    with path.open("wb") as out:
        generated = generate_events(out, events, seed)
    speed = f"{generated.bytes / 1e6:,.0f} MB, {generated.bytes / 1e6 / generated.seconds:,.0f} MB/s"
    print_progress(f"{events:,} events generated: {speed}")
    return EventFile(path, "proxy.events", generated.events, generated.bytes, generated, plant_paths(path, events))


def describe_access_log(path: Path) -> LogFile:
    """Returns a web access log with its numbers of lines and bytes."""
    with path.open("rb") as file:
        lines = sum(1 for line in file if line.strip())
    return LogFile(path, "web.access", lines, path.stat().st_size)


def load_file(session: BenchSession, source: Source, file: LogFile, case: LoadCase) -> LoadTiming:
    """Waits until the servers are idle, then loads the whole file as ``watchfloor load`` does.

    Raises ``InternalError`` if not all of its events were loaded.
    """
    await_rest(session.settings)
    settings = replace(session.settings, ingest_mode=case.mode)
    with CpuMeter(session.settings) as meter:
        load = Load(settings, [file.path], source.name, workers=case.workers)
        reported = 0.0
        for progress in load:
            if progress.seconds - reported > _SAY_SECONDS:
                reported = progress.seconds
                print_progress(f"  {progress.events:,} events in {progress.seconds:.0f} s")
    rows = [row for row in Ledger(session.store).read_rows() if row.item and row.item.feed == source.name]
    ends = [row.end for row in rows if row.end]
    if not load.result.clean or load.result.events != file.events:
        raise InternalError(f"{file.path} has {file.events} events, and loaded were {load.result}")
    since, until = min(end.at - end.seconds for end in ends), max(end.at for end in ends)
    return LoadTiming(file.events, file.bytes, until - since, meter.measure_between(since, until))
