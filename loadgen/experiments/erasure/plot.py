"""Draws ``bench erasure``: the mean time of a look-up by policy and state beside the published one, and the rest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from watchfloor.loadgen.experiments.lookups.figures import MEAN
from watchfloor.loadgen.harness.measurement.figure import Figure
from watchfloor.loadgen.harness.plots import general
from watchfloor.loadgen.harness.plots.canvas import Sketch
from watchfloor.loadgen.harness.plots.dot_plot import DotRow, draw_dots
from watchfloor.loadgen.harness.plots.labels import label_published
from watchfloor.loadgen.lookups.study import STUDY

from .figures import ALL_UP, KILLED, LOOKUP, STUDY_NAMES


def draw(figures: Sequence[Figure]) -> Iterator[Sketch]:
    means = [f for f in figures if f.metric.name == LOOKUP.name and f.labels["of"] == MEAN]
    if means:
        rows = [
            DotRow(f"{f.labels['files']}, {f.labels['state']}", {"here": f, **_find_published(f.labels)}) for f in means
        ]
        caption = "Mean time of a look-up of ten random rows. The study killed 2 of 16 nodes."
        yield draw_dots("times", caption, rows, LOOKUP.titled_unit, STUDY.name)
    yield from general.draw_general([f for f in figures if f.metric.name != LOOKUP.name])


def _find_published(labels: Mapping[str, str]) -> dict[str, Figure]:
    """Returns the published mean of a policy with the nodes up or lost, by the label of its series."""
    if labels["state"] not in (ALL_UP, KILLED):
        return {}
    (row,) = STUDY.tables["lookups"].select_rows(
        encoding=STUDY_NAMES[labels["files"]], failures=labels["state"] == KILLED
    )
    return {label_published(STUDY.year, "14 and 16 nodes"): Figure(LOOKUP, (float(row["mean_ms"]),))}
