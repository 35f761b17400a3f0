"""Draws ``bench ycsb``: rates and mean latencies beside the published ones, percentiles, and latency when due."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from watchfloor.loadgen.harness.measurement.figure import Figure
from watchfloor.loadgen.harness.plots.canvas import Sketch
from watchfloor.loadgen.harness.plots.dot_plot import DotRow, draw_dots
from watchfloor.loadgen.harness.plots.general import READING_HINT

from .figures import DUE, LATENCIES, LOAD, MEAN, PUBLISHED_LATENCY, PUBLISHED_RATE, RATE

_PERCENTILES = {LATENCIES["50"].name: "median", LATENCIES["99"].name: "99th percentile"}
_PUBLISHED = "A dot of the study is the median of its clusters, the bar reaches from the lowest to the highest of them"


def draw(figures: Sequence[Figure]) -> Iterator[Sketch]:
    ran = [figure for figure in figures if "threads" in figure.labels and figure.labels["workload"] != LOAD]
    for threads in dict.fromkeys(figure.labels["threads"] for figure in ran):
        of_threads = [figure for figure in ran if figure.labels["threads"] == threads]
        name = threads.replace(" ", "-")
        pairs = (
            ("rates", (RATE, PUBLISHED_RATE), f"Rates with {threads}", "rate, operations a second"),
            ("means", (MEAN, PUBLISHED_LATENCY), f"Mean latencies with {threads}", "mean latency, milliseconds"),
        )
        for kind, metrics, title, axis in pairs:
            names = {metric.name for metric in metrics}
            if rows := _compare([figure for figure in of_threads if figure.metric.name in names]):
                yield draw_dots(
                    f"{kind}-{name}",
                    f"{title}, ours and those of the study of 2014. {_PUBLISHED}.",
                    rows,
                    axis,
                    "benchmark",
                )
        if rows := _list_percentiles(of_threads):
            caption = f"Latency of each kind of operation with {threads}. {READING_HINT}."
            yield draw_dots(f"percentiles-{name}", caption, rows, "latency, milliseconds")
    if due := [figure for figure in figures if figure.metric.name == DUE.name]:
        yield _draw_due(due)


def _compare(figures: Sequence[Figure]) -> list[DotRow]:
    """Returns a row for each workload, and for each buffer of pure inserts, with ours and the published figures."""
    cells: dict[str, dict[str, Figure]] = {}
    for figure in figures:
        workload, mode = figure.labels["workload"], figure.labels["mode"]
        # A flushed insert fills no buffer, and stands beside the one of the study's usual size.
        size = mode if mode != "flushed" else "buffer of 100 KB"
        row = f"pure inserts, {size}" if workload == "insert" else f"workload {workload}"
        series = figure.labels.get("cluster") or ("ours, flushed" if mode == "flushed" else "ours, buffered")
        cells.setdefault(row, {})[series] = figure
    workloads = sorted(label for label in cells if label.startswith("workload"))
    inserts = [label for label in cells if label not in workloads]
    return [DotRow(label, cells[label]) for label in (*workloads, *inserts)]


def _list_percentiles(figures: Sequence[Figure]) -> list[DotRow]:
    cells: dict[str, dict[str, Figure]] = {}
    for figure in figures:
        if figure.metric.name in _PERCENTILES:
            label = f"{figure.labels['workload']}, {figure.labels['mode']}: {figure.labels['operation']}"
            cells.setdefault(label, {})[_PERCENTILES[figure.metric.name]] = figure
    return [DotRow(label, of_row) for label, of_row in cells.items()]


def _draw_due(figures: Sequence[Figure]) -> Sketch:
    cells: dict[str, dict[str, Figure]] = {}
    for figure in figures:
        cells.setdefault(figure.labels["operation"], {})[figure.labels["latency"]] = figure
    first = figures[0].labels
    case = f"Workload {first['workload']}, {first['mode']}, {first['threads']}, at half the rate that was reached"
    rows = [DotRow(label, of_row) for label, of_row in cells.items()]
    return draw_dots("due", f"{case}: 99th percentile of the latency. {READING_HINT}.", rows, "latency, milliseconds")
