"""``bench first-result``: the time to the first rows of rare, middling and dense values, in process and through REST.

Each turn goes once through all cases and schemes, so that a busy moment of the machine affects all of them.
"""

from __future__ import annotations

import http.client
import time
from argparse import ArgumentParser, Namespace
from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing

import orjson

from watchfloor.ingest.reading.item_reader import ReadTask, read_item
from watchfloor.loadgen.generator.generate import GenerationSummary, generate_events
from watchfloor.loadgen.harness.background import RestAddress, run_rest_service
from watchfloor.loadgen.harness.experiment import Experiment, add_count
from watchfloor.loadgen.harness.measurement.figure import Figure
from watchfloor.loadgen.harness.measurement.goal_size import size_goals
from watchfloor.loadgen.harness.measurement.metric import Goal, Metric
from watchfloor.loadgen.harness.session import BenchSession, print_progress
from watchfloor.loadgen.harness.turns import shuffle_cases
from watchfloor.query.preparation.request import QueryRequest
from watchfloor.query.service import QueryService
from watchfloor.schema.errors import StackError
from watchfloor.store.store import Store

from .plot import draw

SCHEMES = ("auto", "batched-index", "batched-scan", "scan", "index")
MANY = 100
WARM_UP = 5
GOALS_FROM = 200_000
"""The number of events from which on the goals apply."""

FIRST = Metric(
    "first_rows_ms",
    "ms",
    "from the call of the query service to its first rows in the caller's hands, planning included",
    title="time to the first rows in the process",
)
HUNDRED = Metric(
    "hundred_rows_ms",
    "ms",
    f"the same to {MANY} rows, or to the end of a result that is smaller",
    title="time to 100 rows in the process",
)
REST_FIRST = Metric(
    "rest_first_rows_ms",
    "ms",
    "from sending the request on an open connection to the first line of its answer",
    title="time to the first line over REST",
)
REST_HUNDRED = Metric(
    "rest_hundred_rows_ms",
    "ms",
    f"the same to {MANY} lines, or to the end of a result that is smaller",
    title="time to 100 lines over REST",
)
REST_ADDS = Metric(
    "rest_adds_ms",
    "ms",
    "median rest_first_rows_ms less median first_rows_ms; samples: turn by turn",
    title="time that REST adds to the first rows",
)

_GOALS = {"rare": Goal(40, at_most=True), "dense": Goal(60, at_most=True)}
_GOAL_SCHEMES = ("auto", "batched-index")

ValueAndScheme = tuple[str, str]
"""The name of the value and the scheme."""
FirstTimes = tuple[float, float]
"""Milliseconds to the first rows and to ``MANY`` rows."""


def add_options(parser: ArgumentParser) -> None:
    add_count(parser, "--events", GOALS_FROM, "proxy events to ask")
    add_count(parser, "--turns", 20, "samples of each case")


def run(session: BenchSession, options: Namespace) -> list[Figure]:
    source, generated = _load_source(session, options.events, options.seed)
    values = {"rare": generated.rare, "middling": generated.middling, "dense": generated.popular}
    cases = {(name, scheme): values[name].value for name in values for scheme in SCHEMES}
    direct: dict[ValueAndScheme, list[FirstTimes]] = defaultdict(list)
    rest: dict[ValueAndScheme, list[FirstTimes]] = defaultdict(list)
    log = session.folder / "serve.log"
    with (
        Store.open(session.settings, role="query") as store,
        run_rest_service(session.settings, log) as serve,
        closing(_RestClient(serve)) as server,
    ):
        service = QueryService(store)
        for turn in range(-WARM_UP, options.turns):
            for case, domain in shuffle_cases(cases.items(), turn):
                where = f'domain = "{domain}"'
                times = (
                    _time_rows(service, QueryRequest(source, where=where, scheme=case[1])),
                    server.time_rows(source, where, case[1]),
                )
                if turn >= 0:
                    direct[case].append(times[0])
                    rest[case].append(times[1])
            print_progress(f"turn {turn + 1} of {options.turns}" if turn >= 0 else "warming up")
    figures = [figure for case in cases for figure in _make_figures(case, direct[case], rest[case])]
    return size_goals(figures, options.events, GOALS_FROM, "events")


def _load_source(session: BenchSession, events: int, seed: int) -> tuple[str, GenerationSummary]:
    """Loads generated events into a new source. Returns its name and the summary of the events."""
    path = session.folder / "proxy.json"
    with path.open("wb") as out:
        generated = generate_events(out, events, seed)
    source = session.create_source("proxy.events")
    with session.store.sink() as sink:
        end = read_item(ReadTask(session.store, sink, session.make_item(path, source)))
    print_progress(f"{end.events:,} events loaded in {end.seconds:.1f} s")
    return source.name, generated


def _make_figures(case: ValueAndScheme, direct: list[FirstTimes], rest: list[FirstTimes]) -> Iterator[Figure]:
    labels = {"value": case[0], "scheme": case[1]}
    first, hundred = (tuple(column) for column in zip(*direct, strict=True))
    rest_first, rest_hundred = (tuple(column) for column in zip(*rest, strict=True))
    goal = _GOALS.get(case[0]) if case[1] in _GOAL_SCHEMES else None
    yield (ours := Figure(FIRST, first, labels, goal))
    yield Figure(HUNDRED, hundred, labels)
    yield (theirs := Figure(REST_FIRST, rest_first, labels))
    yield Figure(REST_HUNDRED, rest_hundred, labels)
    adds = tuple(b - a for a, b in zip(first, rest_first, strict=True))
    goal = Goal(5, at_most=True) if case[1] in _GOAL_SCHEMES else None
    yield Figure(REST_ADDS, adds, labels, goal, theirs.value - ours.value)


def _time_rows(service: QueryService, request: QueryRequest) -> FirstTimes:
    """Runs a query, reads ``MANY`` rows and closes it. Returns the times."""
    started = time.perf_counter()
    first, rows = 0.0, 0
    result = service.run(request)
    batches = iter(result)
    for batch in batches:
        rows += len(batch)
        first = first or time.perf_counter() - started
        if rows >= MANY:
            break
    whole = time.perf_counter() - started
    result.close()
    return first * 1000, whole * 1000


class _RestClient:
    """A keep-alive client of one server."""

    def __init__(self, service: RestAddress) -> None:
        self._connection = http.client.HTTPConnection(service.host, service.port, timeout=60)
        self._headers = {"Authorization": f"Bearer {service.token}", "Content-Type": "application/json"}

    def time_rows(self, source: str, where: str, scheme: str) -> FirstTimes:
        """Asks for ``MANY`` rows and reads the answer to its end. The summary does not count as a row."""
        body = orjson.dumps({"source": source, "where": where, "scheme": scheme, "limit": MANY})
        started = time.perf_counter()
        self._connection.request("POST", "/api/v1/query", body, self._headers)
        answer = self._connection.getresponse()
        line = answer.readline()
        first = time.perf_counter() - started
        whole, rows = first, 0
        while line and not line.startswith(b'{"summary"'):
            rows += 1
            whole = time.perf_counter() - started
            line = answer.readline()
        answer.read()
        if answer.status != 200 or not rows:
            raise StackError(f"the REST service answered {answer.status}: {line[:300]!r}")
        return first * 1000, whole * 1000

    def close(self) -> None:
        self._connection.close()


EXPERIMENT = Experiment(
    name="first-result",
    summary="time to the first rows of a query, in process and through REST",
    metrics=(FIRST, HUNDRED, REST_FIRST, REST_HUNDRED, REST_ADDS),
    quick_options=("--events", "50000", "--turns", "5"),
    quick_seconds=17,
    add_options=add_options,
    run=run,
    draw=draw,
)
