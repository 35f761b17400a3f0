"""Tells figures which size of a run their goals are meant for."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from .figure import Figure
from .metric import GoalSize


def size_goals(figures: Iterable[Figure], measured: float, least: float, counted: str) -> list[Figure]:
    """Returns the figures of a run of ``measured`` events, rows or bytes, whose goals are for ``least`` and more.

    Goals of exact metrics, such as wrong answers, are for runs of all sizes and stay as they are.
    """
    size = GoalSize(measured, least, counted)
    return [
        replace(figure, goal=replace(figure.goal, size=size)) if figure.goal and not figure.metric.exact else figure
        for figure in figures
    ]
