"""``bench batching``: the time to the first, the 100th, the 1,000th and the last row of a value, by batching policy.

All policies answer the same queries in turn, without a limit, newest rows first. The first 100 rows come within
milliseconds, which anything else on the machine may double, so they have more samples, from queries that end there.
"""

from __future__ import annotations

import math
import time
from argparse import ArgumentParser, Namespace
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from watchfloor.loadgen.generator.generate import ValueFrequency
from watchfloor.loadgen.harness.cpu_usage import await_rest
from watchfloor.loadgen.harness.experiment import Experiment, add_count
from watchfloor.loadgen.harness.loads import LoadCase, load_file, write_events
from watchfloor.loadgen.harness.measurement.figure import Figure
from watchfloor.loadgen.harness.measurement.goal_size import size_goals
from watchfloor.loadgen.harness.measurement.metric import Goal, Metric
from watchfloor.loadgen.harness.row_times import RowTimes, time_rows
from watchfloor.loadgen.harness.session import BenchSession, print_progress
from watchfloor.loadgen.harness.turns import shuffle_cases
from watchfloor.query.batches.registry import POLICIES
from watchfloor.query.batches.settings import BatchSettings
from watchfloor.query.preparation.request import QueryRequest
from watchfloor.query.service import QueryService
from watchfloor.schema.errors import UserError
from watchfloor.store.store import Store

from .plot import draw

LEAST_EVENTS = 10_000
WARM_UP = 3
FIRST_ROWS = 100
GOALS_FROM = 1_000_000
"""The number of events from which on the goals apply."""
PAUSE_SECONDS = 0.05
"""The pause after a query that was ended early, in which the servers finish the batches that were requested ahead."""
OURS = "density"

ROW = Metric(
    "row_ms",
    "ms",
    "from the call of the query service to the row in the caller's hands, planning included",
    title="time to a row",
)
BATCHES = Metric("query_batches", "", "query batches until the last row", title="query batches until the last row")
TO_BEST = Metric(
    "density_to_best",
    "",
    "median row_ms of the policy density / the lowest median row_ms of any policy, itself included; samples: its turns "
    "/ that policy's",
    better="lower",
    title="policy density / best policy, ratio of times to a row",
)

_FIRST = ("1", str(FIRST_ROWS))
"""The row numbers that have a goal."""


def add_options(parser: ArgumentParser) -> None:
    add_count(parser, "--events", GOALS_FROM, "proxy events")
    add_count(parser, "--turns", 9, "samples of each case")
    add_count(parser, "--first-turns", 51, "samples of the 1st and the 100th row")


def run(session: BenchSession, options: Namespace) -> list[Figure]:
    if options.events < LEAST_EVENTS:
        raise UserError(f"--events is {options.events}; they have a rare value from {LEAST_EVENTS} on")
    file = write_events(session.folder / "proxy.json", options.events, options.seed)
    source = session.create_source(file.feed)
    load_file(session, source, file, LoadCase("block", file="whole", workers=1))
    await_rest(session.settings)
    values: dict[str, ValueFrequency] = {
        "dense": file.generated.popular,
        "middling": file.generated.middling,
        "rare": file.generated.rare,
    }
    with Store.open(session.settings, role="query") as store:
        service = QueryService(store)
        first = _time_policies(service, source.name, values, options.first_turns, FIRST_ROWS)
        whole = _time_policies(service, source.name, values, options.turns)
    return size_goals(_make_figures(first, whole), options.events, GOALS_FROM, "events")


def _time_policies(
    service: QueryService, source: str, values: Mapping[str, ValueFrequency], turns: int, upto: float = math.inf
) -> Mapping[tuple[str, str], Sequence[RowTimes]]:
    """Runs the query of each value by each policy in ``turns`` turns, and returns the times by value and policy.

    Each query is ended when ``upto`` rows are there.
    """
    times: dict[tuple[str, str], list[RowTimes]] = {(value, policy): [] for value in values for policy in POLICIES}
    for turn in range(-min(WARM_UP, turns), turns):
        for value, frequency in values.items():
            for policy in shuffle_cases(POLICIES, turn):
                where, batching = f'domain = "{frequency.value}"', BatchSettings(policy=policy)
                row_times = time_rows(service, QueryRequest(source, where=where, batching=batching), upto)
                if turn >= 0:
                    times[value, policy].append(row_times)
                if upto < math.inf:
                    time.sleep(PAUSE_SECONDS)
        rows = "all rows" if upto == math.inf else f"the first {upto} rows"
        print_progress(f"{rows}, turn {turn + 1} of {turns}" if turn >= 0 else "warming up")
    return times


def _make_figures(
    first: Mapping[tuple[str, str], Sequence[RowTimes]], whole: Mapping[tuple[str, str], Sequence[RowTimes]]
) -> Iterator[Figure]:
    medians: dict[tuple[str, str], dict[str, Figure]] = defaultdict(dict)
    for (value, policy), of_whole in whole.items():
        for row in of_whole[0].milliseconds:
            row_times = first[value, policy] if row in _FIRST else of_whole
            figure = Figure(
                ROW, tuple(each.milliseconds[row] for each in row_times), {"value": value, "row": row, "policy": policy}
            )
            medians[value, row][policy] = figure
            yield figure
    for (value, policy), of_whole in whole.items():
        yield Figure(BATCHES, tuple(float(each.batches) for each in of_whole), {"value": value, "policy": policy})
    for (value, row), figures in medians.items():
        best = min(figures, key=lambda policy: figures[policy].value)
        ours = figures[OURS]
        samples = tuple(a / b for a, b in zip(ours.samples, figures[best].samples, strict=True))
        goal = Goal(1.1, at_most=True) if row in _FIRST else None
        yield Figure(
            TO_BEST, samples, {"value": value, "row": row}, goal, ours.value / figures[best].value, f"best: {best}"
        )


EXPERIMENT = Experiment(
    name="batching",
    summary="batching policies: time to the 1st, 100th, 1,000th and last row of dense, middling and rare values",
    metrics=(ROW, BATCHES, TO_BEST),
    quick_options=("--events", "50000", "--turns", "1", "--first-turns", "2"),
    quick_seconds=32,
    add_options=add_options,
    run=run,
    draw=draw,
    heap="512m",
    tserver_heap="3g",
)
