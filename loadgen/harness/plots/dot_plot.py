"""Draws dot plots: each line has a figure, with a dot for its value and a bar for its samples.

See Cleveland, "The Elements of Graphing Data" (1985).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from watchfloor.loadgen.harness.measurement.figure import Figure
from watchfloor.loadgen.harness.measurement.table import format_number

from .canvas import COLOURS, MARKERS, Sketch, format_axis, format_log_axis, make_panels

_ROW, _FRAME = 0.26, 1.0
"""The height in inches of a line, and of the frame around all lines."""
_LOG_FROM = 20
"""The ratio of the greatest to the least value from which on an axis is logarithmic."""


@dataclass(frozen=True)
class DotRow:
    """A line of a dot plot: figures by the name of their series, in the legend's order."""

    label: str
    figures: Mapping[str, Figure]


def draw_dots(name: str, caption: str, rows: Sequence[DotRow], unit: str) -> Sketch:
    """Draws one panel. If there is one series, its values are written beside the lines, and there is no legend."""
    series = list(dict.fromkeys(key for row in rows for key in row.figures))
    step = 1 if len(series) == 1 else 0.7 * len(series)
    drawn, (axes,) = make_panels(_FRAME + _ROW * step * len(rows) + (0.3 if len(series) > 1 else 0))
    _draw_series(axes, rows, series)
    values = [v for row in rows for f in row.figures.values() for v in _list_drawn_values(f)]
    _scale_axis(axes, values)
    axes.set_xlabel(unit)
    if len(series) > 1:
        drawn.legend(*axes.get_legend_handles_labels(), loc="outside upper left", ncols=min(5, len(series) + 1))
    return Sketch(name, caption, drawn)


def _draw_series(axes: Any, rows: Sequence[DotRow], series: Sequence[str]) -> None:
    for order, key in enumerate(series):
        figures_by_y = {
            place + (order - (len(series) - 1) / 2) * 0.8 / len(series): row.figures[key]
            for place, row in enumerate(rows)
            if key in row.figures
        }
        lows, highs = [min(f.samples) for f in figures_by_y.values()], [max(f.samples) for f in figures_by_y.values()]
        colour, marker = COLOURS[order % len(COLOURS)], MARKERS[order % len(MARKERS)]
        axes.hlines(list(figures_by_y), lows, highs, color=colour, linewidth=3, alpha=0.35)
        axes.plot(
            [f.value for f in figures_by_y.values()], list(figures_by_y), marker, color=colour, markersize=5, label=key
        )
        goals = [(figure.goal.limit, y) for y, figure in figures_by_y.items() if figure.goal]
        if goals:
            stroke = COLOURS[1] if len(series) == 1 else colour
            axes.plot(*zip(*goals, strict=True), "|", color=stroke, markersize=11, markeredgewidth=1.6)
        for y, figure in figures_by_y.items() if len(series) == 1 else ():
            beside = axes.get_yaxis_transform()
            axes.text(1.01, y, format_number(figure.value), transform=beside, va="center", fontsize=8.5)
    axes.set_yticks(range(len(rows)), [row.label for row in rows])
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)


def _scale_axis(axes: Any, values: Sequence[float]) -> None:
    if min(values) > 0 and max(values) / min(values) > _LOG_FROM:
        format_log_axis(axes.xaxis, values)
    else:
        axes.set_xlim(left=min(0, min(values)) * 1.05)
        format_axis(axes.xaxis)


def _list_drawn_values(figure: Figure) -> tuple[float, ...]:
    """Returns all values of a figure that the axis must include."""
    return (*figure.samples, figure.value, *((figure.goal.limit,) if figure.goal else ()))
