"""Experiments, one a file, by the name that ``watchfloor bench NAME`` gives them."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Protocol

from watchfloor.loadgen.harness.measure import Figure, Metric
from watchfloor.loadgen.harness.rig import Rig


class Experiment(Protocol):
    """A module of this package. ``HEAP``: what the JVM of the measuring process needs.

    ``TSERVER_HEAP``: what the tablet server of a stack of its own gets; None: what the settings say. ``QUICK``: options
    of a run of half a minute or so, for ``bench all --quick``. A module may also have ``OWN_STACK = True``: it changes
    the stack, and never runs on one that is there.
    """

    SUMMARY: str
    HEAP: str
    TSERVER_HEAP: str | None
    METRICS: Sequence[Metric]
    QUICK: Sequence[str]

    def add_options(self, parser: ArgumentParser) -> None: ...

    def run(self, rig: Rig, options: Namespace) -> list[Figure]: ...


NAMES: Mapping[str, str] = MappingProxyType(
    {
        "batching": "batching",
        "blocks": "blocks",
        "cancel": "cancel",
        "ceiling": "ceiling",
        "crossover": "crossover",
        "encodings": "encodings",
        "first-result": "first_result",
        "generator": "generator",
        "ingest": "ingest",
        "memory": "memory",
        "peers": "peers",
        "readers": "readers",
        "responsiveness": "responsiveness",
    }
)
"""Names and their modules."""
