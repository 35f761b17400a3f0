"""The chapters of a report: an experiment each, with its pictures and a section for each of its metrics."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context

from watchfloor.loadgen.experiments.registry import draw_pictures, list_names, load_experiment
from watchfloor.loadgen.harness.measurement.figure import Figure
from watchfloor.loadgen.harness.measurement.measurement import Measurement
from watchfloor.loadgen.harness.measurement.metric import Metric
from watchfloor.loadgen.harness.plots.canvas import Picture

_OPEN_ROWS = 16
"""The number of rows from which on a table is folded."""
_MANY = 6
"""The number of experiments from which on it is worthwhile to start processes that draw."""


@dataclass(frozen=True)
class ReportSection:
    """A metric of an experiment: its figures, and the keys of the columns that tell them apart."""

    metric: Metric
    keys: Sequence[str]
    figures: Sequence[Figure]

    @property
    def folded(self) -> bool:
        """True if the table of the section is folded at first."""
        return len(self.figures) > _OPEN_ROWS

    @property
    def has_goals(self) -> bool:
        return any(figure.goal for figure in self.figures)

    @property
    def has_notes(self) -> bool:
        return any(figure.note for figure in self.figures)


@dataclass(frozen=True)
class ReportChapter:
    """An experiment of the report. ``pictures`` are all that it has drawn, those of studies included."""

    measurement: Measurement
    pictures: Sequence[Picture]
    sections: Sequence[ReportSection]

    @property
    def missed(self) -> list[Figure]:
        return [figure for figure in self.measurement.figures if figure.meets_goal is False]

    @property
    def met(self) -> list[Figure]:
        return [figure for figure in self.measurement.figures if figure.meets_goal]

    @property
    def unjudged(self) -> list[Figure]:
        """The figures whose goals are meant for larger runs."""
        return [figure for figure in self.measurement.figures if figure.goal and not figure.goal.is_judged]

    @property
    def beside_engines(self) -> bool:
        """True if the experiment compares us with other engines."""
        name = self.measurement.experiment
        return name in list_names() and load_experiment(name).beside_engines

    def spell_names(self, text: str) -> str:
        """Returns a definition in which the experiment's metrics have their titles, not their names."""
        name = self.measurement.experiment
        declared = load_experiment(name).metrics if name in list_names() else ()
        metrics = [*(section.metric for section in self.sections), *declared]
        for metric in sorted(metrics, key=lambda m: len(m.name), reverse=True):
            if "_" in metric.name:
                text = re.sub(rf"\b{re.escape(metric.name)}\b", f"“{metric.title}”", text)
        return text


def make_chapters(measurements: Sequence[Measurement]) -> list[ReportChapter]:
    """Returns the chapters of a run. Pictures of many experiments are drawn by a process for each core."""
    if len(measurements) < _MANY:
        drawn = [_draw_experiment(measurement) for measurement in measurements]
    else:
        with ProcessPoolExecutor(os.cpu_count(), get_context("spawn")) as pool:
            drawn = list(pool.map(_draw_experiment, measurements))
    return [
        ReportChapter(measurement, pictures, _make_sections(measurement))
        for measurement, pictures in zip(measurements, drawn, strict=True)
    ]


def _draw_experiment(measurement: Measurement) -> list[Picture]:
    return draw_pictures(measurement.experiment, measurement.figures)


def _make_sections(measurement: Measurement) -> list[ReportSection]:
    """Returns a section for each metric, in the order in which they come."""
    sections = []
    for metric in dict.fromkeys(figure.metric for figure in measurement.figures):
        same = [figure for figure in measurement.figures if figure.metric == metric]
        sections.append(
            ReportSection(metric, list(dict.fromkeys(key for figure in same for key in figure.labels)), same)
        )
    return sections
