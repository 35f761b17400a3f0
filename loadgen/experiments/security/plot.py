"""Draws ``bench security``: the cost of each level beside the published one, and the series that the study plotted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from watchfloor.loadgen.harness.measurement.figure import Figure
from watchfloor.loadgen.harness.plots import general
from watchfloor.loadgen.harness.plots.canvas import Sketch
from watchfloor.loadgen.harness.plots.dot_plot import DotRow, draw_dots
from watchfloor.loadgen.harness.plots.labels import label_published
from watchfloor.loadgen.harness.plots.time_series import draw_time_series
from watchfloor.loadgen.published.read_published import load_published

from .figures import CHANGE, SERIES


def draw(figures: Sequence[Figure]) -> Iterator[Sketch]:
    changes = [f for f in figures if f.metric.name == CHANGE.name and f.labels["of"] == "median"]
    if changes:
        rows = [DotRow(f.labels["level"], {"here": f, **_find_published(f.labels["level"])}) for f in changes]
        caption = "More time than without security, of the median iteration; the bar has the shortest and the longest."
        yield draw_dots("levels", caption, rows, CHANGE.titled_unit, "security")
    names = {metric.name for metric in SERIES.values()}
    series = [f for f in figures if f.metric.name in names]
    yield from draw_time_series(series)
    yield from general.draw_general([f for f in figures if f.metric.name not in names | {CHANGE.name}])


def _find_published(level: str) -> dict[str, Figure]:
    """Returns the published change of a level, by the label of its series."""
    study = load_published()["security"]
    (row,) = study.tables["2"].select_rows(level=level)
    samples = tuple(row[f"{which}_change_percent"] for which in ("min", "median", "max"))
    figure = Figure(CHANGE, samples, derived=row["median_change_percent"])
    return {label_published(study.year, "8 workers"): figure}
