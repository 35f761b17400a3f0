"""The LLCySA paper's query responsiveness experiment (HPEC 2014, figure 5, tables I and II), and queries by a schedule.

    load ─▶ cold ─▶ warm ─▶ open loop, idle ─▶ feed new events at a share of saturation: warm and open loop again

Queries A, B and C (a popular, a middling and a rare domain) are asked by each scheme for all of their events, newest
first; each turn goes once through all of them. Events that are fed are newer than those that are asked for, so each
answer has the same rows at any time, which is checked.
"""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Mapping
from datetime import timedelta

from watchfloor.loadgen.generator.generate import DEFAULT_DAYS, DEFAULT_END, Frequency
from watchfloor.loadgen.harness.cold_tables import make_cold
from watchfloor.loadgen.harness.cpu_usage import await_rest
from watchfloor.loadgen.harness.experiment import Experiment, InputFile, add_count
from watchfloor.loadgen.harness.ingest.clients import run_clients
from watchfloor.loadgen.harness.ingest.feeder import feed_items
from watchfloor.loadgen.harness.ingest.rates import compute_series
from watchfloor.loadgen.harness.ingest.runs import run_closed_loop, warm_up_clients
from watchfloor.loadgen.harness.ingest.work_supply import ITEM_EVENTS, WorkSupply
from watchfloor.loadgen.harness.loads import EventFile, load_file, write_events
from watchfloor.loadgen.harness.loads import LoadCase as LoadCase
from watchfloor.loadgen.harness.measurement.figure import Figure
from watchfloor.loadgen.harness.open_queries import QueryMix
from watchfloor.loadgen.harness.row_times import time_rows
from watchfloor.loadgen.harness.session import BenchSession, print_progress
from watchfloor.loadgen.harness.turns import shuffle_cases
from watchfloor.query.service import QueryRequest, QueryService
from watchfloor.schema.choices import LAYOUTS
from watchfloor.schema.errors import InternalError, UserError
from watchfloor.schema.source import Source
from watchfloor.schema.times import to_micros
from watchfloor.store.admin.tables import compact
from watchfloor.store.store import Store

from .figures import (
    AUTO,
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
from .published import PAPER_SCHEMES, QUERIES, read_paper

LEAST_EVENTS = 10_000
FEWER = 3
"""The cell layout has a third of the turns, and cold tables a third of these: both take their time."""
WARM_UP = 3
LEAST_SECONDS = 3.0
"""Of the run that finds out what one worker loads."""
LIMIT, CLIENTS = 100, 4
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
    paper = list(make_published_figures(read_paper(options.paper))) if options.paper else []
    file = write_events(session.folder / "proxy.json", options.events, options.seed)
    found = []
    for layout in LAYOUTS if options.layout == "both" else (options.layout,):
        source = session.create_source(file.feed, layout=layout)
        load_file(session, source, file, LoadCase(layout, of="whole", workers=1))
        found.append(_measure_layout(session, options, source, file))
        session.drop_source(source)
    return [*(figure for each in found for figure in make_figures(each)), *paper]


def _measure_layout(session: BenchSession, options: Namespace, source: Source, file: EventFile) -> LayoutResults:
    found = LayoutResults(source.layout, options.share)
    asking = _QueryRunner(source, file, found)
    turns, warm_up = options.turns, min(WARM_UP, options.turns)
    if source.layout == "cell":
        turns, warm_up = max(1, turns // FEWER), 1
    compact(session.store.connection.client, source)
    await_rest(session.settings)
    with Store.open(session.settings, role="query") as store:
        service = QueryService(store)
        for _ in range(warm_up):
            asking.run_round(service, WARM, kept=False)
        asking.run_cold_rounds(session, max(1, turns // FEWER))
        # The caches now hold what the last of these questions has read.
        asking.run_round(service, WARM, kept=False)
        for _ in range(turns):
            asking.run_round(service, WARM)
        mix = QueryMix(service, [asking.make_request(query, AUTO, LIMIT) for query in QUERIES], CLIENTS)
        found.queries_per_second = mix.run_closed_loop(options.seconds, options.seed)
        for share in SHARES:
            asking.run_open_loop(mix, IDLE, share, options)
        newer = WorkSupply(
            session.folder, ITEM_EVENTS[source.layout], options.seed + 1, DEFAULT_END + timedelta(DEFAULT_DAYS)
        )
        items = newer.make_items(source.name)
        with run_clients(session, 1) as worker:
            run = run_closed_loop(session, worker, items, max(LEAST_SECONDS, options.seconds))
        found.saturation = compute_series(run.items, run.steady).mean
        print_progress(f"{source.layout}: one worker loads {found.saturation:,.0f} events/s")
        await_rest(session.settings)
        with run_clients(session, 1) as worker:
            warm_up_clients(worker, items)
            with feed_items(worker, items, found.saturation * options.share / newer.item_events) as found.fed:
                for _ in range(turns):
                    asking.run_round(service, INGEST)
                for share in SHARES:
                    asking.run_open_loop(mix, INGEST, share, options)
    return found


class _QueryRunner:
    """Asks one source, and keeps what it finds."""

    def __init__(self, source: Source, file: EventFile, found: LayoutResults) -> None:
        made = file.made
        self._source, self._found, self._until, self._rounds = source, found, to_micros(made.until), 0
        named = (made.popular, made.middling, made.rare)
        self._domains: Mapping[str, Frequency] = dict(zip(QUERIES, named, strict=True))

    def make_request(self, query: str, scheme: str, limit: int | None = None) -> QueryRequest:
        where = f'domain = "{self._domains[query].domain}"'
        return QueryRequest(self._source.name, until=self._until, where=where, scheme=scheme, limit=limit)

    def run_round(self, service: QueryService, state: str, kept: bool = True) -> None:
        """Each query by each scheme once."""
        for query in QUERIES:
            for scheme in shuffle_cases((*PAPER_SCHEMES, AUTO), self._rounds):
                self._time_case(service, QueryCase(state, query, scheme), kept)
        self._rounds += 1
        print_progress(f"{self._source.layout}, {state}: {'a round' if kept else 'warming up'}")

    def run_cold_rounds(self, session: BenchSession, turns: int) -> None:
        """The same in turns, each question to tables that no cache knows, from a client that knows nothing of them."""
        for turn in range(turns):
            for query in QUERIES:
                for scheme in shuffle_cases((*PAPER_SCHEMES, AUTO), turn):
                    make_cold(session, self._source)
                    with Store.open(session.settings, role="query") as store:
                        self._time_case(QueryService(store), QueryCase(COLD, query, scheme))
            print_progress(f"{self._source.layout}, {COLD}: round {turn + 1} of {turns}")

    def run_open_loop(self, mix: QueryMix, state: str, share: float, options: Namespace) -> None:
        """Queries by a schedule, so many that their rate is ``share`` of what the same clients got answered idle."""
        rate = share * self._found.queries_per_second
        self._found.open_loop[state, share] = mix.run_open_loop(rate, options.seconds, options.seed)
        print_progress(f"{self._source.layout}, {state}: open loop, {rate:.0f} queries/s")

    def _time_case(self, service: QueryService, case: QueryCase, kept: bool = True) -> None:
        asked = time_rows(service, self.make_request(case.query, case.scheme))
        wanted = self._domains[case.query].events
        if asked.rows != wanted:
            raise InternalError(
                f"{self._source.layout}, {case}: {asked.rows} rows, and {wanted} events have the domain"
            )
        if kept:
            self._found.times[case].append(asked)


EXPERIMENT = Experiment(
    name="responsiveness",
    summary="queries A, B, C by each scheme, warm, cold and while events come in; queries by a schedule",
    metrics=METRICS,
    quick_options=("--events", "10000", "--turns", "1", "--seconds", "0.5"),
    quick_seconds=74,
    add_options=add_options,
    run=run,
    draw=draw,
    input_files=(InputFile("paper", "the paper's own values, to stand beside (JSON)", read_paper),),
    heap="512m",
    tserver_heap="3g",
)
