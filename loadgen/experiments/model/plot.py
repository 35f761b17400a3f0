"""Draws ``bench model``: predicted against published rates, and our curve by workers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from watchfloor.loadgen.harness.measurement.figure import Figure
from watchfloor.loadgen.harness.plots.canvas import (
    COLOURS,
    MARKERS,
    Sketch,
    format_axis,
    format_log_axis,
    make_panels,
)
from watchfloor.loadgen.harness.plots.dot_plot import DotRow, draw_dots

_KINDS = {
    "pre-split tables": ("6-1", "7-1"),
    "pre-split tables, sustained": ("6-2", "7-2"),
    "tables that split while they grow": ("6-3", "6-4", "6-10", "7-3"),
}
"""The tables of the study by their kind of run."""


def draw(figures: Sequence[Figure]) -> Iterator[Sketch]:
    if ratios := [figure for figure in figures if figure.metric.name == "predicted_to_published"]:
        yield _draw_against(figures)
        rows = [DotRow(f"{f.labels['cluster']} {f.labels['run']} ({f.labels['table']})", {"": f}) for f in ratios]
        yield draw_dots(
            "ratios",
            "Predicted / published mean rate of each run. Ticks are the goal; runs without one are those that the "
            "free costs were fitted to.",
            rows,
            "predicted / published",
        )
    if own := [figure for figure in figures if "workers" in figure.labels and figure.metric.unit == "events/s"]:
        yield _draw_own(own)


def _draw_against(figures: Sequence[Figure]) -> Sketch:
    """Draws a panel for each cluster: each run's predicted rate over its published one."""
    clusters = list(dict.fromkeys(f.labels["cluster"] for f in figures if "cluster" in f.labels))
    drawn, panels = make_panels(4.6, columns=len(clusters))
    for axes, cluster in zip(panels, clusters, strict=True):
        points = _pair_rates([f for f in figures if f.labels.get("cluster") == cluster])
        both = [rate for x, y, _ in points for rate in (x, y)]
        ends = [min(both) / 1.5, max(both) * 1.5]
        axes.fill_between(ends, [0.7 * e for e in ends], [1.3 * e for e in ends], color="grey", alpha=0.15, lw=0)
        axes.plot(ends, ends, color="grey", linewidth=0.8)
        for order, (kind, tables) in enumerate(_KINDS.items()):
            _draw_kind(axes, kind, [p for p in points if p[2].labels["table"].split()[1] in tables], order)
        format_log_axis(axes.xaxis, ends)
        format_log_axis(axes.yaxis, ends)
        axes.set(xlim=ends, ylim=ends, title=f"{cluster} cluster", xlabel="published, million entries a second")
    panels[0].set_ylabel("predicted, million entries a second")
    handles, labels = panels[0].get_legend_handles_labels()
    drawn.legend(handles, labels, loc="outside upper left", ncols=3)
    caption = (
        "Simulated and published mean rates of the Accumulo benchmark study of 2014. The grey band is ± 30 %; hollow "
        "markers are the runs that the free costs were fitted to, all others are predictions."
    )
    return Sketch("published", caption, drawn, "benchmark")


def _draw_kind(axes: Any, kind: str, points: Sequence[tuple[float, float, Figure]], order: int) -> None:
    colour, marker = COLOURS[order], MARKERS[order]
    axes.plot([], [], marker, color=colour, label=kind)
    for x, y, figure in points:
        fitted = figure.labels["kind"] == "calibration"
        axes.plot(x, y, marker, color=colour, markersize=6, markerfacecolor="none" if fitted else colour)


def _pair_rates(figures: Sequence[Figure]) -> list[tuple[float, float, Figure]]:
    """Returns the published and the predicted rate of each run, in millions, and one of its figures."""
    published = {tuple(f.labels.items()): f for f in figures if f.metric.name == "published_entries_per_second"}
    return [
        (published[tuple(f.labels.items())].value / 1e6, f.value / 1e6, f)
        for f in figures
        if f.metric.name == "predicted_entries_per_second"
    ]


def _draw_own(figures: Sequence[Figure]) -> Sketch:
    """Draws a panel for each number of tablet servers: measured and simulated rates by workers."""
    servers = list(dict.fromkeys(figure.labels["tservers"] for figure in figures))
    drawn, panels = make_panels(3.6, columns=len(servers), sharey=True)
    for axes, tservers in zip(panels, servers, strict=True):
        for order, (metric, shown) in enumerate(
            (("measured_events_per_second", "measured"), ("predicted_events_per_second", "simulated"))
        ):
            same = [f for f in figures if f.labels["tservers"] == tservers and f.metric.name == metric]
            points = sorted((int(f.labels["workers"].split()[0]), f.value) for f in same)
            axes.plot(*zip(*points, strict=True), color=COLOURS[order], marker=MARKERS[order], label=shown)
            axes.set_xticks([workers for workers, _ in points])
        axes.set(title=tservers, xlabel="workers")
        format_axis(axes.yaxis)
    # The panels share the axis: its end is known only when all are drawn.
    panels[0].set_ylim(bottom=0)
    panels[0].set_ylabel("rate of all workers, events a second")
    panels[0].legend(loc="lower right")
    caption = "Events/s by workers, measured by bench ingest and simulated; the run of one worker is the calibration."
    return Sketch("workers", caption, drawn)
