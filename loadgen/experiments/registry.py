"""Finds the experiments: each sub-folder of this folder is one, and its ``run.py`` has an ``EXPERIMENT``.

The folder's name is the experiment's, with ``_`` for ``-``.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from pathlib import Path

from watchfloor.loadgen.harness.experiment import Experiment
from watchfloor.loadgen.harness.measurement.figure import Figure
from watchfloor.loadgen.harness.plots import general
from watchfloor.loadgen.harness.plots.canvas import Picture, render_pictures


def list_names() -> list[str]:
    """Returns the names of all experiments in alphabetical order, without importing any."""
    runs = Path(__file__).parent.glob("*/run.py")
    return sorted(path.parent.name.replace("_", "-") for path in runs)


def load_experiment(name: str) -> Experiment:
    """Imports the experiment of that name."""
    module = importlib.import_module(f"{__package__}.{name.replace('-', '_')}.run")
    experiment: Experiment = module.EXPERIMENT
    return experiment


def draw_pictures(name: str, figures: Sequence[Figure]) -> list[Picture]:
    """Draws an experiment's figures; figures of an experiment that no longer exists are drawn in the general way.

    Raises ``UserError`` if matplotlib is not installed.
    """
    draw = load_experiment(name).draw if name in list_names() else general.draw_general
    return render_pictures(name, draw, figures)
