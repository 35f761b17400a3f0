"""``bench security``: continuous ingest at each level of security, with queries beside it, and our own pipeline.

    for each level, in the study's order ─▶ some iterations: everything is stopped, the disk written, the page cache
    dropped, everything started ─▶ a new table ─▶ linked lists with small buffers, beside the statistics collector
    ─▶ a walker alone, and beside ingest ─▶ our own pipeline: a load, and the queries A, B and C

The study measured the first part and announced the second. The stack is one of this experiment's own.
"""

from __future__ import annotations

import os
import resource
from argparse import ArgumentParser, Namespace
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

from watchfloor.loadgen.continuous.beside_ingest import read_beside_ingest
from watchfloor.loadgen.continuous.clients import ClientKind, run_clients, start_clients
from watchfloor.loadgen.continuous.collector import make_collector
from watchfloor.loadgen.continuous.ingest import FOR_EVER, IngestOptions, sum_ingest
from watchfloor.loadgen.continuous.readers import ReaderOptions, sum_reads
from watchfloor.loadgen.continuous.table import TableLayout, TableRows, create_table
from watchfloor.loadgen.harness.cpu_usage import find_servers, read_cpu_seconds
from watchfloor.loadgen.harness.experiment import Experiment, add_count
from watchfloor.loadgen.harness.loads import write_events
from watchfloor.loadgen.harness.measurement.figure import Figure
from watchfloor.loadgen.harness.session import BenchSession, print_progress
from watchfloor.schema.errors import StoreError, UserError
from watchfloor.schema.settings.settings import Settings
from watchfloor.store.stack.home.flavour import SECURITY_LEVELS
from watchfloor.store.stack.stack import start_stack, stop_stack
from watchfloor.store.workloads.client_process import Record
from watchfloor.store.workloads.drop_table import drop_table

from .figures import BESIDE_WALK, METRICS, SERIES, SPENT, WALKED, make_elapsed_figures
from .pipeline import measure_pipeline
from .plot import draw

_TABLE = TableRows("bench_security")
_CACHES = Path("/proc/sys/vm/drop_caches")
_BUFFER = 500_000
"""Bytes of a BatchWriter, as in the study, which made the cost of writing large by it."""
_INTERVALS = 20
"""Flushes of a client."""
_SERIES_SECONDS = 1.0


def add_options(parser: ArgumentParser) -> None:
    add_count(parser, "--entries", 2_000_000, "entries that all clients write together, each iteration")
    add_count(parser, "--iterations", 5, "iterations of a level")
    add_count(parser, "--clients", 1, "ingest clients")
    add_count(parser, "--tablets", 8, "tablets of the table")
    add_count(parser, "--buffer", _BUFFER, "bytes of a BatchWriter's buffer")
    add_count(parser, "--seconds", 10, "seconds that a walker reads, alone and beside ingest")
    add_count(parser, "--events", 200_000, "proxy events that our own pipeline loads")
    add_count(parser, "--turns", 10, "turns of our queries")
    parser.add_argument(
        "--levels", metavar="LEVELS", default=",".join(SECURITY_LEVELS),
        help="levels of security, by commas (default: all)",
    )  # fmt: skip


def run(session: BenchSession, options: Namespace) -> list[Figure]:
    levels = options.levels.split(",")
    if unknown := set(levels) - set(SECURITY_LEVELS):
        raise UserError(f"--levels: {', '.join(sorted(unknown))}: there are {', '.join(SECURITY_LEVELS)}")
    file = write_events(session.folder / "proxy.json", options.events, options.seed)
    elapsed: dict[str, list[float]] = defaultdict(list)
    figures: list[Figure] = []
    for level in levels:
        spent: list[float] = []
        for iteration in range(options.iterations):
            is_last = iteration == options.iterations - 1
            _restart_everything(session.settings, level)
            with _make_table(session.settings, options.tablets):
                before = _read_spent(session.settings)
                milliseconds, records = _ingest_lists(session.settings, options)
                spent.append(_read_spent(session.settings) - before)
                elapsed[level].append(milliseconds)
                print_progress(f"{level}, iteration {iteration + 1}: {milliseconds:,.0f} ms")
                if is_last:
                    figures += _list_series(level, records)
                    figures += _measure_walkers(session.settings, level, options)
        figures.append(Figure(SPENT, tuple(spent), {"level": level}))
        figures += measure_pipeline(session, level, file, options.turns)
    return [*make_elapsed_figures(elapsed), *figures]


def _restart_everything(settings: Settings, level: str) -> None:
    """Stops everything, drops the page cache and starts everything, as the study did between two iterations."""
    stop_stack(settings)
    os.sync()
    try:
        _CACHES.write_text("3")
    except OSError:
        print_progress("the page cache is not dropped: only root may do that")
    start_stack(settings, security=level)


@contextmanager
def _make_table(settings: Settings, tablets: int) -> Iterator[None]:
    with suppress(StoreError):
        drop_table(settings, _TABLE.name)
    create_table(settings, _TABLE, TableLayout(tablets))
    try:
        yield
    finally:
        drop_table(settings, _TABLE.name)


def _ingest_lists(settings: Settings, options: Namespace) -> tuple[float, list[Record]]:
    """Writes the entries; returns the milliseconds and the records of the statistics collector."""
    collector = make_collector(_TABLE, _SERIES_SECONDS, None)
    with start_clients(settings, collector, 1, options.seed) as collecting, ThreadPoolExecutor(1) as pool:
        collected = pool.submit(collecting.wait)
        try:
            written = run_clients(
                settings,
                _make_ingest(options, options.entries // options.clients),
                options.clients,
                options.seed,
            )
        finally:
            collecting.stop()
    result = sum_ingest(written)
    return 1000 * result.seconds, [record for record in collected.result()[0] if "time" in record]


def _read_spent(settings: Settings) -> float:
    """Returns the processor seconds that tablet servers, and processes of this one that have ended, have taken."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return ended.ru_utime + ended.ru_stime + sum(map(read_cpu_seconds, find_servers(settings)["tserver"]))


def _make_ingest(options: Namespace, entries: int = FOR_EVER) -> ClientKind:
    interval = max(1, options.entries // options.clients // _INTERVALS)
    return IngestOptions(entries=entries, interval=interval, buffer=options.buffer).make_client(_TABLE)


def _list_series(level: str, records: list[Record]) -> Iterator[Figure]:
    """Yields the four series that the study plotted."""
    at = tuple((record["time"] - records[0]["time"]) / 1000 for record in records)
    for name, metric in SERIES.items():
        yield Figure(metric, tuple(float(record[name]) for record in records), {"level": level}, at=at)


def _measure_walkers(settings: Settings, level: str, options: Namespace) -> Iterator[Figure]:
    """Walks the lists alone, and while a client goes on writing: the study's second part, which was only announced."""
    walker = ReaderOptions(sleep=0, report=0).make_client("walk", _TABLE)
    alone = sum_reads(run_clients(settings, walker, 1, options.seed, seconds=options.seconds))
    seeds = options.seed, options.seed + options.clients
    beside, rate = read_beside_ingest(settings, walker, _make_ingest(options), 1, seeds, options.seconds)
    print_progress(
        f"{level}: {alone.request_rate:,.0f} look-ups/s, {beside.request_rate:,.0f} beside {rate:,.0f} entries/s"
    )
    yield Figure(WALKED, (alone.request_rate,), {"level": level, "beside ingest": "no"})
    yield Figure(WALKED, (beside.request_rate,), {"level": level, "beside ingest": "yes"})
    yield Figure(BESIDE_WALK, (rate,), {"level": level})


EXPERIMENT = Experiment(
    name="security",
    summary="the security study: continuous ingest and queries at each level, and our own pipeline",
    metrics=METRICS,
    quick_options=(
        *("--entries", "50000", "--iterations", "1", "--seconds", "1", "--events", "5000", "--turns", "2"),
        *("--levels", "none,ssl,auth-conf"),
    ),
    quick_seconds=120,
    add_options=add_options,
    run=run,
    draw=draw,
    own_stack=True,
    named_only=True,
)
