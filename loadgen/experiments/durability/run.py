"""``bench durability``: ingest, and the first row of queries, by what an acknowledged write outlives.

    local files ─▶ HDFS, one replica ─▶ HDFS, three replicas; each with the setting flush, then sync
    ─▶ everything is stopped and started ─▶ linked lists with a flush each few entries ─▶ our own pipeline:
    a load, and the queries A, B and C

HDFS gets more DataNodes and never fewer, so one replica comes before three. The stacks are this experiment's own.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace

from watchfloor.loadgen.continuous.clients import run_clients
from watchfloor.loadgen.continuous.ingest import IngestOptions, sum_ingest
from watchfloor.loadgen.continuous.table import TableLayout, TableRows, create_table
from watchfloor.loadgen.experiments.security.pipeline import time_pipeline
from watchfloor.loadgen.harness.experiment import Experiment, add_count, parse_names
from watchfloor.loadgen.harness.loads import EventFile, write_events
from watchfloor.loadgen.harness.measurement.figure import Figure
from watchfloor.loadgen.harness.session import BenchSession, print_progress, use_second_home
from watchfloor.schema.errors import StoreError
from watchfloor.schema.settings.settings import Settings
from watchfloor.store.stack.stack import start_stack, stop_stack
from watchfloor.store.workloads.drop_table import drop_table

from .figures import METRICS, DurabilityCase, DurabilityTimes, make_figures

FILES = {"local": None, "1 replica": 1, "3 replicas": 3}
"""The DataNodes of each kind of files, in the order in which they are measured; None without HDFS."""
_DURABILITIES = ("flush", "sync")
_TABLE = TableRows("bench_durability")
_START_SECONDS = 300


def add_options(parser: ArgumentParser) -> None:
    add_count(parser, "--entries", 500_000, "entries of linked lists, each turn")
    add_count(parser, "--interval", 1_000, "entries between two flushes")
    add_count(parser, "--events", 200_000, "proxy events that our own pipeline loads, each turn")
    add_count(parser, "--turns", 3, "samples of writing and of loads in each case")
    add_count(parser, "--questions", 10, "times that each query is asked after a load")
    parser.add_argument(
        "--files", metavar="F,…", type=_parse_files, default=tuple(FILES), help=f"default {','.join(FILES)}"
    )


def run(session: BenchSession, options: Namespace) -> list[Figure]:
    file = write_events(session.folder / "proxy.json", options.events, options.seed)
    figures: list[Figure] = []
    if "local" in options.files:
        figures += _measure_files("local", session.settings, session, file, options)
    if of_hdfs := [name for name, datanodes in FILES.items() if datanodes and name in options.files]:
        with use_second_home(session, "hdfs") as settings:
            for name in of_hdfs:
                figures += _measure_files(name, settings, session, file, options)
    return figures


def _measure_files(
    files: str, settings: Settings, session: BenchSession, file: EventFile, options: Namespace
) -> Iterator[Figure]:
    """Yields the figures of both settings of durability on files of one kind."""
    for durability in _DURABILITIES:
        case = DurabilityCase(files, durability)
        changed = replace(settings, durability=durability, up_seconds=max(settings.up_seconds, _START_SECONDS))
        if changed.home.is_dir():
            stop_stack(changed)
        start_stack(changed, datanodes=FILES[files])
        times = DurabilityTimes()
        for _ in range(options.turns):
            _write_entries(changed, options, times)
            times.loads.append(
                time_pipeline(BenchSession(changed, session.store, session.folder), file, options.questions)
            )
        print_progress(
            f"{files}, {durability}: {max(times.rates):,.0f} entries/s, "
            f"{max(load.speed for load in times.loads):,.0f} events/s"
        )
        yield from make_figures(case, times)


def _write_entries(settings: Settings, options: Namespace, times: DurabilityTimes) -> None:
    """Writes entries into a new table, and adds the rate and the times of the flushes."""
    with suppress(StoreError):
        drop_table(settings, _TABLE.name)
    create_table(settings, _TABLE, TableLayout(tablets=4))
    try:
        client = IngestOptions(entries=options.entries, interval=options.interval).make_client(_TABLE)
        written = run_clients(settings, client, 1, options.seed)
    finally:
        drop_table(settings, _TABLE.name)
    times.rates.append(sum_ingest(written).rate)
    times.flushes += [float(record["duration"]) for one in written for record in one if "duration" in record]


def _parse_files(text: str) -> tuple[str, ...]:
    return parse_names(text, FILES)


EXPERIMENT = Experiment(
    name="durability",
    summary="ingest and first rows with flush and sync, on local files and on one and three replicas in HDFS",
    metrics=METRICS,
    quick_options=("--entries", "20000", "--events", "5000", "--turns", "1", "--questions", "2"),
    quick_seconds=300,
    add_options=add_options,
    run=run,
    own_stack=True,
    named_only=True,
)
