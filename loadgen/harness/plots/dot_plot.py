"""Draws dot plots: each line has a figure, with a dot for its value and a bar for its samples.

See Cleveland, "The Elements of Graphing Data" (1985).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from watchfloor.loadgen.harness.measurement.figure import Figure
from watchfloor.loadgen.harness.measurement.table import format_number
from watchfloor.loadgen.published.read_published import StudyName

from .canvas import (
    COLOURS,
    HOLLOW,
    INK,
    MARKERS,
    PUBLISHED_MARKERS,
    Sketch,
    format_axis,
    format_log_axis,
    make_panels,
)
from .labels import is_published

_ROW, _FRAME = 0.26, 1.0
"""The height in inches of a line, and of the frame around all lines."""
_LEGEND_LETTERS = 100
"""The letters of a legend's labels up to which five stand on a line."""
_LOG_FROM = 20
"""The ratio of the greatest to the least value from which on an axis is logarithmic."""


@dataclass(frozen=True)
class DotRow:
    """A line of a dot plot: figures by the name of their series, in the legend's order; a lone series needs no name.

    A series whose name is of ``label_published`` has the mark of published values, and so have all figures of a line
    that has such a name in ``published``.
    """

    label: str
    figures: Mapping[str, Figure]
    published: str = ""


def draw_dots(
    name: str,
    caption: str,
    rows: Sequence[DotRow],
    unit: str,
    study: StudyName | None = None,
    below: bool = True,
) -> Sketch:
    """Draws one panel. If there is one series, its values are written beside the lines, and it has no legend.

    The dots of a line stand one ``below`` the other, or all on the line if they cannot hide each other.
    """
    series = list(dict.fromkeys(key for row in rows for key in row.figures))
    step = 0.7 * len(series) if below and len(series) > 1 else 1
    drawn, (axes,) = make_panels(_FRAME + _ROW * step * len(rows) + (0.3 if len(series) > 1 else 0))
    for order, key in enumerate(series):
        shift = (order - (len(series) - 1) / 2) * 0.8 / len(series) if below else 0
        _draw_series(axes, rows, key, shift, _choose_mark(key, series))
    for label in dict.fromkeys(row.published for row in rows if row.published):
        axes.plot([], [], PUBLISHED_MARKERS[0], color=INK, label=label, **HOLLOW)
    if len(series) == 1:
        _write_values(axes, rows, series[0])
    axes.set_yticks(range(len(rows)), [row.label for row in rows])
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    _scale_axis(axes, [v for row in rows for f in row.figures.values() for v in _list_drawn_values(f)])
    axes.set_xlabel(unit)
    handles, labels = axes.get_legend_handles_labels()
    if len(series) > 1 or any(map(is_published, labels)):
        columns = 3 if sum(map(len, labels)) > _LEGEND_LETTERS else 5
        drawn.legend(handles, labels, loc="outside upper left", ncols=columns)
    return Sketch(name, caption, drawn, study)


def _choose_mark(key: str, series: Sequence[str]) -> dict[str, Any]:
    """Returns the colour and the marker of a series."""
    place = [other for other in series if is_published(other) == is_published(key)].index(key)
    if is_published(key):
        return {"color": INK, "marker": PUBLISHED_MARKERS[place % len(PUBLISHED_MARKERS)], **HOLLOW}
    return {"color": COLOURS[place % len(COLOURS)], "marker": MARKERS[place % len(MARKERS)]}


def _draw_series(axes: Any, rows: Sequence[DotRow], key: str, shift: float, mark: Mapping[str, Any]) -> None:
    """Draws dots, bars and goals of a series, ``shift`` below the lines."""
    placed = [(place + shift, row.figures[key], row) for place, row in enumerate(rows) if key in row.figures]
    alone = not key
    for is_theirs in (False, True):
        points = [(figure, y) for y, figure, row in placed if bool(row.published) == is_theirs]
        if not points:
            continue
        style = {**mark, "marker": PUBLISHED_MARKERS[0], **HOLLOW} if is_theirs else mark
        colour = INK if is_theirs and alone else mark["color"]
        values, ys = [figure.value for figure, _ in points], [y for _, y in points]
        lows, highs = [min(figure.samples) for figure, _ in points], [max(figure.samples) for figure, _ in points]
        axes.hlines(ys, lows, highs, color=colour, linewidth=3, alpha=0.35)
        label = None if is_theirs else key
        axes.plot(values, ys, linestyle="", markersize=5, clip_on=False, label=label, **{**style, "color": colour})
    goals = [(figure.goal.limit, y) for y, figure, _ in placed if figure.goal and figure.goal.is_judged]
    if goals:
        stroke = COLOURS[1] if alone else mark["color"]
        axes.plot(*zip(*goals, strict=True), "|", color=stroke, markersize=11, markeredgewidth=1.6)


def _write_values(axes: Any, rows: Sequence[DotRow], key: str) -> None:
    beside = axes.get_yaxis_transform()
    for y, row in enumerate(rows):
        if key in row.figures:
            text = format_number(row.figures[key].value)
            axes.text(1.01, y, text, transform=beside, va="center", fontsize=8.5)


def _scale_axis(axes: Any, values: Sequence[float]) -> None:
    if min(values) > 0 and max(values) / min(values) > _LOG_FROM:
        format_log_axis(axes.xaxis, values)
    else:
        axes.set_xlim(min(0, min(values)) * 1.05, None if any(values) else 1)
        format_axis(axes.xaxis)


def _list_drawn_values(figure: Figure) -> tuple[float, ...]:
    """Returns all values of a figure that the axis must include."""
    goal = (figure.goal.limit,) if figure.goal and figure.goal.is_judged else ()
    return (*figure.samples, figure.value, *goal)
