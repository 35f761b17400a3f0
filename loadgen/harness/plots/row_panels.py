"""Draws the time to the 1st, 100th, 1,000th and last row, with a panel and a line for each value of two labels."""

from __future__ import annotations

from collections.abc import Sequence

from watchfloor.loadgen.harness.measurement.figure import Figure

from .canvas import COLOURS, MARKERS, Sketch, format_log_axis, make_panels

_LAST = "last"


def draw_row_panels(name: str, caption: str, figures: Sequence[Figure], panel: str, line: str) -> Sketch:
    """Draws a panel for each value of the label ``panel``, with a line for each value of the label ``line``.

    Each figure is of a row; its point has the range of its samples.
    """
    drawn, panels = make_panels(4.0, columns=len(_list_values(figures, panel)), sharey=True)
    lines = _list_values(figures, line)
    for axes, title in zip(panels, _list_values(figures, panel), strict=True):
        here = [figure for figure in figures if figure.labels[panel] == title]
        # A rare value has no 100th row.
        rows = sorted(_list_values(here, "row"), key=lambda row: float("inf") if row == _LAST else float(row))
        for order, word in enumerate(lines):
            points = sorted(
                (f for f in here if f.labels[line] == word), key=lambda figure: rows.index(figure.labels["row"])
            )
            xs = [rows.index(p.labels["row"]) + (order - (len(lines) - 1) / 2) * 0.08 for p in points]
            colour, marker = COLOURS[order % len(COLOURS)], MARKERS[order % len(MARKERS)]
            ends = [min(p.samples) for p in points], [max(p.samples) for p in points]
            axes.vlines(xs, *ends, color=colour, alpha=0.35, linewidth=3)
            axes.plot(
                xs, [p.value for p in points], color=colour, marker=marker, label=word, markersize=5, linewidth=1.2
            )
        axes.set_xticks(range(len(rows)), [row if row == _LAST else f"{int(row):,}" for row in rows])
        axes.set(title=title, xlabel="row", xlim=(-0.5, len(rows) - 0.5))
    panels[0].set_ylabel(figures[0].metric.titled_unit)
    format_log_axis(panels[0].yaxis, [sample for figure in figures for sample in figure.samples])
    drawn.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=len(lines))
    return Sketch(name, f"{caption}: medians, with the range of the samples; the time axis is logarithmic.", drawn)


def _list_values(figures: Sequence[Figure], key: str) -> list[str]:
    return list(dict.fromkeys(figure.labels[key] for figure in figures))
