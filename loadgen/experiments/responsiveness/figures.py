"""The figures of ``bench responsiveness``, made from its results, with the paper's published times beside ours."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product

from watchfloor.loadgen.harness.ingest.feeder import FeedingRecord
from watchfloor.loadgen.harness.measurement.figure import Figure
from watchfloor.loadgen.harness.measurement.metric import Metric
from watchfloor.loadgen.harness.measurement.table import format_number
from watchfloor.loadgen.harness.open_loop import Response
from watchfloor.loadgen.harness.row_times import LAST, RowTimes
from watchfloor.schema.choices import AUTO, FIXED_SCHEMES

from .published import QUERIES, PublishedTimes

WARM, COLD, IDLE, INGEST = "warm", "cold", "idle", "ingest"

ROW = Metric(
    "row_ms",
    "ms",
    "from the call of the query service to the row in the caller's hands, planning included",
    title="time to a row",
)
TO_BEST = Metric(
    "auto_to_best",
    "",
    "median row_ms of auto / the lowest median row_ms of a fixed scheme; samples: the same of its turns",
    better="lower",
    title="auto / best fixed scheme, ratio of times",
)
PAPER = Metric(
    "paper_ms",
    "ms",
    "published for the query, the scheme and the row: Sawyer and O'Gwynn, HPEC 2014, table I (row 1) and table II "
    "(last row), on a cluster of 8 nodes; or what the file given with --paper says",
    better=None,
    title="time to a row as published",
)
INGESTED = Metric(
    "ingest_events_per_second",
    "events/s",
    "of saturation: mean rate of one worker in the steady state, as bench ingest has it, while nothing is asked; else "
    "events of the items after the first one durable / seconds from that one to the last one durable",
    title="rate of ingest",
)
DELAY = Metric(
    "ingest_delay_ms",
    "ms",
    "from when an item was due to be queued until it was durable, by their clocks",
    title="time from due to durable",
)
ASKED = Metric("queries_per_second", "queries/s", "queries of four clients that each ask again once they have their "
               "answer / seconds; nothing is loaded", title="rate of four clients")  # fmt: skip
_SERVICE = "from making a request to the last row of its answer: what a closed loop measures"
_LATENCY = "from when a request was due by the schedule to the last row of its answer, waiting included"
SERVICE = tuple(
    Metric(name, "ms", _SERVICE, statistic, title=f"service time of a query, {statistic}")
    for name, statistic in (
        ("service_ms", "median"), ("service_p90_ms", "90th percentile"), ("service_p99_ms", "99th percentile"),
    )
)  # fmt: skip
LATENCY = tuple(
    Metric(name, "ms", _LATENCY, statistic, title=f"latency of a query with its waiting, {statistic}")
    for name, statistic in (
        ("latency_ms", "median"), ("latency_p90_ms", "90th percentile"), ("latency_p99_ms", "99th percentile"),
    )
)  # fmt: skip
METRICS = (ROW, TO_BEST, PAPER, INGESTED, DELAY, ASKED, *SERVICE, *LATENCY)


@dataclass(frozen=True)
class QueryCase:
    """A query by a scheme in a state of the tables: warm, cold, or while events come in."""

    state: str
    query: str
    scheme: str


@dataclass
class LayoutResults:
    """The results of one layout.

    ``open_loop`` has the responses by state and by the share of ``queries_per_second`` that was due. ``saturation`` is
    the number of events per second that one worker loads while no queries run. While queries ran, the items of
    ``feeding`` were due at the share ``share`` of it.
    """

    layout: str
    share: float
    times: dict[QueryCase, list[RowTimes]] = field(default_factory=lambda: defaultdict(list))
    open_loop: dict[tuple[str, float], list[Response]] = field(default_factory=dict)
    queries_per_second: float = 0.0
    saturation: float = 0.0
    feeding: FeedingRecord = field(default_factory=FeedingRecord)


def make_figures(results: LayoutResults) -> Iterator[Figure]:
    yield from _make_row_figures(results)
    labels = {"layout": results.layout}
    yield Figure(INGESTED, (results.saturation,), {**labels, "load": "saturation"})
    due = f"{results.share:.0%} of saturation"
    yield Figure(
        INGESTED, (results.feeding.events_per_second,), {**labels, "load": due}, note="while queries were asked"
    )
    at = tuple(round(moment - results.feeding.due[0], 3) for moment in results.feeding.due)
    yield Figure(DELAY, tuple(delay * 1000 for delay in results.feeding.delays), {**labels, "load": due}, at=at)
    yield Figure(ASKED, (results.queries_per_second,), labels)
    for (state, share), responses in results.open_loop.items():
        case = {**labels, "state": state, "load": f"{share:.0%} of the closed loop"}
        at = tuple(response.due for response in responses)
        for metric in SERVICE:
            yield Figure(metric, tuple(response.service * 1000 for response in responses), case, at=at)
        for metric in LATENCY:
            yield Figure(metric, tuple(response.latency * 1000 for response in responses), case, at=at)


def make_published_figures(published: PublishedTimes, ours: Sequence[Figure] = ()) -> Iterator[Figure]:
    """Makes a figure of each published time. Its note has the source, and our warm medians of the same case."""
    warm: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for figure in ours:
        if figure.metric is ROW and figure.labels["state"] == WARM:
            time = f"{figure.labels['layout']} {format_number(figure.value)} ms"
            warm[figure.labels["query"], figure.labels["scheme"], figure.labels["row"]].append(time)
    for (query, scheme, row), milliseconds in published.milliseconds.items():
        labels = {"query": query, "scheme": scheme, "layout": "the paper's", "row": row}
        beside = warm[query, scheme, row]
        note = f"{published.source}; ours, warm: {', '.join(beside)}" if beside else published.source
        yield Figure(PAPER, (milliseconds,), labels, note=note)


def _make_row_figures(results: LayoutResults) -> Iterator[Figure]:
    rows: dict[tuple[str, str, str], dict[str, Figure]] = defaultdict(dict)
    # Each turn has its own order of queries; figures come in the order of the paper.
    cases = (QueryCase(*each) for each in product((COLD, WARM, INGEST), QUERIES, (*FIXED_SCHEMES, AUTO)))
    for case, answers in ((case, results.times[case]) for case in cases if case in results.times):
        for row in answers[0].milliseconds:
            samples = tuple(answer.milliseconds[row] for answer in answers)
            labels = {
                "query": case.query,
                "scheme": case.scheme,
                "layout": results.layout,
                "state": case.state,
                "row": row,
            }
            figure = Figure(ROW, samples, labels, note=f"of {answers[0].rows:,} rows" if row == LAST else "")
            rows[case.query, case.state, row][case.scheme] = figure
            yield figure
    for (query, state, row), schemes in rows.items():
        best = min(schemes.keys() - {AUTO}, key=lambda scheme: schemes[scheme].value)
        ratio = schemes[AUTO].value / schemes[best].value
        turns = tuple(a / b for a, b in zip(schemes[AUTO].samples, schemes[best].samples, strict=True))
        labels = {"query": query, "layout": results.layout, "state": state, "row": row}
        yield Figure(TO_BEST, turns, labels, derived=ratio, note=f"best: {best}")
