"""``bench continuous``: linked lists are written in several ways, walked, scanned and verified.

Each way of writing gets a new table: the plainest loop of a BatchWriter, the linked lists of the suite, the same with
the study's visibilities, and the same into a table that is not split beforehand. In the end the lists are walked once
more while writing goes on.
"""

from __future__ import annotations

import secrets
from argparse import ArgumentParser, Namespace
from collections import defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace

from watchfloor.loadgen.continuous.clients import ClientKind, run_clients, start_clients
from watchfloor.loadgen.continuous.ingest import IngestOptions, sum_ingest
from watchfloor.loadgen.continuous.readers import ReaderOptions, ReadResult, sum_reads
from watchfloor.loadgen.continuous.table import TableLayout, TableRows, create_table
from watchfloor.loadgen.continuous.verify import verify_table
from watchfloor.loadgen.continuous.visibilities import STUDY_AUTHORIZATIONS, STUDY_VISIBILITIES
from watchfloor.loadgen.harness.experiment import Experiment, add_count
from watchfloor.loadgen.harness.measurement.figure import Figure
from watchfloor.loadgen.harness.measurement.metric import Goal, Metric
from watchfloor.loadgen.harness.session import BenchSession, print_progress
from watchfloor.schema.settings.settings import Settings
from watchfloor.store.workloads.drop_table import drop_table

INGEST = Metric(
    "continuous_entries_per_second",
    "entries/s",
    "entries of all clients / seconds from the first entry to the last flush",
)
RATIO = Metric(
    "continuous_ingest_ratio", "", "continuous_entries_per_second of a way / that of the way it is compared with",
    better="higher",
)  # fmt: skip
REQUESTS = Metric("continuous_requests_per_second", "requests/s", "requests of one reader without pauses / seconds")
READ = Metric("continuous_entries_read_per_second", "entries/s", "entries that these requests returned / seconds")
LATENCY = Metric("continuous_request_ms", "ms", "mean time of a request")
VERIFIED = Metric("continuous_verified_per_second", "entries/s", "entries of the table / seconds of its verification")
WRONG = Metric(
    "continuous_wrong", "", "undefined rows, corrupt entries and missing rows that readers and verification found",
    better="lower", exact=True,
)  # fmt: skip
METRICS = (INGEST, RATIO, REQUESTS, READ, LATENCY, VERIFIED, WRONG)


@dataclass(frozen=True)
class Way:
    """A way of writing: its name in the figures, and what differs from plain linked lists."""

    name: str
    tablets: int
    visibilities: tuple[str, ...] = ()
    is_plain: bool = False


PLAIN = "plain BatchWriter loop"
LINKED = "linked lists"
LABELLED = "linked lists with visibilities"
UNSPLIT = "linked lists, not split beforehand"


def add_options(parser: ArgumentParser) -> None:
    add_count(parser, "--entries", 5_000_000, "entries that each client writes, each way")
    add_count(parser, "--interval", 1_000_000, "entries between two flushes")
    add_count(parser, "--clients", 1, "ingest clients")
    add_count(parser, "--tablets", 20, "tablets of a table that is split beforehand")
    add_count(parser, "--repeats", 3, "turns, in each of which every way is taken once")
    add_count(parser, "--seconds", 20, "seconds that each kind of reader reads")


def run(session: BenchSession, options: Namespace) -> list[Figure]:
    ways = (
        Way(PLAIN, options.tablets, is_plain=True),
        Way(UNSPLIT, 1),
        Way(LABELLED, options.tablets, STUDY_VISIBILITIES),
        Way(LINKED, options.tablets),
    )
    rates: dict[str, list[float]] = defaultdict(list)
    figures: list[Figure] = []
    wrong = 0
    for turn in range(options.repeats):
        for way in ways if turn % 2 == 0 else ways[::-1]:
            with _make_table(session.settings, way) as rows:
                rates[way.name].append(_ingest(session.settings, rows, way, options))
                is_last = turn == options.repeats - 1
                print_progress(f"{way.name}: {rates[way.name][-1]:,.0f} entries/s")
                if is_last and way.name in (LINKED, LABELLED):
                    read, found = _read(session.settings, rows, way, options)
                    figures += read
                    wrong += found
                if is_last and way.name == LINKED:
                    read, found = _mix(session.settings, rows, options)
                    figures += read
                    wrong += found
    return [*_make_ingest_figures(rates), *figures, Figure(WRONG, (float(wrong),), goal=Goal(0, at_most=True))]


@contextmanager
def _make_table(settings: Settings, way: Way) -> Iterator[TableRows]:
    """Makes a table for a way of writing, and removes it at the end."""
    rows = TableRows(f"bench_continuous_{secrets.token_hex(4)}")
    allowed = STUDY_AUTHORIZATIONS if way.visibilities else ()
    create_table(settings, rows, TableLayout(way.tablets, authorizations=allowed))
    try:
        yield rows
    finally:
        drop_table(settings, rows.name)


def _ingest(settings: Settings, rows: TableRows, way: Way, options: Namespace) -> float:
    """Writes the entries and returns the entries a second."""
    ingest = IngestOptions(
        entries=options.entries // options.clients, interval=options.interval, visibilities=way.visibilities
    )
    client = ingest.make_plain_client(rows) if way.is_plain else ingest.make_client(rows)
    return sum_ingest(run_clients(settings, client, options.clients, options.seed)).rate


def _mix(settings: Settings, rows: TableRows, options: Namespace) -> tuple[list[Figure], int]:
    """Walks a table, by rows and by batches, while a third of the clients goes on writing; returns as ``_read``."""
    writers = max(1, options.clients // 3)
    ingest = IngestOptions(interval=options.interval).make_client(rows)
    figures: list[Figure] = []
    wrong = 0
    for number, (name, client) in enumerate(_make_walkers(rows, ("",), options).items(), 1):
        with (
            start_clients(settings, ingest, writers, options.seed + number * options.clients) as running,
            ThreadPoolExecutor(1) as pool,
        ):
            written = pool.submit(running.wait)
            try:
                found = sum_reads(run_clients(settings, client, 1, options.seed, seconds=options.seconds))
            finally:
                running.stop()
        rate = sum_ingest(written.result()).rate
        wrong += found.missing + found.corrupt
        figures += _make_read_figures({"reader": name, "table": f"{LINKED}, beside ingest"}, found)
        figures.append(Figure(INGEST, (rate,), {"way": f"{LINKED}, beside a {name}"}))
        print_progress(f"{name} beside ingest: {found.request_rate:,.0f} requests/s, {rate:,.0f} entries/s")
    return figures, wrong


def _make_walkers(rows: TableRows, sets: Sequence[str], options: Namespace) -> dict[str, ClientKind]:
    """Returns a walker and a batch walker without pauses."""
    reader = ReaderOptions(sleep=0, report=0, authorizations=tuple(sets))
    batch = min(reader.batch, max(1, options.interval // 100))
    return {
        "walk": reader.make_client("walk", rows),
        "batch walk": replace(reader, batch=batch).make_client("batchwalk", rows),
    }


def _read(settings: Settings, rows: TableRows, way: Way, options: Namespace) -> tuple[list[Figure], int]:
    """Reads a table in all ways; returns the figures and the number of things that were wrong."""
    sets = STUDY_AUTHORIZATIONS if way.visibilities else ("",)
    scanner = ReaderOptions(sleep=0, report=0, authorizations=sets).make_client("scan", rows)
    readers = {**_make_walkers(rows, sets, options), "scan": scanner}
    figures: list[Figure] = []
    wrong = 0
    for name, client in readers.items():
        found = sum_reads(run_clients(settings, client, 1, options.seed, seconds=options.seconds))
        wrong += found.missing + found.corrupt
        figures += _make_read_figures({"reader": name, "table": way.name}, found)
        print_progress(f"{way.name}, {name}: {found.request_rate:,.0f} requests/s, {found.entry_rate:,.0f} entries/s")
    verified = verify_table(settings, rows)
    print_progress(f"{way.name}: {verified}")
    figures.append(Figure(VERIFIED, (verified.entries / verified.seconds,), {"table": way.name}))
    return figures, wrong + verified.undefined + verified.corrupt


def _make_read_figures(labels: dict[str, str], found: ReadResult) -> Iterator[Figure]:
    yield Figure(REQUESTS, (found.request_rate,), labels)
    yield Figure(READ, (found.entry_rate,), labels)
    yield Figure(LATENCY, (1000 * found.mean,), labels)


def _make_ingest_figures(rates: dict[str, list[float]]) -> Iterator[Figure]:
    for name, samples in rates.items():
        yield Figure(INGEST, tuple(samples), {"way": name})
    compared = ((LINKED, PLAIN, Goal(0.9, at_most=False)), (LABELLED, LINKED, Goal(0.85, at_most=False)))
    for name, other, goal in (*compared, (UNSPLIT, LINKED, None)):
        ratios = tuple(one / two for one, two in zip(rates[name], rates[other], strict=True))
        yield Figure(RATIO, ratios, {"way": name, "compared with": other}, goal)


EXPERIMENT = Experiment(
    name="continuous",
    summary="the continuous suite: linked lists written in four ways, walked, scanned and verified",
    metrics=METRICS,
    quick_options=("--entries", "260000", "--interval", "10000", "--repeats", "1", "--seconds", "2"),
    quick_seconds=60,
    add_options=add_options,
    run=run,
)
