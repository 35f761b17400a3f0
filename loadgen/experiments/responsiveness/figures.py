"""What ``bench responsiveness`` has found, as figures."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product

from watchfloor.loadgen.harness.ingest.feeder import FeedingRecord
from watchfloor.loadgen.harness.measurement.figure import Figure
from watchfloor.loadgen.harness.measurement.metric import Metric
from watchfloor.loadgen.harness.open_loop import Response
from watchfloor.loadgen.harness.row_times import LAST, RowTimes

from .published import PAPER_SCHEMES, QUERIES, Paper

AUTO = "auto"
WARM, COLD, IDLE, INGEST = "warm", "cold", "idle", "ingest"

ROW = Metric("row_ms", "ms", "from the call of the query service to the row in the caller's hands, planning included")
TO_BEST = Metric(
    "auto_to_best",
    "",
    "median row_ms of auto / the lowest median row_ms of a fixed scheme; samples: the same of its turns",
    better="lower",
)
PAPER = Metric("paper_ms", "ms", "what the file given with --paper says for the query, the scheme and the row")
INGESTED = Metric(
    "ingest_events_per_second",
    "events/s",
    "of saturation: mean rate of one worker in the steady state, as bench ingest has it, while nothing is asked; else "
    "events of the items after the first one durable / seconds from that one to the last one durable",
)
DELAY = Metric("ingest_delay_ms", "ms", "from when an item was due to be queued until it was durable, by their clocks")
ASKED = Metric("queries_per_second", "queries/s", "queries of four clients that each ask again once they have their "
               "answer / seconds; nothing is loaded")  # fmt: skip
_SERVICE = "from making a request to the last row of its answer: what a closed loop measures"
_LATENCY = "from when a request was due by the schedule to the last row of its answer, waiting included"
SERVICE = tuple(
    Metric(name, "ms", _SERVICE, statistic)
    for name, statistic in (
        ("service_ms", "median"), ("service_p90_ms", "90th percentile"), ("service_p99_ms", "99th percentile"),
    )
)  # fmt: skip
LATENCY = tuple(
    Metric(name, "ms", _LATENCY, statistic)
    for name, statistic in (
        ("latency_ms", "median"), ("latency_p90_ms", "90th percentile"), ("latency_p99_ms", "99th percentile"),
    )
)  # fmt: skip
METRICS = (ROW, TO_BEST, PAPER, INGESTED, DELAY, ASKED, *SERVICE, *LATENCY)


@dataclass(frozen=True)
class QueryCase:
    """One of the questions that are asked in turn."""

    state: str
    query: str
    scheme: str


@dataclass
class LayoutResults:
    """What was found of one layout. ``open_loop``: by the state and the share of ``queries_per_second`` that was due.

    ``saturation``: events a second that one worker loads when nothing is asked; ``share`` of them were due while
    the items of ``fed`` came in.
    """

    layout: str
    share: float
    times: dict[QueryCase, list[RowTimes]] = field(default_factory=lambda: defaultdict(list))
    open_loop: dict[tuple[str, float], list[Response]] = field(default_factory=dict)
    queries_per_second: float = 0.0
    saturation: float = 0.0
    fed: FeedingRecord = field(default_factory=FeedingRecord)


def make_figures(found: LayoutResults) -> Iterator[Figure]:
    yield from _make_row_figures(found)
    of = {"layout": found.layout}
    yield Figure(INGESTED, (found.saturation,), {**of, "load": "saturation"})
    due = f"{found.share:.0%} of saturation"
    yield Figure(INGESTED, (found.fed.events_per_second,), {**of, "load": due}, note="while queries were asked")
    fed = tuple(round(moment - found.fed.due[0], 3) for moment in found.fed.due)
    yield Figure(DELAY, tuple(delay * 1000 for delay in found.fed.delays), {**of, "load": due}, at=fed)
    yield Figure(ASKED, (found.queries_per_second,), of)
    for (state, share), responses in found.open_loop.items():
        words = {**of, "state": state, "load": f"{share:.0%} of the closed loop"}
        at = tuple(response.due for response in responses)
        for metric in SERVICE:
            yield Figure(metric, tuple(response.service * 1000 for response in responses), words, at=at)
        for metric in LATENCY:
            yield Figure(metric, tuple(response.latency * 1000 for response in responses), words, at=at)


def make_published_figures(paper: Paper) -> Iterator[Figure]:
    for (query, scheme, row), ms in paper.values.items():
        of = {"query": query, "scheme": scheme, "layout": "the paper's", "row": row}
        yield Figure(PAPER, (ms,), of, note=paper.source)


def _make_row_figures(found: LayoutResults) -> Iterator[Figure]:
    rows: dict[tuple[str, str, str], dict[str, Figure]] = defaultdict(dict)
    # They were asked in an order of each turn's own.
    every = (QueryCase(*each) for each in product((COLD, WARM, INGEST), QUERIES, (*PAPER_SCHEMES, AUTO)))
    for case, asked in ((case, found.times[case]) for case in every if case in found.times):
        for row in asked[0].ms:
            samples = tuple(each.ms[row] for each in asked)
            of = {"query": case.query, "scheme": case.scheme, "layout": found.layout, "state": case.state, "row": row}
            figure = Figure(ROW, samples, of, note=f"of {asked[0].rows:,} rows" if row == LAST else "")
            rows[case.query, case.state, row][case.scheme] = figure
            yield figure
    for (query, state, row), schemes in rows.items():
        best = min(schemes.keys() - {AUTO}, key=lambda scheme: schemes[scheme].value)
        ratio = schemes[AUTO].value / schemes[best].value
        turns = tuple(a / b for a, b in zip(schemes[AUTO].samples, schemes[best].samples, strict=True))
        of = {"query": query, "layout": found.layout, "state": state, "row": row}
        yield Figure(TO_BEST, turns, of, derived=ratio, note=f"best: {best}")
