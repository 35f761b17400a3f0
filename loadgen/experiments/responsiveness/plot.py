"""Draws ``bench responsiveness``: times to rows, the paper's times beside ours, and latency."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from watchfloor.loadgen.harness.measurement.figure import Figure
from watchfloor.loadgen.harness.plots import general
from watchfloor.loadgen.harness.plots.canvas import Sketch
from watchfloor.loadgen.harness.plots.dot_plot import DotRow, draw_dots
from watchfloor.loadgen.harness.plots.labels import label_published
from watchfloor.loadgen.harness.plots.row_panels import draw_row_panels

from .published import load_paper_times

_SCHEDULED = {
    "service_ms": "service time, median",
    "service_p99_ms": "service time, 99th percentile",
    "latency_ms": "latency, median",
    "latency_p99_ms": "latency, 99th percentile",
}
_OTHERS = ("auto_to_best", "ingest_events_per_second", "ingest_delay_ms", "queries_per_second")


def draw(figures: Sequence[Figure]) -> Iterator[Sketch]:
    rows = [figure for figure in figures if figure.metric.name == "row_ms"]
    for layout, state in dict.fromkeys((figure.labels["layout"], figure.labels["state"]) for figure in rows):
        found = [figure for figure in rows if (figure.labels["layout"], figure.labels["state"]) == (layout, state)]
        shows = f"Time to a row by scheme, a panel a query: {layout} layout, {state}"
        yield draw_row_panels(f"rows-{layout}-{state}", shows, found, "query", "scheme")
    if paper := [figure for figure in figures if figure.metric.name == "paper_ms"]:
        yield from _draw_published(paper, rows)
    scheduled = [figure for figure in figures if figure.metric.name in _SCHEDULED]
    for layout in dict.fromkeys(figure.labels["layout"] for figure in scheduled):
        yield _draw_waiting(layout, [figure for figure in scheduled if figure.labels["layout"] == layout])
    yield from general.draw_metrics([figure for figure in figures if figure.metric.name in _OTHERS])


def _draw_published(paper: Sequence[Figure], ours: Sequence[Figure]) -> Iterator[Sketch]:
    """Draws a picture for each row that the paper has.

    Each line has the paper's time of a query and scheme beside our warm times.
    """
    warm = [figure for figure in ours if figure.labels["state"] == "warm"]
    for row in dict.fromkeys(figure.labels["row"] for figure in paper):
        lines = []
        for published in (figure for figure in paper if figure.labels["row"] == row):
            case = {key: published.labels[key] for key in ("query", "scheme", "row")}
            same = [figure for figure in warm if case.items() <= figure.labels.items()]
            beside = {f"{figure.labels['layout']} layout, warm": figure for figure in same}
            lines.append(DotRow(f"{case['query']}, {case['scheme']}", {_label_source(published): published, **beside}))
        which = {"1": "first row", "last": "last row"}.get(row, f"row {row}")
        shows = f"Time to the {which} of queries A, B and C by scheme, as published and as measured here"
        yield draw_dots(
            f"paper-{row}",
            f"{shows}; other machines, other events. {general.READING_HINT}.",
            lines,
            f"time to the {which}, milliseconds",
            study="llcysa",
        )


def _label_source(figure: Figure) -> str:
    """Returns the label of a published time: of the study, or of the file that was given in its place."""
    source = figure.note.partition("; ours")[0]
    return label_published(2014, "8 nodes") if source == load_paper_times().source else f"published, {source}"


def _draw_waiting(layout: str, figures: Sequence[Figure]) -> Sketch:
    """Draws a line for each state and share of the rate that a closed loop reaches."""
    cases = dict.fromkeys((figure.labels["state"], figure.labels["load"]) for figure in figures)
    rows = [
        DotRow(
            f"{state}, {load}",
            {_SCHEDULED[f.metric.name]: f for f in figures if (f.labels["state"], f.labels["load"]) == (state, load)},
        )
        for state, load in cases
    ]
    shows = f"Queries that are due by a schedule, {layout} layout: service time, and latency, which has the waiting"
    return draw_dots(f"waiting-{layout}", f"{shows}. {general.READING_HINT}.", rows, "time of a query, milliseconds")
