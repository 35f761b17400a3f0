"""Draws ``bench stats``: the times of answers and our ratios to other engines by question, and first parts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from watchfloor.loadgen.harness.measurement.figure import Figure
from watchfloor.loadgen.harness.plots import general
from watchfloor.loadgen.harness.plots.canvas import Sketch
from watchfloor.loadgen.harness.plots.dot_plot import DotRow, draw_dots
from watchfloor.loadgen.harness.plots.engine_names import spell_engine

from .answers import REST
from .figures import ANSWER, FIRST, RATIO


def draw(figures: Sequence[Figure]) -> Iterator[Sketch]:
    if answers := [figure for figure in figures if figure.metric.name == ANSWER.name]:
        caption = f"Time of whole answers by question and engine. {general.READING_HINT}; an upright stroke is a goal."
        yield draw_dots("answers", caption, _list_questions(answers), ANSWER.titled_unit)
    ratios = [f for f in figures if f.metric.name == RATIO.name and f.labels["ours"] == REST]
    if ratios:
        caption = (
            "Our time over REST / that of another engine by question: above 1 the other engine is ahead. "
            f"{general.READING_HINT}; an upright stroke is a goal."
        )
        yield draw_dots("ratios", caption, _list_questions(ratios), RATIO.titled_unit)
    yield from general.draw_metrics([figure for figure in figures if figure.metric.name == FIRST.name])


def _list_questions(figures: Sequence[Figure]) -> list[DotRow]:
    """Returns a row for each question, with the engines as its series."""
    rows: dict[str, dict[str, Figure]] = {}
    for figure in figures:
        engine = spell_engine(figure.labels["engine"])
        rows.setdefault(figure.labels["question"], {})[engine] = figure
    return [DotRow(question, found) for question, found in rows.items()]
