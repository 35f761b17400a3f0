"""Time series: a picture a run, a panel a metric, one above the other, with one axis of time.

Series that are no rates (how many compactions run, how long a write was held) shade the panels of rates wherever they
are above zero: what a rate falls for is seen behind it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from ..measure import Figure, number
from .canvas import COLOURS, Sketch, panels, plain

_RATE_HEIGHT, _MARK_HEIGHT = 2.4, 1.1


def draw(figures: Sequence[Figure]) -> Iterator[Sketch]:
    """``figures`` have times. Those that are of the same stand in one picture."""
    from .general import axis, said

    runs: dict[tuple[tuple[str, str], ...], list[Figure]] = {}
    for figure in figures:
        runs.setdefault(tuple(figure.of.items()), []).append(figure)
    for of, found in runs.items():
        found.sort(key=lambda figure: not _is_rate(figure))
        marks = {figure.metric.name: figure for figure in found if not _is_rate(figure)}
        ratios = [_RATE_HEIGHT if _is_rate(figure) else _MARK_HEIGHT for figure in found]
        drawn, places = panels(sum(ratios) + 0.6, len(found), sharex=True, height_ratios=ratios)
        for axes, figure in zip(places, found, strict=True):
            axes.set_title(axis(figure))
            plain(axes.yaxis)
            axes.set_ylim(0, max(*figure.samples, 0) * 1.08 or 1)
            if _is_rate(figure):
                axes.plot(figure.at, figure.samples, color=COLOURS[0], linewidth=1.4)
                axes.axhline(figure.value, color=COLOURS[0], linestyle="--", linewidth=1)
                axes.text(
                    1.005,
                    figure.value,
                    number(figure.value),
                    transform=axes.get_yaxis_transform(),
                    va="center",
                    fontsize=8.5,
                )
                for place, (name, mark) in enumerate(marks.items(), 1):
                    _shade(axes, mark, COLOURS[place % len(COLOURS)], name)
                if marks:
                    axes.legend(loc="lower right", ncols=len(marks))
            else:
                colour = COLOURS[(list(marks).index(figure.metric.name) + 1) % len(COLOURS)]
                axes.fill_between(figure.at, figure.samples, step="post", color=colour, alpha=0.6, linewidth=0)
        places[-1].set_xlabel("seconds from the beginning of the run")
        title = said(dict(of))
        shaded = f" Shaded: where {' and '.join(marks)} is above zero." if marks and len(marks) < len(found) else ""
        caption = (
            f"{', '.join(dict.fromkeys(f.metric.name for f in found))} over time{f' ({title})' if title else ''}. "
        )
        yield Sketch(f"series-{_file(title)}", f"{caption}The dashed line is the figure.{shaded}", drawn)


def _is_rate(figure: Figure) -> bool:
    return figure.metric.unit.endswith("/s")


def _shade(axes: Any, mark: Figure, colour: str, name: str) -> None:
    """Behind the line, from each sample above zero to the next sample."""
    label: str | None = name
    for (since, value), (until, _) in pairwise(zip(mark.at, mark.samples, strict=True)):
        if value > 0:
            axes.axvspan(since, until, color=colour, alpha=0.18, linewidth=0, label=label)
            label = None


def _file(title: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-") or "all"
