"""Draws figures in the general way: time series over time, and all others as dots with a picture for each metric."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from watchfloor.loadgen.harness.measurement.figure import Figure

from . import time_series as series
from .canvas import Sketch
from .dot_plot import DotRow, draw_dots
from .labels import capitalize_first, label_figures

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
        parts = math.ceil(len(rows) / _MOST_ROWS)
        for part, of_part in enumerate(cut_evenly(rows, parts), 1):
            sheet = f", part {part} of {parts}" if parts > 1 else ""
            goal = ", the upright stroke is its goal" if any(f.goal and f.goal.is_judged for f in of_metric) else ""
            metric = of_metric[0].metric
            about = f"{capitalize_first(metric.titled_unit)}{f' ({shared})' if shared else ''}{sheet}"
            caption = f"{about}. {READING_HINT}{goal}."
            yield draw_dots(f"{name}-{part}" if parts > 1 else name, caption, of_part, metric.titled_unit)


def cut_evenly(rows: Sequence[DotRow], parts: int) -> Iterator[Sequence[DotRow]]:
    """Yields the rows in as many parts, all of which have the same number of rows, or one less."""
    for part in range(parts):
        yield rows[len(rows) * part // parts : len(rows) * (part + 1) // parts]
