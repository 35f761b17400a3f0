"""Draws ``bench peers``: load, disk and rows of each engine, and each other engine's ratio to ours."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from watchfloor.loadgen.harness.measurement.figure import Figure
from watchfloor.loadgen.harness.plots import general
from watchfloor.loadgen.harness.plots.canvas import Sketch
from watchfloor.loadgen.harness.plots.dot_plot import DotRow, draw_dots
from watchfloor.loadgen.harness.plots.engine_names import spell_engine


def draw(figures: Sequence[Figure]) -> Iterator[Sketch]:
    rows = [figure for figure in figures if figure.metric.name == "row_ms"]
    values = dict.fromkeys(figure.labels["question"].partition(",")[0] for figure in rows)
    for value in values:
        timed = [figure for figure in rows if figure.labels["question"].partition(",")[0] == value]
        lines = [
            DotRow(question, {spell_engine(f.labels["engine"]): f for f in timed if f.labels["question"] == question})
            for question in dict.fromkeys(figure.labels["question"] for figure in timed)
        ]
        shows = f"Time to a row of a {value} value, newest first, by engine. {general.READING_HINT}."
        yield draw_dots(f"rows-{value}", shows, lines, timed[0].metric.titled_unit)
    ratios = [figure for figure in figures if figure.metric.name == "peer_to_watchfloor"]
    if ratios:
        lines = [
            DotRow(what, {spell_engine(f.labels["engine"]): f for f in ratios if f.labels["what"] == what})
            for what in dict.fromkeys(figure.labels["what"] for figure in ratios)
        ]
        shows = "Time or size of each other engine / ours: below 1 the other engine is ahead"
        yield draw_dots("ratios", f"{shows}. {general.READING_HINT}.", lines, ratios[0].metric.titled_unit)
    yield from general.draw_metrics(
        [figure for figure in figures if figure.metric.name not in ("row_ms", "same_answers") and figure not in ratios]
    )
