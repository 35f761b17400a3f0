"""The figures of ``bench ingest``, made from its runs, with the paper's published rate beside ours."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from watchfloor.loadgen.harness.cpu_usage import MACHINE
from watchfloor.loadgen.harness.ingest.rates import (
    GAIN,
    SETTLING,
    STEP,
    compute_series,
    count_events,
    count_megabytes,
    find_saturation,
)
from watchfloor.loadgen.harness.ingest.runs import IngestRun, OpenIngestRun
from watchfloor.loadgen.harness.measurement.figure import Figure
from watchfloor.loadgen.harness.measurement.metric import Metric
from watchfloor.loadgen.harness.measurement.table import format_number
from watchfloor.loadgen.published.read_published import load_published

EVENTS_RATE = Metric(
    "steady_events_per_second",
    "events/s",
    "mean of the instantaneous rate in the steady state: the part of a run in which all clients worked, without its "
    f"first {SETTLING:.0%}; samples: the rate in each {STEP} s",
    "mean",
    title="steady rate of ingest",
)
EVENTS_MEDIAN = Metric(
    "median_events_per_second", "events/s", "median of the same samples", title="median rate of ingest"
)
BYTES_RATE = Metric(
    "steady_megabytes_per_second",
    "MB/s",
    "the same of bytes of the JSON lines / 1,000,000",
    "mean",
    title="steady rate of ingest",
)
CLIENT_RATE = Metric(
    "megabytes_per_second_per_client",
    "MB/s",
    "steady_megabytes_per_second / the number of clients",
    "mean",
    title="rate of each client",
)
PAPER = Metric(
    "paper_megabytes_per_second_per_client",
    "MB/s",
    "published for each client process until saturation: Sawyer and O'Gwynn, HPEC 2014, on clusters of up to 8 tablet "
    "servers",
    better=None,
    title="rate of each client as published",
)
VARIANCE = Metric(
    "rate_variance",
    "(events/s)²",
    "backpressure: population variance of the same samples",
    "variance",
    better="lower",
    title="variance of the rate",
)
VARIATION = Metric(
    "rate_variation",
    "",
    "backpressure: coefficient of variation of the same samples, their standard deviation / their mean",
    "coefficient of variation",
    better="lower",
    title="variation of the rate, standard deviation / mean",
)
RATE = Metric(
    "instantaneous_events_per_second",
    "events/s",
    f"events made durable in each {STEP} s of a whole run / {STEP} s, an item's events spread evenly over its time",
    title="rate of ingest",
)
STEADY = Metric(
    "steady_state_seconds",
    "s",
    "how long the steady state was; its place in time is where it began",
    better=None,
    title="length of the steady state",
)
MINORS = Metric(
    "minor_compactions",
    "tablets",
    "tablets in a minor compaction at each look at the servers",
    "max",
    title="tablets in minor compactions",
)
MAJORS = Metric(
    "major_compactions",
    "tablets",
    "tablets in a major compaction at each look at the servers",
    "max",
    title="tablets in major compactions",
)
HOLD = Metric(
    "hold_ms",
    "ms",
    "for how long by then a tablet server has let no write through, at each look; the largest of all servers",
    "max",
    title="time for which writes were held",
)
SILENT = Metric(
    "silent_servers",
    "servers",
    "tablet servers that did not answer a look within a second: stopped, or overcome",
    "max",
    title="tablet servers that did not answer",
)
BUSY = Metric(
    "busy_cores",
    "cores",
    "CPU seconds, user and system, of a kind of processes in the steady state / its seconds",
    title="busy cores",
)
SERVICE = Metric(
    "item_service_ms",
    "ms",
    "from when a client began with an item until it was durable",
    title="service time of an item",
)
SLOW_SERVICE = Metric(
    "item_service_99th_ms",
    "ms",
    "the same samples",
    "99th percentile",
    title="service time of an item, 99th percentile",
)
LATENCY = Metric(
    "item_latency_ms",
    "ms",
    "from when an item was due by the schedule until it was durable",
    title="latency of an item",
)
SLOW_LATENCY = Metric(
    "item_latency_99th_ms", "ms", "the same samples", "99th percentile", title="latency of an item, 99th percentile"
)
OFFERED = Metric(
    "offered_events_per_second",
    "events/s",
    "events of all items that were due / seconds of the schedule",
    better=None,
    title="rate that the schedule offered",
)
LAG = Metric(
    "queue_lag_items",
    "items",
    "items that were due and not yet durable when the schedule ended",
    title="items that were late at the end",
)
SATURATION = Metric(
    "saturation_clients",
    "clients",
    f"the smallest number of clients from which no larger one brings {GAIN:g} times its steady_events_per_second",
    title="clients that saturate the servers",
)
SATURATED = Metric(
    "saturation_events_per_second",
    "events/s",
    "steady_events_per_second of so many clients",
    "mean",
    title="rate at saturation",
)
METRICS = (
    EVENTS_RATE, EVENTS_MEDIAN, BYTES_RATE, CLIENT_RATE, PAPER, VARIANCE, VARIATION, RATE, STEADY, MINORS, MAJORS, HOLD,
    SILENT, BUSY, SERVICE, SLOW_SERVICE, LATENCY, SLOW_LATENCY, OFFERED, LAG, SATURATION, SATURATED,
)  # fmt: skip

_KINDS = {"clients": "worker", "tablet servers": "tserver", "other servers": "other servers", "machine": MACHINE[0]}


def make_closed_labels(clients: int, tservers: int) -> dict[str, str]:
    """Returns the labels of the figures of a run in closed loop."""
    return {
        "clients": _format_count(clients, "client"),
        "tservers": _format_count(tservers, "tablet server"),
        "load": "closed loop",
    }


def make_open_labels(tservers: int, share: int) -> dict[str, str]:
    """Returns the labels of the figures of a run in open loop.

    The number of clients is not among them, because it was measured and may differ from run to run.
    """
    return {"tservers": _format_count(tservers, "tablet server"), "load": "open loop", "share": f"{share} %"}


def make_run_figures(run: IngestRun, labels: Mapping[str, str]) -> Iterator[Figure]:
    """Makes the figures that every run has."""
    steady, whole = compute_series(run.items, run.steady), compute_series(run.items, run.whole)
    began = run.whole.since
    at = _subtract_start(began, steady.at)
    yield Figure(EVENTS_RATE, steady.per_second, labels, at=at)
    yield Figure(EVENTS_MEDIAN, steady.per_second, labels, at=at)
    yield Figure(BYTES_RATE, compute_series(run.items, run.steady, count_megabytes).per_second, labels, at=at)
    yield Figure(VARIANCE, steady.per_second, labels, at=at)
    yield Figure(VARIATION, steady.per_second, labels, at=at)
    yield Figure(RATE, whole.per_second, labels, at=_subtract_start(began, whole.at))
    yield Figure(STEADY, (run.steady.seconds,), labels, at=_subtract_start(began, (run.steady.since,)))
    samples = [sample for sample in run.server_samples if run.whole.since <= sample.at <= run.whole.until]
    sampled_at = _subtract_start(began, tuple(sample.at for sample in samples))
    yield Figure(MINORS, tuple(float(sample.minors) for sample in samples), labels, at=sampled_at)
    yield Figure(MAJORS, tuple(float(sample.majors) for sample in samples), labels, at=sampled_at)
    yield Figure(HOLD, tuple(float(sample.hold_ms) for sample in samples), labels, at=sampled_at)
    yield Figure(SILENT, tuple(float(sample.silent) for sample in samples), labels, at=sampled_at)
    spent = run.cpu.measure_between(run.steady.since, run.steady.until)
    for kind, process in _KINDS.items():
        seconds = sum(used for (name, _), used in spent.items() if name == process)
        yield Figure(BUSY, (seconds / run.steady.seconds,), {**labels, "process": kind})


def make_closed_figures(run: IngestRun, labels: Mapping[str, str], clients: int) -> list[Figure]:
    """Makes the figures of a run in closed loop."""
    began = run.whole.since
    items = sorted((item for item in run.items if item.ended > began), key=lambda item: item.begun)
    service = tuple((item.ended - item.begun) * 1000 for item in items)
    at = _subtract_start(began, tuple(item.begun for item in items))
    megabytes = compute_series(run.items, run.steady, count_megabytes)
    per_client = tuple(rate / clients for rate in megabytes.per_second)
    return [
        *make_run_figures(run, labels),
        Figure(CLIENT_RATE, per_client, labels, at=_subtract_start(began, megabytes.at)),
        Figure(SERVICE, service, labels, at=at),
        Figure(SLOW_SERVICE, service, labels, at=at),
    ]


def make_published_figure(ours: Sequence[Figure]) -> Figure:
    """Makes the figure of the published rate of a client. Its note has the source, and our rates."""
    rates = [
        f"{format_number(figure.value)} ({figure.labels['clients']}, {figure.labels['tservers']})"
        for figure in ours
        if figure.metric is CLIENT_RATE
    ]
    study = load_published()["llcysa"]
    (row,) = study.tables["ingest"].rows
    note = study.cite("ingest") + (f"; ours: {', '.join(rates)}" if rates else "")
    return Figure(PAPER, (row["megabytes_per_second_per_client"],), {"load": "the paper's"}, note=note)


def make_open_figures(run: OpenIngestRun, labels: Mapping[str, str], clients: int) -> list[Figure]:
    """Makes the figures of a run by a schedule; their notes tell the number of clients."""
    due = tuple(response.due for response in run.responses)
    service = tuple(response.service * 1000 for response in run.responses)
    latency = tuple(response.latency * 1000 for response in run.responses)
    seconds = run.whole.seconds
    lag = sum(response.ended > seconds for response in run.responses)
    figures = [
        Figure(OFFERED, (sum(map(count_events, run.items)) / seconds,), labels),
        *make_run_figures(run, labels),
        Figure(SERVICE, service, labels, at=due),
        Figure(SLOW_SERVICE, service, labels, at=due),
        Figure(LATENCY, latency, labels, at=due),
        Figure(SLOW_LATENCY, latency, labels, at=due),
        Figure(LAG, (float(lag),), labels),
    ]
    return [replace(figure, note=f"by {_format_count(clients, 'client')}") for figure in figures]


def make_saturation_figures(runs: Mapping[int, IngestRun], tservers: int) -> list[Figure]:
    """Makes the figures of the saturation point; ``runs`` are those in closed loop by their number of clients."""
    saturating = find_saturated_clients(runs)
    run = runs[saturating]
    steady = compute_series(run.items, run.steady)
    labels = {"tservers": _format_count(tservers, "tablet server")}
    note = "not reached: no more clients were tried" if saturating == max(runs) > 1 else ""
    return [
        Figure(SATURATION, (float(saturating),), labels, note=note),
        Figure(SATURATED, steady.per_second, labels, at=_subtract_start(run.whole.since, steady.at)),
    ]


def find_saturated_clients(runs: Mapping[int, IngestRun]) -> int:
    """Returns the number of clients at the saturation point."""
    return find_saturation({clients: compute_series(run.items, run.steady).mean for clients, run in runs.items()})


def _format_count(number: int, what: str) -> str:
    """Formats a number and what it counts: 1 client, 2 clients."""
    return f"{number} {what}{'s' * (number > 1)}"


def _subtract_start(began: float, times: tuple[float, ...]) -> tuple[float, ...]:
    return tuple(round(at - began, 3) for at in times)
