"""Figures that have no drawing of their own: time series by time, all others as dots, a picture a metric."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from watchfloor.loadgen.harness.measurement.figure import Figure

from . import time_series as series
from .canvas import Sketch
from .dot_plot import Row, plot
from .labels import axis, words

_MOST_ROWS = 40
_SERIES = 2
"""Samples with a time from which on they make a line."""
READ = "A dot is the figure, the bar behind it reaches from its lowest to its highest sample"


def draw(figures: Sequence[Figure]) -> Iterator[Sketch]:
    yield from dots([figure for figure in figures if len(figure.at) < _SERIES])
    yield from series.draw([figure for figure in figures if len(figure.at) >= _SERIES])


def dots(figures: Sequence[Figure]) -> Iterator[Sketch]:
    """A picture a metric, or several where it has many figures."""
    for name in dict.fromkeys(figure.metric.name for figure in figures):
        found = [figure for figure in figures if figure.metric.name == name]
        shared, labels = words(found)
        rows = [Row(label, {"": figure}) for label, figure in zip(labels, found, strict=True)]
        parts = range(0, len(rows), _MOST_ROWS)
        for part, begin in enumerate(parts, 1):
            sheet = f", part {part} of {len(parts)}" if len(parts) > 1 else ""
            goal = ", the upright stroke is its goal" if any(f.goal for f in found) else ""
            caption = f"{name}{f' ({shared})' if shared else ''}{sheet}. {READ}{goal}."
            file = f"{name}-{part}" if len(parts) > 1 else name
            yield plot(file, caption, rows[begin : begin + _MOST_ROWS], axis(found[0]))
