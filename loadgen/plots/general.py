"""Figures that have no drawing of their own: time series by time, all others as dots, a picture a metric."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ..measure import Figure
from . import series
from .canvas import Sketch
from .dots import Row, plot

_MOST_ROWS = 40
READ = "A dot is the figure, the bar behind it reaches from its lowest to its highest sample"


def draw(figures: Sequence[Figure]) -> Iterator[Sketch]:
    yield from dots([figure for figure in figures if not figure.at])
    yield from series.draw([figure for figure in figures if figure.at])


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


def axis(figure: Figure) -> str:
    """What an axis of a metric says."""
    return f"{figure.metric.name}, {figure.metric.unit}" if figure.metric.unit else figure.metric.name


def words(figures: Sequence[Figure]) -> tuple[str, list[str]]:
    """What all figures are of, and what each is of beside that."""
    same = {
        key: value
        for key, value in figures[0].of.items()
        if len(figures) > 1 and all(figure.of.get(key) == value for figure in figures)
    }
    return said(same), [said({k: v for k, v in f.of.items() if k not in same}) or f.metric.name for f in figures]


def said(of: Mapping[str, str]) -> str:
    """``of`` on one line; a bare number gets its key, since it says nothing alone."""
    return " · ".join(f"{key} {value}" if value.replace(",", "").isdecimal() else value for key, value in of.items())
