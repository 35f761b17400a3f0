"""Draws ``bench ingest``: the rate by clients and tablet servers, its variation, latency by load, runs over time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from watchfloor.loadgen.harness.measurement.figure import Figure
from watchfloor.loadgen.harness.plots import time_series as series
from watchfloor.loadgen.harness.plots.canvas import COLOURS, MARKERS, Sketch, format_axis, make_panels
from watchfloor.loadgen.harness.plots.dot_plot import DotRow, draw_dots
from watchfloor.loadgen.harness.plots.general import READING_HINT
from watchfloor.loadgen.harness.plots.labels import capitalize_first, label_published

_SHADING_METRICS = ("minor_compactions", "major_compactions", "hold_ms", "silent_servers")
_RUN = ("instantaneous_events_per_second", *_SHADING_METRICS, "item_latency_ms")
_WAITED = {
    "item_service_ms": "service time, median",
    "item_service_99th_ms": "service time, 99th percentile",
    "item_latency_ms": "latency, median",
    "item_latency_99th_ms": "latency, 99th percentile",
}
_BY_CLIENTS = ("steady_events_per_second", "rate_variation")
_CLOSED = "closed loop"
_PAPER = "paper_megabytes_per_second_per_client"


def draw(figures: Sequence[Figure]) -> Iterator[Sketch]:
    if closed := [f for f in figures if f.metric.name in _BY_CLIENTS and f.labels["load"] == _CLOSED]:
        yield _draw_scaling(closed)
    if per_client := [f for f in figures if f.metric.name in ("megabytes_per_second_per_client", _PAPER)]:
        yield _draw_per_client(per_client)
    scheduled = [figure for figure in figures if figure.metric.name in _WAITED and figure.labels["load"] != _CLOSED]
    if scheduled:
        shares = dict.fromkeys(figure.labels["share"] for figure in scheduled)
        rows = [
            DotRow(share, {_WAITED[f.metric.name]: f for f in scheduled if f.labels["share"] == share})
            for share in shares
        ]
        shows = "Items that are due by a schedule, at shares of the saturated rate: latency has the waiting"
        yield draw_dots("waiting", f"{shows}. {READING_HINT}.", rows, "time of an item, milliseconds")
    yield from series.draw_time_series(
        [figure for figure in figures if figure.metric.name in _RUN and figure.at], _SHADING_METRICS
    )


def _draw_per_client(figures: Sequence[Figure]) -> Sketch:
    """Draws a row for each run in closed loop, and one for the published rate."""
    rows = []
    for figure in figures:
        if figure.metric.name == _PAPER:
            rows.append(DotRow("until saturation", {"": figure}, label_published(2014, "up to 8 tablet servers")))
        else:
            rows.append(DotRow(f"{figure.labels['clients']}, {figure.labels['tservers']}", {"": figure}))
    shows = "The rate of each client, and the published one until saturation; other machines, other events"
    return draw_dots(
        "per-client", f"{shows}. {READING_HINT}.", rows, "rate of each client, megabytes a second", "llcysa"
    )


def _draw_scaling(figures: Sequence[Figure]) -> Sketch:
    """Draws a panel for each metric, with a line for each number of tablet servers."""
    metrics = [name for name in _BY_CLIENTS if any(figure.metric.name == name for figure in figures)]
    servers = list(dict.fromkeys(figure.labels["tservers"] for figure in figures))
    drawn, panels = make_panels(3.8, columns=len(metrics))
    for axes, name in zip(panels, metrics, strict=True):
        for order, tservers in enumerate(servers):
            figures_of_server = [f for f in figures if f.metric.name == name and f.labels["tservers"] == tservers]
            points = sorted((int(f.labels["clients"].split()[0]), f.value) for f in figures_of_server)
            marker, colour = MARKERS[order % len(MARKERS)], COLOURS[order % len(COLOURS)]
            axes.plot(*zip(*points, strict=True), color=colour, marker=marker, label=tservers)
            axes.set_xticks([clients for clients, _ in points])
        axes.set(
            title=capitalize_first(next(f for f in figures if f.metric.name == name).metric.titled_unit),
            xlabel="ingest clients",
        )
        axes.set_ylim(0, axes.dataLim.ymax * 1.08 or 1)
        format_axis(axes.yaxis)
    panels[0].legend(loc="lower right")
    return Sketch(
        "scaling", "Steady rate and its variation, which is backpressure, by clients and tablet servers.", drawn
    )
