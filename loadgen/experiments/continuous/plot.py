"""Draws ``bench continuous``: rates of a node and of its readers, with those of the 2014 study beside them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from watchfloor.loadgen.harness.measurement.figure import Figure
from watchfloor.loadgen.harness.measurement.metric import Metric
from watchfloor.loadgen.harness.plots import general
from watchfloor.loadgen.harness.plots.canvas import Sketch
from watchfloor.loadgen.harness.plots.dot_plot import DotRow, draw_dots
from watchfloor.loadgen.harness.plots.labels import label_published
from watchfloor.loadgen.published.read_published import load_published, scale_rates

from .figures import BATCH_WALK, BESIDE_INGEST, INGEST, LINKED, READ, UNSPLIT, WALK, name_mixed_way

_CLUSTERS = {"6": "300 to 1,000 nodes of AWB", "7": "16 to 1,000 nodes of EC2"}
"""The study's clusters by the chapter of its tables; some of these have fewer sizes."""
_WAYS = {LINKED: ("6-1", "7-1"), UNSPLIT: ("6-4", "7-3"), name_mixed_way(WALK): ("6-8", "7-6")}
"""The study's tables of ingest by our way of writing."""
_READERS = {
    (WALK, LINKED): ("6-6", "7-4"),
    (BATCH_WALK, LINKED): ("6-6", "7-4"),
    (WALK, BESIDE_INGEST): ("6-8", "7-6"),
    (BATCH_WALK, BESIDE_INGEST): ("6-8", "7-6"),
}
"""The study's tables of readers by our reader and table."""
_HINT = "A hollow mark is the median of the study's clusters, the bar reaches from the lowest to the highest of them"


def draw(figures: Sequence[Figure]) -> Iterator[Sketch]:
    written = [figure for figure in figures if figure.metric.name == INGEST.name]
    if written:
        rows = [DotRow(f.labels["way"], {"here": f, **_list_ingest(f.labels["way"])}) for f in written]
        caption = f"Entries written a second, for each node. {general.READING_HINT}. {_HINT}."
        yield draw_dots("writing", caption, rows, "rate of writing for each node, entries a second", "benchmark")
    read = [figure for figure in figures if figure.metric.name == READ.name]
    walked = [figure for figure in read if (figure.labels["reader"], figure.labels["table"]) in _READERS]
    if walked:
        rows = [
            DotRow(f"{f.labels['reader']}: {f.labels['table']}", {"here": f, **_list_reading(f.labels)}) for f in walked
        ]
        caption = (
            "Entries looked up a second, for each node: by one reader here, by one for each tablet server in the "
            f"study. {general.READING_HINT}. {_HINT}."
        )
        yield draw_dots("walking", caption, rows, "rate of looking up for each node, entries a second", "benchmark")
    yield from general.draw_general([f for f in figures if f not in written and f not in walked])


def _list_ingest(way: str) -> dict[str, Figure]:
    return _summarize(_WAYS.get(way, ()), "mean_entries_per_second", INGEST, {})


def _list_reading(labels: Mapping[str, str]) -> dict[str, Figure]:
    tables = _READERS.get((labels["reader"], labels["table"]), ())
    return _summarize(tables, "mean_queries_per_second", READ, {"test": labels["reader"]})


def _summarize(numbers: Sequence[str], column: str, metric: Metric, cells: Mapping[str, str]) -> dict[str, Figure]:
    """Returns the rates for each node of the rows with these cells, as a figure for each table by its label."""
    study = load_published()["benchmark"]
    found = {}
    for number in numbers:
        rates = [each for each in scale_rates(study.tables[number], column) if cells.items() <= each.row.items()]
        if rates:
            label = label_published(study.year, _CLUSTERS[number[0]])
            found[label] = Figure(metric, tuple(each.per_node for each in rates))
    return found
