"""``bench responsiveness``: the LLCySA paper's query experiment (HPEC 2014, figure 5, tables I, II), then a schedule.

    load ─▶ cold ─▶ warm ─▶ open loop, idle ─▶ feed new events at a share of saturation: warm and open loop again

Queries A, B and C (a popular, a middling and a rare domain) run by each scheme for all of their events, newest first;
each turn runs all of them once. The events that are fed are newer than the range of the queries, so an answer must have
the same rows at any time, which is checked.
"""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Mapping
from datetime import timedelta

from watchfloor.loadgen.generator.generate import DEFAULT_DAYS, DEFAULT_END, ValueFrequency
from watchfloor.loadgen.harness.cold_tables import make_cold
from watchfloor.loadgen.harness.cpu_usage import await_rest
from watchfloor.loadgen.harness.experiment import Experiment, InputFile, add_count
from watchfloor.loadgen.harness.ingest.clients import run_clients
from watchfloor.loadgen.harness.ingest.feeder import feed_items
from watchfloor.loadgen.harness.ingest.rates import compute_series
from watchfloor.loadgen.harness.ingest.runs import run_closed_loop, warm_up_clients
from watchfloor.loadgen.harness.ingest.work_supply import ITEM_EVENTS, WorkSupply
from watchfloor.loadgen.harness.loads import EventFile, LoadCase, load_file, write_events
from watchfloor.loadgen.harness.measurement.figure import Figure
from watchfloor.loadgen.harness.open_queries import QueryMix
from watchfloor.loadgen.harness.row_times import time_rows
from watchfloor.loadgen.harness.session import BenchSession, print_progress
from watchfloor.loadgen.harness.turns import shuffle_cases
from watchfloor.query.preparation.request import QueryRequest
from watchfloor.query.service import QueryService
from watchfloor.schema.choices import AUTO, FIXED_SCHEMES, LAYOUTS
from watchfloor.schema.errors import InternalError, UserError
from watchfloor.schema.source import Source
from watchfloor.schema.times import to_micros
from watchfloor.store.admin.tables import compact_source
from watchfloor.store.store import Store

from .figures import (
    COLD,
    IDLE,
    INGEST,
    METRICS,
    WARM,
    LayoutResults,
    QueryCase,
    make_figures,
    make_published_figures,
)
from .plot import draw
from .published import QUERIES, load_paper_times, read_published

LEAST_EVENTS = 10_000
TURN_DIVISOR = 3
"""The divisor of the turns for the cell layout, and again for cold tables, because both are slow."""
WARM_UP = 3
LEAST_SECONDS = 3.0
"""The least duration of the run that measures the rate of one worker."""
LIMIT, CLIENTS = 100, 4
_PAPER_HELP = "values to show beside ours instead of the paper's tables I and II (JSON)"
SHARES = (0.25, 0.5, 0.75)


def add_options(parser: ArgumentParser) -> None:
    add_count(parser, "--events", 1_000_000, "proxy events")
    add_count(parser, "--turns", 9, "samples of a warm case in blocks")
    parser.add_argument("--layout", choices=(*LAYOUTS, "both"), default="both", help="block, cell or both (default)")
    parser.add_argument(
        "--share",
        metavar="S",
        type=_parse_share,
        default=0.5,
        help="of saturation, at which events come in (default 0.5)",
    )
    parser.add_argument(
        "--seconds", metavar="N", type=float, default=10.0, help="of each run by a schedule (default 10)"
    )


def _parse_share(text: str) -> float:
    try:
        share = float(text)
    except ValueError:
        share = 0.0
    if not 0 < share <= 1:
        raise ArgumentTypeError(f"{text!r} is no share: give a number above 0 and up to 1, such as 0.5")
    return share


def run(session: BenchSession, options: Namespace) -> list[Figure]:
    if options.events < LEAST_EVENTS or options.turns < 1 or options.seconds <= 0:
        raise UserError(f"at least {LEAST_EVENTS:,} events, one turn and some seconds are needed")
    published = read_published(options.paper) if options.paper else load_paper_times()
    file = write_events(session.folder / "proxy.json", options.events, options.seed)
    figures: list[Figure] = []
    for layout in LAYOUTS if options.layout == "both" else (options.layout,):
        source = session.create_source(file.feed, layout=layout)
        load_file(session, source, file, LoadCase(layout, file="whole", workers=1))
        figures += make_figures(_measure_layout(session, options, source, file))
        session.drop_source(source)
    return [*figures, *make_published_figures(published, figures)]


def _measure_layout(session: BenchSession, options: Namespace, source: Source, file: EventFile) -> LayoutResults:
    """Measures one layout: cold, warm, by a schedule, and while new events come in."""
    results = LayoutResults(source.layout, options.share)
    runner = _QueryRunner(source, file, results)
    turns, warm_up = options.turns, min(WARM_UP, options.turns)
    if source.layout == "cell":
        turns, warm_up = max(1, turns // TURN_DIVISOR), 1
    compact_source(session.store.connection, source)
    await_rest(session.settings)
    with Store.open(session.settings, role="query") as store:
        service = QueryService(store)
        for _ in range(warm_up):
            runner.run_round(service, WARM, kept=False)
        runner.run_cold_rounds(session, max(1, turns // TURN_DIVISOR))
        # The caches now hold only the data of the last cold query, so one more round warms them.
        runner.run_round(service, WARM, kept=False)
        for _ in range(turns):
            runner.run_round(service, WARM)
        mix = QueryMix(service, [runner.make_request(query, AUTO, LIMIT) for query in QUERIES], CLIENTS)
        results.queries_per_second = mix.run_closed_loop(options.seconds, options.seed)
        for share in SHARES:
            runner.run_open_loop(mix, IDLE, share, options)
        _measure_while_ingesting(session, options, runner, mix, turns)
    return results


def _measure_while_ingesting(
    session: BenchSession, options: Namespace, runner: _QueryRunner, mix: QueryMix, turns: int
) -> None:
    """Measures the rate of one worker while no queries run, then the queries while new events come in."""
    source, results = runner.source, runner.results
    newer_end = DEFAULT_END + timedelta(DEFAULT_DAYS)
    newer = WorkSupply(session.folder, ITEM_EVENTS[source.layout], options.seed + 1, newer_end)
    items = newer.make_items(source.name)
    with run_clients(session, 1) as worker:
        run = run_closed_loop(session, worker, items, max(LEAST_SECONDS, options.seconds))
    results.saturation = compute_series(run.items, run.steady).mean
    print_progress(f"{source.layout}: one worker loads {results.saturation:,.0f} events/s")
    await_rest(session.settings)
    with run_clients(session, 1) as worker:
        warm_up_clients(worker, items)
        with feed_items(worker, items, results.saturation * options.share / newer.item_events) as results.feeding:
            for _ in range(turns):
                runner.run_round(mix.service, INGEST)
            for share in SHARES:
                runner.run_open_loop(mix, INGEST, share, options)


class _QueryRunner:
    """Asks one source for queries A, B and C, and puts the times into ``results``."""

    def __init__(self, source: Source, file: EventFile, results: LayoutResults) -> None:
        generated = file.generated
        self.source, self.results = source, results
        self._until, self._rounds = to_micros(generated.until), 0
        domains = (generated.popular, generated.middling, generated.rare)
        self._domains: Mapping[str, ValueFrequency] = dict(zip(QUERIES, domains, strict=True))

    def make_request(self, query: str, scheme: str, limit: int | None = None) -> QueryRequest:
        where = f'domain = "{self._domains[query].value}"'
        return QueryRequest(self.source.name, until=self._until, where=where, scheme=scheme, limit=limit)

    def run_round(self, service: QueryService, state: str, kept: bool = True) -> None:
        """Asks each query by each scheme once."""
        for query in QUERIES:
            for scheme in shuffle_cases((*FIXED_SCHEMES, AUTO), self._rounds):
                self._time_case(service, QueryCase(state, query, scheme), kept)
        self._rounds += 1
        print_progress(f"{self.source.layout}, {state}: {'a round' if kept else 'warming up'}")

    def run_cold_rounds(self, session: BenchSession, turns: int) -> None:
        """Runs rounds in which each query meets tables that are in no cache, and comes from a new client."""
        for turn in range(turns):
            for query in QUERIES:
                for scheme in shuffle_cases((*FIXED_SCHEMES, AUTO), turn):
                    make_cold(session, self.source)
                    with Store.open(session.settings, role="query") as store:
                        self._time_case(QueryService(store), QueryCase(COLD, query, scheme))
            print_progress(f"{self.source.layout}, {COLD}: round {turn + 1} of {turns}")

    def run_open_loop(self, mix: QueryMix, state: str, share: float, options: Namespace) -> None:
        """Runs queries by a schedule, at ``share`` of the rate that the clients reached in the idle closed loop."""
        rate = share * self.results.queries_per_second
        self.results.open_loop[state, share] = mix.run_open_loop(rate, options.seconds, options.seed)
        print_progress(f"{self.source.layout}, {state}: open loop, {rate:.0f} queries/s")

    def _time_case(self, service: QueryService, case: QueryCase, kept: bool = True) -> None:
        """Times one query, and checks the number of its rows. Raises ``InternalError`` if it is wrong."""
        times = time_rows(service, self.make_request(case.query, case.scheme))
        expected = self._domains[case.query].events
        if times.rows != expected:
            raise InternalError(
                f"{self.source.layout}, {case}: {times.rows} rows, and {expected} events have the domain"
            )
        if kept:
            self.results.times[case].append(times)


EXPERIMENT = Experiment(
    name="responsiveness",
    summary="queries A, B, C by each scheme, warm, cold and while events come in; queries by a schedule",
    metrics=METRICS,
    quick_options=("--events", "10000", "--turns", "1", "--seconds", "0.5", "--layout", "block"),
    quick_seconds=36,
    add_options=add_options,
    run=run,
    draw=draw,
    input_files=(InputFile("paper", _PAPER_HELP, read_published),),
    heap="512m",
    tserver_heap="3g",
)
