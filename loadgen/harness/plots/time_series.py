"""Draws time series: a picture for each run, with its metrics in panels, one above the other, over one axis of time."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from watchfloor.loadgen.harness.measurement.figure import Figure
from watchfloor.loadgen.harness.measurement.table import format_number

from .canvas import COLOURS, Sketch, format_axis, make_panels
from .labels import capitalize_first, format_case

_HEIGHT, _SHADING_HEIGHT = 2.4, 1.1
"""Inches of a panel, and of a panel of a shading metric."""


def draw_time_series(figures: Sequence[Figure], shading_metrics: Sequence[str] = ()) -> Iterator[Sketch]:
    """Draws figures whose samples have times; figures of the same case stand in one picture.

    The ``shading_metrics`` (how many compactions run, how long a write was held) shade the panels of rates wherever
    they are above zero, so that the cause of a falling rate can be seen behind it. One that is zero throughout gets no
    panel, and is named in the caption.
    """
    runs: dict[tuple[tuple[str, str], ...], list[Figure]] = {}
    for figure in figures:
        runs.setdefault(tuple(figure.labels.items()), []).append(figure)
    for case, of_run in runs.items():
        zeros = [f.metric for f in of_run if f.metric.name in shading_metrics and not any(f.samples)]
        shown = [figure for figure in of_run if figure.metric not in zeros]
        shades = {name: COLOURS[place] for place, name in enumerate(shading_metrics, 1) if _filter_metric(shown, name)}
        shown.sort(key=lambda figure: figure.metric.name in shades)
        title = format_case(dict(case))
        names = ", ".join(dict.fromkeys(figure.metric.title for figure in shown))
        about = f"{capitalize_first(names)} over time{f': {title}' if title else ''}"
        causes = " or ".join(_filter_metric(shown, name)[0].metric.title for name in shades)
        shaded = f" Shaded: where {causes} is above zero." if shades else ""
        zero = f" Zero throughout: {', '.join(metric.title for metric in zeros)}." if zeros else ""
        yield Sketch(
            f"series-{_make_file_name(title)}", f"{about}.{shaded}{zero} Dashed: the figure.", _draw_run(shown, shades)
        )


def _draw_run(figures: Sequence[Figure], shades: dict[str, str]) -> Any:
    heights = [_SHADING_HEIGHT if figure.metric.name in shades else _HEIGHT for figure in figures]
    drawn, panels = make_panels(sum(heights) + 0.6, len(figures), sharex=True, height_ratios=heights)
    for axes, figure in zip(panels, figures, strict=True):
        axes.set_title(capitalize_first(figure.metric.titled_unit))
        axes.set_ylim(0, max(*figure.samples, 0) * 1.08 or 1)
        format_axis(axes.yaxis)
        if figure.metric.name in shades:
            colour = shades[figure.metric.name]
            axes.fill_between(figure.at, figure.samples, step="post", color=colour, alpha=0.6, linewidth=0)
            continue
        rate = figure.metric.unit.endswith("/s")
        line = {"linewidth": 1.4} if rate else {"marker": ".", "linestyle": "", "alpha": 0.6}
        axes.plot(figure.at, figure.samples, color=COLOURS[0], **line)
        axes.axhline(figure.value, color=COLOURS[0], linestyle="--", linewidth=1)
        beside = axes.get_yaxis_transform()
        axes.text(1.005, figure.value, format_number(figure.value), transform=beside, va="center", fontsize=8.5)
        for name, colour in shades.items() if rate else ():
            _shade_panel(axes, _filter_metric(figures, name)[0], colour)
        if rate and any(axes.get_legend_handles_labels()):
            axes.legend(loc="lower right", ncols=len(shades))
    panels[-1].set_xlabel("seconds from the beginning of the run")
    return drawn


def _shade_panel(axes: Any, shading: Figure, colour: str) -> None:
    """Shades the background from each sample above zero to the next sample."""
    looks = zip(shading.at, shading.samples, strict=True)
    spans = [(since, until - since) for (since, value), (until, _) in pairwise(looks) if value > 0]
    if spans:
        whole = axes.get_xaxis_transform()
        axes.broken_barh(
            spans, (0, 1), transform=whole, color=colour, alpha=0.18, linewidth=0, label=shading.metric.title
        )


def _filter_metric(figures: Sequence[Figure], name: str) -> list[Figure]:
    return [figure for figure in figures if figure.metric.name == name]


def _make_file_name(title: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-") or "all"
