"""The figures of a run, found by experiment, metric and labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from watchfloor.loadgen.harness.measurement.figure import Figure
from watchfloor.loadgen.harness.measurement.measurement import Measurement
from watchfloor.loadgen.harness.measurement.metric import Metric


@dataclass(frozen=True)
class OwnFigure:
    """A figure with the name of its experiment."""

    experiment: str
    figure: Figure

    @property
    def value(self) -> float:
        return self.figure.value


class OwnFigures:
    """All figures of a run."""

    def __init__(self, measurements: Sequence[Measurement]) -> None:
        self._measurements = {measurement.experiment: measurement for measurement in measurements}

    def list_figures(self, experiment: str, metric: Metric, **labels: str) -> list[OwnFigure]:
        """Returns the figures of a metric that have all these labels, in the order of the experiment."""
        measurement = self._measurements.get(experiment)
        return [
            OwnFigure(experiment, figure)
            for figure in (measurement.figures if measurement else ())
            if figure.metric.name == metric.name and labels.items() <= figure.labels.items()
        ]

    def find_figure(self, experiment: str, metric: Metric, **labels: str) -> OwnFigure | None:
        """Returns the first such figure; None if the run has none."""
        return next(iter(self.list_figures(experiment, metric, **labels)), None)

    def count_tablet_servers(self, experiment: str) -> int | None:
        """Returns the tablet servers of the local stack of an experiment; None if it ran on an existing cluster."""
        settings = self._measurements[experiment].settings
        return None if settings.get("cluster_properties") else settings.get("tservers")
