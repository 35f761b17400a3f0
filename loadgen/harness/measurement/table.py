"""Formats figures as a table of text."""

from __future__ import annotations

from collections.abc import Sequence

from .figure import Figure


def format_figures(figures: Sequence[Figure]) -> str:
    """Formats the figures in columns, a line each."""
    rows = [("metric", "of", "value", "unit", "goal", "", "lowest", "highest", "samples")]
    for figure in figures:
        verdict = figure.verdict.replace("missed", "MISSED")
        rows.append(
            (
                figure.metric.name,
                " ".join(figure.labels.values()),
                format_number(figure.value),
                figure.metric.unit,
                str(figure.goal) if figure.goal else "",
                "; ".join(filter(None, (verdict, figure.note))),
                format_number(min(figure.samples)),
                format_number(max(figure.samples)),
                str(len(figure.samples)),
            )
        )
    return align_columns(rows, right={2, 6, 7, 8})


def align_columns(rows: Sequence[Sequence[str]], right: set[int]) -> str:
    """Formats rows of cells in columns; the columns whose numbers are in ``right`` are aligned to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = (
        "  ".join(
            cell.rjust(w) if i in right else cell.ljust(w) for i, (cell, w) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    )
    return "\n".join(line.rstrip() for line in lines)


def format_number(value: float) -> str:
    """Formats a value with about three digits."""
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    if 0 < abs(value) < 0.1:
        return f"{value:.2g}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"
