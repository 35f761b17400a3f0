"""Pictures of measurements: ``pictures`` draws an experiment's figures, by a way of its own or the general one.

An experiment that wants its own drawing has a function from its figures to sketches in ``DRAWERS``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType

from watchfloor.loadgen.harness.measure import Figure
from watchfloor.loadgen.harness.plots import general
from watchfloor.loadgen.harness.plots.canvas import Picture, Sketch, rendered, require_matplotlib, style

from .batching import plot as batching
from .blocks import plot as blocks
from .crossover import plot as crossover
from .first_result import plot as first_result
from .ingest import plot as ingest
from .peers import plot as peers
from .responsiveness import plot as responsiveness

__all__ = ["DRAWERS", "Picture", "pictures", "require_matplotlib"]

Drawer = Callable[[Sequence[Figure]], Iterator[Sketch]]

DRAWERS: Mapping[str, Drawer] = MappingProxyType(
    {
        "batching": batching.draw,
        "blocks": blocks.draw,
        "crossover": crossover.draw,
        "first-result": first_result.draw,
        "ingest": ingest.draw,
        "peers": peers.draw,
        "responsiveness": responsiveness.draw,
    }
)
"""By the experiment's name; all others are drawn by ``general.draw``."""


def pictures(experiment: str, figures: Sequence[Figure]) -> list[Picture]:
    """``UserError`` if matplotlib is not installed."""
    with style():
        return [rendered(experiment, sketch) for sketch in DRAWERS.get(experiment, general.draw)(figures)]
