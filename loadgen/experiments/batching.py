"""What batching policies are worth: how soon the first, the 100th, the 1,000th and the last row of a value are there.

All policies answer the same questions in turn, without a limit: the newest rows first, and on to the last one.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from watchfloor.query.batching import POLICIES, BatchSettings
from watchfloor.query.service import QueryRequest, QueryService
from watchfloor.schema.errors import UserError
from watchfloor.store.store import Store

from ..loads import Case, load, write_events
from ..measure import Figure, Goal, Metric, in_turn
from ..rig import Rig, say
from ..row_times import RowTimes, time_rows
from ..usage import rest

SUMMARY = "batching policies: time to the 1st, 100th, 1,000th and last row of dense, middling and rare values"
QUICK = ("--events", "50000", "--turns", "2")
HEAP = "512m"
TSERVER_HEAP = "3g"
LEAST_EVENTS = 10_000
WARM_UP = 3
OURS = "density"

ROW = Metric("row_ms", "ms", "from the call of the query service to the row in the caller's hands, planning included")
BATCHES = Metric("query_batches", "", "query batches until the last row")
TO_BEST = Metric(
    "density_to_best",
    "",
    "median row_ms of the policy density / the lowest median row_ms of any policy, itself included; samples: its turns "
    "/ that policy's",
    better="lower",
)
METRICS = (ROW, BATCHES, TO_BEST)

_GOAL_ROWS = ("1", "100")


def add_options(parser: ArgumentParser) -> None:
    parser.add_argument("--events", metavar="N", type=int, default=1_000_000, help="proxy events (default 1000000)")
    parser.add_argument("--turns", metavar="N", type=int, default=9, help="samples of each case (default 9)")


def run(rig: Rig, options: Namespace) -> list[Figure]:
    if options.events < LEAST_EVENTS:
        raise UserError(f"--events is {options.events}; they have a rare value from {LEAST_EVENTS} on")
    file = write_events(rig.folder / "proxy.json", options.events, options.seed)
    source = rig.source(file.feed)
    load(rig, source, file, Case("block", of="whole", workers=1))
    rest(rig.settings)
    made = {"dense": file.made.popular, "middling": file.made.middling, "rare": file.made.rare}
    times: dict[tuple[str, str], list[RowTimes]] = defaultdict(list)
    with Store.open(rig.settings, role="query") as store:
        service = QueryService(store)
        for turn in range(-min(WARM_UP, options.turns), options.turns):
            for value, named in made.items():
                for policy in in_turn(POLICIES, turn):
                    where, how = f'domain = "{named.domain}"', BatchSettings(policy=policy)
                    asked = time_rows(service, QueryRequest(source.name, where=where, batching=how))
                    if turn >= 0:
                        times[value, policy].append(asked)
            say(f"turn {turn + 1} of {options.turns}" if turn >= 0 else "warming up")
    return list(_figures(times))


def _figures(times: Mapping[tuple[str, str], Sequence[RowTimes]]) -> Iterator[Figure]:
    medians: dict[tuple[str, str], dict[str, Figure]] = defaultdict(dict)
    for (value, policy), asked in times.items():
        for row in asked[0].ms:
            figure = Figure(ROW, tuple(each.ms[row] for each in asked), {"value": value, "row": row, "policy": policy})
            medians[value, row][policy] = figure
            yield figure
    for (value, policy), asked in times.items():
        yield Figure(BATCHES, tuple(float(each.batches) for each in asked), {"value": value, "policy": policy})
    for (value, row), figures in medians.items():
        best = min(figures, key=lambda policy: figures[policy].value)
        ours = figures[OURS]
        samples = tuple(a / b for a, b in zip(ours.samples, figures[best].samples, strict=True))
        goal = Goal(1.1, at_most=True) if row in _GOAL_ROWS else None
        yield Figure(
            TO_BEST, samples, {"value": value, "row": row}, goal, ours.value / figures[best].value, f"best: {best}"
        )
