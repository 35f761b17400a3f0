"""Draws ``bench crossover``: time by density and scheme, and ``auto`` beside the best fixed scheme."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence

from watchfloor.loadgen.harness.measurement.figure import Figure
from watchfloor.loadgen.harness.plots.canvas import COLOURS, MARKERS, Sketch, format_log_axis, make_panels
from watchfloor.schema.choices import AUTO

_SINGLE = re.compile(r'left = "d([^"]+)"')
_TITLES = {"page": "To the newest 100 events", "end": "To all events"}


def draw(figures: Sequence[Figure]) -> Iterator[Sketch]:
    timed = [figure for figure in figures if "scheme" in figure.labels]
    if timed:
        yield draw_densities(timed)
        yield _draw_auto(timed)


def draw_densities(figures: Sequence[Figure]) -> Sketch:
    """Draws the times of the single conditions."""
    lines: dict[tuple[str, str], list[tuple[float, float]]] = defaultdict(list)
    for figure in figures:
        found = _SINGLE.fullmatch(figure.labels.get("where", ""))
        if found and "scheme" in figure.labels:
            lines[figure.labels["task"], figure.labels["scheme"]].append((float(found[1]), figure.value))
    drawn, panels = make_panels(4.2, columns=2)
    schemes = list(dict.fromkeys(scheme for _, scheme in lines))
    for axes, task in zip(panels, _TITLES, strict=True):
        for order, scheme in enumerate(schemes):
            points = sorted(lines[task, scheme])
            width, colour = (3.5, "#8a8a8a") if scheme == AUTO else (1.4, COLOURS[order % len(COLOURS)])
            axes.plot(
                *zip(*points, strict=True),
                label=scheme,
                linewidth=width,
                color=colour,
                marker=MARKERS[order],
                markersize=4,
            )
        axes.set(
            title=_TITLES[task],
            xlabel="density of the condition",
            ylabel="time to the last row wanted, milliseconds",
            xscale="log",
        )
        format_log_axis(
            axes.yaxis, [ms for (figure_task, _), points in lines.items() if figure_task == task for _, ms in points]
        )
    drawn.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=len(schemes))
    return Sketch(
        "density", "Time of single conditions by their density, a line a scheme: medians, both axes logarithmic.", drawn
    )


def _draw_auto(figures: Sequence[Figure]) -> Sketch:
    """Draws a dot for each condition and task: the best fixed scheme's time against that of ``auto``."""
    cells: dict[tuple[str, str], dict[str, float]] = defaultdict(dict)
    for figure in figures:
        cells[figure.labels["task"], figure.labels["where"]][figure.labels["scheme"]] = figure.value
    drawn, panels = make_panels(4.6, columns=2)
    for axes, task in zip(panels, _TITLES, strict=True):
        best = [
            min(ms for scheme, ms in cell.items() if scheme != AUTO)
            for (figure_task, _), cell in cells.items()
            if figure_task == task
        ]
        auto = [cell[AUTO] for (figure_task, _), cell in cells.items() if figure_task == task]
        ends = [min(best) * 0.8, max(best) * 1.25]
        for factor, dash in ((1, "-"), (1.2, "--"), (2, ":")):
            label = "equal" if factor == 1 else f"{factor} times as long"
            axes.plot(ends, [end * factor for end in ends], color="#8a8a8a", linestyle=dash, linewidth=1, label=label)
        axes.plot(best, auto, "o", color=COLOURS[0], markersize=4, alpha=0.7)
        axes.set(title=_TITLES[task], xlabel="the best fixed scheme, milliseconds", ylabel="auto, milliseconds")
        for axis in (axes.xaxis, axes.yaxis):
            format_log_axis(axis, [*best, *auto])
    panels[0].legend(loc="upper left")
    return Sketch(
        "auto", "Each condition by its best fixed scheme and by auto: medians; dots on the line are equal.", drawn
    )
