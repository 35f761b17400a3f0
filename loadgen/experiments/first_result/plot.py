"""Draws ``bench first-result``: the first and the hundredth rows by value and scheme, in process beside REST."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from watchfloor.loadgen.harness.measurement.figure import Figure
from watchfloor.loadgen.harness.plots import general
from watchfloor.loadgen.harness.plots.canvas import Sketch
from watchfloor.loadgen.harness.plots.dot_plot import DotRow, draw_dots

_SERIES = {
    "first_rows_ms": "first rows, in process",
    "rest_first_rows_ms": "first line, through REST",
    "hundred_rows_ms": "100 rows, in process",
    "rest_hundred_rows_ms": "100 lines, through REST",
}


def draw(figures: Sequence[Figure]) -> Iterator[Sketch]:
    timed = [figure for figure in figures if figure.metric.name in _SERIES]
    for value in dict.fromkeys(figure.labels["value"] for figure in timed):
        found = [figure for figure in timed if figure.labels["value"] == value]
        rows = [
            DotRow(scheme, {_SERIES[f.metric.name]: f for f in found if f.labels["scheme"] == scheme})
            for scheme in dict.fromkeys(figure.labels["scheme"] for figure in found)
        ]
        yield draw_dots(
            value, f"A {value} value. {general.READING_HINT}; an upright stroke is a goal.", rows, "time, milliseconds"
        )
    yield from general.draw_metrics([figure for figure in figures if figure.metric.name not in _SERIES])
