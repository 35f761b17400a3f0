"""Makes the labels of pictures: labels of axes, and labels that tell figures apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from watchfloor.loadgen.harness.measurement.figure import Figure


def label_axis(figure: Figure) -> str:
    """Returns the label of an axis: the metric and its unit."""
    return f"{figure.metric.name}, {figure.metric.unit}" if figure.metric.unit else figure.metric.name


def label_figures(figures: Sequence[Figure]) -> tuple[str, list[str]]:
    """Returns the labels that all figures share, and for each figure the labels that differ."""
    same = {
        key: value
        for key, value in figures[0].labels.items()
        if len(figures) > 1 and all(figure.labels.get(key) == value for figure in figures)
    }
    return format_case(same), [
        format_case({k: v for k, v in f.labels.items() if k not in same}) or f.metric.name for f in figures
    ]


def format_case(of: Mapping[str, str]) -> str:
    """Formats the labels of a case on one line.

    Only a bare number gets its key, because other values explain themselves.
    """
    return " · ".join(f"{key} {value}" if value.replace(",", "").isdecimal() else value for key, value in of.items())
