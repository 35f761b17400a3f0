"""``bench ingest``: the rate by clients and tablet servers, the saturation point, and the waiting near it.

    a tablet server ─▶ 1, 2, 4 clients, closed loop ─▶ two tablet servers ─▶ the same ─▶ open loop at shares of the rate

It follows figures 3 and 4 of Sawyer and O'Gwynn, "Evaluating Accumulo Performance for a Scalable Cyber Data Processing
Pipeline", HPEC 2014. ``docs/measuring/ingest-scaling.md`` describes the course of a run and the meaning of its figures.
"""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Iterator

from watchfloor.loadgen.harness.cpu_usage import await_rest
from watchfloor.loadgen.harness.experiment import Experiment
from watchfloor.loadgen.harness.ingest.clients import run_clients
from watchfloor.loadgen.harness.ingest.rates import compute_series
from watchfloor.loadgen.harness.ingest.runs import (
    IngestRun,
    OpenIngestRun,
    run_closed_loop,
    run_open_loop,
    warm_up_clients,
)
from watchfloor.loadgen.harness.ingest.server_watch import await_spread
from watchfloor.loadgen.harness.ingest.work_supply import ITEM_EVENTS, WorkSupply
from watchfloor.loadgen.harness.measurement.figure import Figure
from watchfloor.loadgen.harness.open_loop import schedule_evenly
from watchfloor.loadgen.harness.session import BenchSession, print_progress
from watchfloor.schema.errors import UserError
from watchfloor.schema.source import Source
from watchfloor.store.stack.stack import start_stack

from .figures import (
    METRICS,
    find_saturated_clients,
    make_closed_figures,
    make_closed_labels,
    make_open_figures,
    make_open_labels,
    make_published_figure,
    make_saturation_figures,
)
from .plot import draw

_WARM_UP = 0.5
"""The share of ``--seconds`` by which the first run lasts longer on tablet servers that have just started."""
_LONGEST = 600


def add_options(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--clients", metavar="N,…", type=_parse_counts, default=(1, 2, 4), help="ingest clients (default 1,2,4)"
    )
    parser.add_argument(
        "--tservers", metavar="N,…", type=_parse_counts, default=(1, 2), help="tablet servers (default 1,2)"
    )
    parser.add_argument(
        "--seconds", metavar="S", type=float, default=20.0, help=f"of each run, 2 to {_LONGEST} (default 20)"
    )
    parser.add_argument(
        "--shares",
        metavar="P,…",
        type=_parse_counts,
        default=(50, 80, 100, 120),
        help="percent of the saturated rate at which items are due in open loop (default 50,80,100,120)",
    )
    parser.add_argument("--layout", choices=tuple(ITEM_EVENTS), default="block", help="of the events (default block)")


def run(session: BenchSession, options: Namespace) -> list[Figure]:
    if not 2 <= options.seconds <= _LONGEST:
        raise UserError(f"--seconds is {options.seconds:g}; a run takes 2 to {_LONGEST}")
    runner = _IngestRunner(session, options)
    figures: list[Figure] = []
    for tservers in options.tservers:
        start_stack(session.settings, tservers, lambda line: print_progress(f"  {line}"))
        runs: dict[int, IngestRun] = {}
        for clients in options.clients:
            warm_up = 0.0 if runs else _WARM_UP * options.seconds
            runs[clients] = runner.run_closed(clients, tservers, warm_up)
            figures += make_closed_figures(runs[clients], make_closed_labels(clients, tservers), clients)
        figures += make_saturation_figures(runs, tservers)
    figures.append(make_published_figure(figures))
    best = find_saturated_clients(runs)
    rate = compute_series(runs[best].items, runs[best].steady).mean
    for share, run in runner.run_open_loops(best, tservers, rate):
        figures += make_open_figures(run, make_open_labels(tservers, share), best)
    return figures


class _IngestRunner:
    """Runs clients, each time into a source of its own, on servers that are idle before."""

    def __init__(self, session: BenchSession, options: Namespace) -> None:
        self._session, self._options = session, options
        self._work = WorkSupply(session.folder, ITEM_EVENTS[options.layout], options.seed)
        # The paper's rule is a shard for every two clients; with fewer shards than servers, some servers would be idle.
        # All runs have the same number of shards, so that they differ only in clients and servers.
        self._shards = max(session.settings.shards, -(-max(options.clients) // 2), max(options.tservers))

    def run_closed(self, number: int, tservers: int, warm_up: float) -> IngestRun:
        """Runs ``number`` clients in closed loop."""
        with run_clients(self._session, number) as pool:
            source = self._create_source(tservers)
            items = self._work.make_items(source.name)
            warm_up_clients(pool, items)
            run = run_closed_loop(self._session, pool, items, self._options.seconds, warm_up)
        self._session.drop_source(source)
        labels = make_closed_labels(number, tservers).values()
        print_progress(f"{', '.join(labels)}: {compute_series(run.items, run.steady).mean:,.0f} events/s")
        return run

    def run_open_loops(self, number: int, tservers: int, rate: float) -> Iterator[tuple[int, OpenIngestRun]]:
        """Runs the same clients by a schedule for each share of ``rate`` events a second."""
        with run_clients(self._session, number) as pool:
            for share in self._options.shares:
                due = schedule_evenly(share / 100 * rate / self._work.item_events, self._options.seconds)
                source = self._create_source(tservers)
                items = self._work.make_items(source.name)
                warm_up_clients(pool, items)
                yield share, run_open_loop(self._session, pool, items, due, self._options.seconds)
                self._session.drop_source(source)
                print_progress(f"{len(due)} items by schedule, at {share} % of {rate:,.0f} events/s: done")

    def _create_source(self, tservers: int) -> Source:
        """Creates a source, and waits until its tablets are spread over the servers and these are idle."""
        source = self._session.create_source("proxy.events", self._shards, self._options.layout)
        await_spread(self._session.store, source, tservers)
        await_rest(self._session.settings)
        return source


def _parse_counts(text: str) -> tuple[int, ...]:
    """Parses numbers such as ``1,2,4``; returns them ascending, each once."""
    try:
        counts = sorted({int(part) for part in text.split(",")})
    except ValueError:
        counts = []
    if not counts or counts[0] < 1:
        raise ArgumentTypeError(f"{text!r} is not a list of whole numbers from 1 on, such as 1,2,4")
    return tuple(counts)


EXPERIMENT = Experiment(
    name="ingest",
    summary="ingest by number of clients and tablet servers: rate, saturation, backpressure; latency by a schedule",
    metrics=METRICS,
    quick_options=("--clients", "1,2", "--tservers", "1", "--seconds", "2", "--shares", "80"),
    quick_seconds=55,
    add_options=add_options,
    run=run,
    draw=draw,
    own_stack=True,
)
