"""Draws ``bench page``: whole answers by engine, ratios to other engines, and first rows by number of events."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from watchfloor.loadgen.harness.measurement.figure import Figure
from watchfloor.loadgen.harness.plots import general
from watchfloor.loadgen.harness.plots.canvas import Sketch
from watchfloor.loadgen.harness.plots.dot_plot import DotRow, draw_dots
from watchfloor.loadgen.harness.plots.engine_names import spell_engine

from .figures import FIRST, PAGE, PEER

_HINT = f"{general.READING_HINT}; an upright stroke is a goal"


def draw(figures: Sequence[Figure]) -> Iterator[Sketch]:
    for metric, key, shows in (
        (FIRST, "question", "Time to the first row over REST, by number of events"),
        (PAGE, "question", "Time of a whole answer, newest row first, by engine"),
        (PEER, "what", "Time of each other engine / ours over REST: below 1 the other engine is ahead"),
    ):
        found = [figure for figure in figures if figure.metric.name == metric.name]
        by_events = metric.name == FIRST.name
        for events in dict.fromkeys(None if by_events else figure.labels["events"] for figure in found):
            of = [figure for figure in found if events in (None, figure.labels["events"])]
            rows: dict[str, dict[str, Figure]] = {}
            for figure in of:
                series = f"{figure.labels['events']} events" if by_events else spell_engine(figure.labels["engine"])
                rows.setdefault(figure.labels[key], {})[series] = figure
            name = metric.name if events is None else f"{metric.name}-{events.replace(',', '')}"
            caption = f"{shows}{'' if events is None else f', {events} events'}. {_HINT}."
            lines = [DotRow(question, series) for question, series in rows.items()]
            yield draw_dots(name, caption, lines, metric.titled_unit)
    drawn = (FIRST.name, PAGE.name, PEER.name, "same_answers")
    yield from general.draw_metrics([figure for figure in figures if figure.metric.name not in drawn])
