"""``bench formats``: the speed at which one worker's parser makes columns of each text format.

lines of a format ─▶ a file ─▶ told by its content ─▶ chunks ─▶ the worker's parser, one thread ─▶ figures
"""

from __future__ import annotations

import time
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from pathlib import Path

from watchfloor.ingest.files.lines import read_chunks
from watchfloor.ingest.formats.registry import open_parser
from watchfloor.ingest.intake.sniff import sniff_file
from watchfloor.ingest.parsing.format import SniffResult
from watchfloor.loadgen.harness.experiment import Experiment, add_count
from watchfloor.loadgen.harness.measurement.figure import Figure
from watchfloor.loadgen.harness.measurement.goal_size import size_goals
from watchfloor.loadgen.harness.measurement.metric import Goal, Metric
from watchfloor.loadgen.harness.session import BenchSession, print_progress
from watchfloor.schema.definition import builtin_definitions
from watchfloor.schema.source import Source

from .samples import SAMPLES, write_lines

SPEED = Metric(
    "parsed_megabytes_per_cpu_second",
    "MB/s",
    "bytes of the log / 1,000,000 / CPU seconds of the process, reading and all checks included",
    title="log parsed in a second of a processor",
)
RATE = Metric(
    "parsed_events_per_cpu_second",
    "events/s",
    "events / CPU seconds of the process",
    title="events parsed in a second of a processor",
)
UNFIT = Metric(
    "unfit_lines",
    "",
    "lines of the samples that became no event",
    better="lower",
    exact=True,
    title="lines that became no event",
)
_GOALS_FROM = 8
"""Megabytes a format from which on the goals hold: of less, what a parser does once counts too much."""


def add_options(parser: ArgumentParser) -> None:
    add_count(parser, "--megabytes", 16, "size of each format's log")
    add_count(parser, "--repeats", 5, "samples of each speed")


def run(session: BenchSession, options: Namespace) -> list[Figure]:
    speeds: list[Figure] = []
    rates: list[Figure] = []
    unfit = 0
    for name, sample in SAMPLES.items():
        path = session.folder / "formats.log"
        path.write_bytes(write_lines(sample, options.megabytes * 1_000_000, options.seed))
        sniffed = sniff_file(path, None, {})
        megabytes = path.stat().st_size / 1e6
        seconds: list[float] = []
        for turn in range(-1, options.repeats):
            started = time.process_time()
            events, rejected = parse_log(path, sniffed)
            if turn >= 0:
                seconds.append(time.process_time() - started)
        unfit += rejected
        labels = {"format": name, "source": sample.source}
        goal = None if sample.goal is None else Goal(sample.goal, at_most=False)
        speeds.append(Figure(SPEED, tuple(megabytes / each for each in seconds), labels, goal=goal))
        rates.append(Figure(RATE, tuple(events / each for each in seconds), labels))
        print_progress(f"{name}: {speeds[-1].value:,.0f} MB/s, {rates[-1].value:,.0f} events/s")
    speeds = size_goals(speeds, options.megabytes, _GOALS_FROM, "megabytes")
    return [*speeds, *rates, Figure(UNFIT, (float(unfit),), goal=Goal(0, at_most=True))]


def parse_log(path: Path, sniffed: SniffResult) -> tuple[int, int]:
    """Parses a file as a worker does; returns the events and the rejected lines."""
    shipped = builtin_definitions()

    def resolve(name: str, derive: Callable[[], Source]) -> Source:
        return shipped.get(name) or derive()

    parser = open_parser(sniffed.feed, sniffed.header, resolve)
    events = rejected = 0
    for chunk in read_chunks(path):
        parsed = parser.parse(chunk)
        events += parsed.count
        rejected += len(parsed.rejected)
    return events, rejected


EXPERIMENT = Experiment(
    name="formats",
    summary="text formats: megabytes and events a processor second that one worker's parser makes of each",
    metrics=(SPEED, RATE, UNFIT),
    quick_options=("--megabytes", "2", "--repeats", "1"),
    quick_seconds=12,
    add_options=add_options,
    run=run,
)
