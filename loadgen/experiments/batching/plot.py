"""Draws ``bench batching``: the time to a row by policy, with a panel for each value."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from watchfloor.loadgen.harness.measurement.figure import Figure
from watchfloor.loadgen.harness.plots import general
from watchfloor.loadgen.harness.plots.canvas import Sketch
from watchfloor.loadgen.harness.plots.row_panels import draw_row_panels


def draw(figures: Sequence[Figure]) -> Iterator[Sketch]:
    rows = [figure for figure in figures if figure.metric.name == "row_ms"]
    if rows:
        yield draw_row_panels("rows", "Time to a row by batching policy, a panel a value", rows, "value", "policy")
    yield from general.draw_general([figure for figure in figures if figure.metric.name != "row_ms"])
