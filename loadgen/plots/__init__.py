"""Pictures of measurements: ``pictures`` draws an experiment's figures, by a way of its own or the general one.

An experiment that wants its own drawing has a function from its figures to sketches in ``DRAWERS``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType

from ..measure import Figure
from . import batching, blocks, crossover, first_result, general, ingest, peers, responsiveness
from .canvas import Picture, Sketch, rendered, require_matplotlib, style

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
