"""``bench batching``: how long each policy takes to the 1st, 100th, 1,000th and last row, a panel a value."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..measure import Figure
from . import general
from .canvas import COLOURS, MARKERS, Sketch, panels, plain_log


def draw(figures: Sequence[Figure]) -> Iterator[Sketch]:
    rows = [figure for figure in figures if figure.metric.name == "row_ms"]
    if rows:
        yield _rows(rows)
    yield from general.draw([figure for figure in figures if figure.metric.name != "row_ms"])


def _rows(figures: Sequence[Figure]) -> Sketch:
    values = list(dict.fromkeys(figure.of["value"] for figure in figures))
    policies = list(dict.fromkeys(figure.of["policy"] for figure in figures))
    drawn, places = panels(4.0, columns=len(values), sharey=True)
    for axes, value in zip(places, values, strict=True):
        # A rare value has no 100th row.
        marks = list(dict.fromkeys(figure.of["row"] for figure in figures if figure.of["value"] == value))
        marks.sort(key=lambda mark: float("inf") if mark == "last" else float(mark))
        for place, policy in enumerate(policies):
            found = {f.of["row"]: f for f in figures if f.of["value"] == value and f.of["policy"] == policy}
            xs = [marks.index(mark) + (place - (len(policies) - 1) / 2) * 0.08 for mark in marks if mark in found]
            points = [found[mark] for mark in marks if mark in found]
            colour = COLOURS[place % len(COLOURS)]
            axes.vlines(
                xs,
                [min(p.samples) for p in points],
                [max(p.samples) for p in points],
                color=colour,
                alpha=0.35,
                linewidth=3,
            )
            axes.plot(
                xs,
                [p.value for p in points],
                color=colour,
                marker=MARKERS[place % len(MARKERS)],
                label=policy,
                markersize=5,
                linewidth=1.2,
            )
        axes.set_xticks(range(len(marks)), [mark if mark == "last" else f"{int(mark):,}" for mark in marks])
        axes.set(title=value, xlabel="row", xlim=(-0.5, len(marks) - 0.5))
    places[0].set_ylabel("row_ms, ms")
    plain_log(places[0].yaxis, [sample for figure in figures for sample in figure.samples])
    drawn.legend(*places[0].get_legend_handles_labels(), loc="outside upper center", ncols=len(policies))
    return Sketch(
        "rows", "Time to a row by batching policy, a panel a value: medians, with the range of the samples.", drawn
    )
