"""Draws figures in the general way: time series over time, and all others as dots with a picture for each metric."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from watchfloor.loadgen.harness.measurement.figure import Figure

from . import time_series as series
from .canvas import Sketch
from .dot_plot import DotRow, draw_dots
from .labels import label_axis, label_figures

_MOST_ROWS = 40
_SERIES = 2
"""The least number of samples with a time that are drawn as a time series."""
READING_HINT = "A dot is the figure, the bar behind it reaches from its lowest to its highest sample"


def draw_general(figures: Sequence[Figure]) -> Iterator[Sketch]:
    """Draws time series over time, and all other figures as dots."""
    yield from draw_metrics([figure for figure in figures if len(figure.at) < _SERIES])
    yield from series.draw_time_series([figure for figure in figures if len(figure.at) >= _SERIES])


def draw_metrics(figures: Sequence[Figure]) -> Iterator[Sketch]:
    """Draws a picture for each metric, or several if it has many figures."""
    for name in dict.fromkeys(figure.metric.name for figure in figures):
        of_metric = [figure for figure in figures if figure.metric.name == name]
        shared, labels = label_figures(of_metric)
        rows = [DotRow(label, {"": figure}) for label, figure in zip(labels, of_metric, strict=True)]
        parts = range(0, len(rows), _MOST_ROWS)
        for part, begin in enumerate(parts, 1):
            sheet = f", part {part} of {len(parts)}" if len(parts) > 1 else ""
            goal = ", the upright stroke is its goal" if any(f.goal for f in of_metric) else ""
            caption = f"{name}{f' ({shared})' if shared else ''}{sheet}. {READING_HINT}{goal}."
            file = f"{name}-{part}" if len(parts) > 1 else name
            yield draw_dots(file, caption, rows[begin : begin + _MOST_ROWS], label_axis(of_metric[0]))
