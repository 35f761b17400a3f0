"""Dot plots (Cleveland, "The Elements of Graphing Data", 1985): a row a figure, a dot its value, a bar its samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..measure import Figure, number
from .canvas import COLOURS, MARKERS, Sketch, panels, plain, plain_log

_ROW, _FRAME = 0.26, 1.0
"""Inches of a row, and of what is around the rows."""
_LOG_FROM = 20
"""The greatest value by the least from which on an axis is logarithmic."""


@dataclass(frozen=True)
class Row:
    """A line of a dot plot: figures by the name of their series, in the legend's order."""

    label: str
    figures: Mapping[str, Figure]


def plot(name: str, caption: str, rows: Sequence[Row], unit: str) -> Sketch:
    """One panel. With one series each row's value is written beside it, without a legend."""
    series = list(dict.fromkeys(key for row in rows for key in row.figures))
    step = 1 if len(series) == 1 else 0.7 * len(series)
    drawn, (axes,) = panels(_FRAME + _ROW * step * len(rows) + (0.3 if len(series) > 1 else 0))
    _draw(axes, rows, series)
    values = [v for row in rows for f in row.figures.values() for v in (*f.samples, f.value, *_limits([f]))]
    _scale(axes, values)
    axes.set_xlabel(unit)
    if len(series) > 1:
        drawn.legend(*axes.get_legend_handles_labels(), loc="outside upper left", ncols=min(5, len(series) + 1))
    return Sketch(name, caption, drawn)


def _draw(axes: Any, rows: Sequence[Row], series: Sequence[str]) -> None:
    for place, row in enumerate(rows):
        for at, key in enumerate(series):
            if key not in row.figures:
                continue
            figure = row.figures[key]
            y = place + (at - (len(series) - 1) / 2) * 0.8 / len(series)
            colour = COLOURS[at % len(COLOURS)]
            marker = MARKERS[(at + at // len(COLOURS)) % len(MARKERS)]
            axes.hlines(y, min(figure.samples), max(figure.samples), color=colour, linewidth=3, alpha=0.35)
            first = not any(key in before.figures for before in rows[:place])
            axes.plot(figure.value, y, marker, color=colour, markersize=5, label=key if first else None, linestyle="")
            for limit in _limits([figure]):
                axes.plot(
                    limit, y, "|", color=COLOURS[1] if len(series) == 1 else colour, markersize=11, markeredgewidth=1.6
                )
            if len(series) == 1:
                beside = axes.get_yaxis_transform()
                axes.text(1.01, y, number(figure.value), transform=beside, va="center", ha="left", fontsize=8.5)
    axes.set_yticks(range(len(rows)), [row.label for row in rows])
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)


def _scale(axes: Any, values: Sequence[float]) -> None:
    if min(values) > 0 and max(values) / min(values) > _LOG_FROM:
        plain_log(axes.xaxis, values)
    else:
        axes.set_xlim(left=min(0, min(values)) * 1.05)
        plain(axes.xaxis)


def _limits(figures: Sequence[Figure]) -> list[float]:
    return [figure.goal.limit for figure in figures if figure.goal]
