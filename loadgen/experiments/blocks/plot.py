"""Draws ``bench blocks``: loads, disk and answers of the layouts beside the other engines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from watchfloor.loadgen.harness.measurement.figure import Figure
from watchfloor.loadgen.harness.plots import general
from watchfloor.loadgen.harness.plots.canvas import Sketch
from watchfloor.loadgen.harness.plots.dot_plot import DotRow, draw_dots
from watchfloor.loadgen.harness.plots.engine_names import spell_engine

_PLAIN_METRICS = ("load_megabytes_per_second", "first_rows_ms", "block_to_cell", "peer_to_block")
_BY_QUESTION = {"answer_ms": "Time of whole answers", "scan_events_per_second": "Events looked at in a second"}


def draw(figures: Sequence[Figure]) -> Iterator[Sketch]:
    yield from general.draw_metrics([figure for figure in figures if figure.metric.name in _PLAIN_METRICS])
    yield from general.draw_metrics(
        [f for f in figures if f.metric.name == "disk_share" and f.labels["table"] == "all"]
    )
    for name, shows in _BY_QUESTION.items():
        timed = [figure for figure in figures if figure.metric.name == name]
        for events in dict.fromkeys(figure.labels["events"] for figure in timed):
            answered = [figure for figure in timed if figure.labels["events"] == events]
            rows = [
                DotRow(q, {spell_engine(f.labels["engine"]): f for f in answered if f.labels["question"] == q})
                for q in _list_questions(answered)
            ]
            yield draw_dots(
                f"{name}-{events.replace(',', '')}",
                f"{shows}, of {events} events. {general.READING_HINT}.",
                rows,
                answered[0].metric.titled_unit,
            )


def _list_questions(figures: Sequence[Figure]) -> list[str]:
    return list(dict.fromkeys(figure.labels["question"] for figure in figures))
