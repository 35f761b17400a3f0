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
from contextlib import contextmanager
from dataclasses import dataclass, replace

from watchfloor.loadgen.continuous.beside_ingest import read_beside_ingest
from watchfloor.loadgen.continuous.clients import ClientKind, run_clients
from watchfloor.loadgen.continuous.ingest import IngestOptions, sum_ingest
from watchfloor.loadgen.continuous.readers import ReaderOptions, sum_reads
from watchfloor.loadgen.continuous.table import TableLayout, TableRows, create_table
from watchfloor.loadgen.continuous.verify import verify_table
from watchfloor.loadgen.continuous.visibilities import STUDY_AUTHORIZATIONS, STUDY_VISIBILITIES
from watchfloor.loadgen.harness.experiment import Experiment, add_count
from watchfloor.loadgen.harness.measurement.figure import Figure
from watchfloor.loadgen.harness.measurement.goal_size import size_goals
from watchfloor.loadgen.harness.measurement.metric import Goal
from watchfloor.loadgen.harness.session import BenchSession, print_progress
from watchfloor.schema.settings.settings import Settings
from watchfloor.store.workloads.drop_table import drop_table

from .figures import (
    BATCH_WALK,
    BESIDE_INGEST,
    GOALS_FROM,
    INGEST,
    LABELLED,
    LINKED,
    METRICS,
    PLAIN,
    UNSPLIT,
    VERIFIED,
    WALK,
    WRONG,
    make_ingest_figures,
    make_read_figures,
    name_mixed_way,
)
from .plot import draw

INTERVALS, DEPTH = 40, 3
"""Flushes of a client, and rounds of a block of lists, which has one flush more. A block has one visibility, so that a
reader sees some of these ten blocks and not others."""


@dataclass(frozen=True)
class Way:
    """A way of writing: its name in the figures, and what differs from plain linked lists."""

    name: str
    tablets: int
    visibilities: tuple[str, ...] = ()
    is_plain: bool = False


def add_options(parser: ArgumentParser) -> None:
    add_count(parser, "--entries", GOALS_FROM, "entries that all clients write together, each way")
    parser.add_argument(
        "--interval", metavar="N", type=int, help=f"entries between two flushes (default: --entries / {INTERVALS})"
    )
    add_count(parser, "--clients", 1, "ingest clients")
    add_count(parser, "--tablets", 20, "tablets of a table that is split beforehand")
    add_count(parser, "--repeats", 3, "turns, in each of which every way is taken once")
    add_count(parser, "--seconds", 20, "seconds that each kind of reader reads")


def run(session: BenchSession, options: Namespace) -> list[Figure]:
    if options.interval is None:
        options.interval = max(1, options.entries // options.clients // INTERVALS)
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
    ingest = size_goals(make_ingest_figures(rates), options.entries, GOALS_FROM, "entries")
    return [*ingest, *figures, Figure(WRONG, (float(wrong),), goal=Goal(0, at_most=True))]


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
        entries=options.entries // options.clients,
        interval=options.interval,
        depth=DEPTH,
        visibilities=way.visibilities,
    )
    client = ingest.make_plain_client(rows) if way.is_plain else ingest.make_client(rows)
    return sum_ingest(run_clients(settings, client, options.clients, options.seed)).rate


def _mix(settings: Settings, rows: TableRows, options: Namespace) -> tuple[list[Figure], int]:
    """Walks a table, by rows and by batches, while a third of the clients goes on writing; returns as ``_read``."""
    writers = max(1, options.clients // 3)
    ingest = IngestOptions(interval=options.interval, depth=DEPTH).make_client(rows)
    figures: list[Figure] = []
    wrong = 0
    for number, (name, client) in enumerate(_make_walkers(rows, ("",), options).items(), 1):
        seeds = options.seed, options.seed + number * options.clients
        found, rate = read_beside_ingest(settings, client, ingest, writers, seeds, options.seconds)
        wrong += found.missing + found.corrupt
        figures += make_read_figures({"reader": name, "table": BESIDE_INGEST}, found)
        figures.append(Figure(INGEST, (rate,), {"way": name_mixed_way(name)}))
        print_progress(f"{name} beside ingest: {found.request_rate:,.0f} requests/s, {rate:,.0f} entries/s")
    return figures, wrong


def _make_walkers(rows: TableRows, sets: Sequence[str], options: Namespace) -> dict[str, ClientKind]:
    """Returns a walker and a batch walker without pauses."""
    reader = ReaderOptions(sleep=0, report=0, authorizations=tuple(sets))
    batch = min(reader.batch, max(1, options.interval // 100))
    return {
        WALK: reader.make_client("walk", rows),
        BATCH_WALK: replace(reader, batch=batch).make_client("batchwalk", rows),
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
        figures += make_read_figures({"reader": name, "table": way.name}, found)
        print_progress(f"{way.name}, {name}: {found.request_rate:,.0f} requests/s, {found.entry_rate:,.0f} entries/s")
    verified = verify_table(settings, rows)
    print_progress(f"{way.name}: {verified}")
    figures.append(Figure(VERIFIED, (verified.entries / verified.seconds,), {"table": way.name}))
    return figures, wrong + verified.undefined + verified.corrupt


EXPERIMENT = Experiment(
    name="continuous",
    summary="the continuous suite: linked lists written in four ways, walked, scanned and verified",
    metrics=METRICS,
    quick_options=("--entries", "260000", "--repeats", "1", "--seconds", "1"),
    quick_seconds=45,
    add_options=add_options,
    run=run,
    draw=draw,
)
