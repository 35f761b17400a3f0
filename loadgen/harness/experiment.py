"""The contract of an experiment: one value with its name, metrics, needs, run and drawing.

Each folder of ``loadgen/experiments/`` has one in its ``run.py``, as ``EXPERIMENT``.
"""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from watchfloor.loadgen.harness.measurement.figure import Figure
from watchfloor.loadgen.harness.measurement.metric import Metric
from watchfloor.loadgen.harness.plots.canvas import Sketch

from .plots import general

if TYPE_CHECKING:  # listing the experiments must not import the store
    from .session import BenchSession

Drawer = Callable[[Sequence[Figure]], Iterator[Sketch]]


@dataclass(frozen=True)
class InputFile:
    """An option ``--NAME FILE`` of an experiment, which ``bench all`` also has and passes on.

    ``check`` reads the file and raises ``InputFileError`` if it is not right, before anything is started.
    """

    name: str
    help: str
    check: Callable[[Path], object]


@dataclass(frozen=True)
class Experiment:
    """One benchmark, ``watchfloor bench NAME``.

    ``add_options`` adds the experiment's own options to its command; ``run`` measures and returns the figures; ``draw``
    makes sketches of figures. An experiment that needs no stack has ``compute`` in place of ``run``. ``quick_options``
    are the options of a run of half a minute or so, for ``bench all --quick``, and ``quick_seconds`` says how long that
    run takes on two cores.

    ``heap`` is the heap of the measuring process's JVM. ``tserver_heap`` is the heap of the tablet server of a stack
    that is started for this experiment; None leaves it to the settings. An experiment with ``own_stack`` changes the
    stack, so it never runs on one that is running already. A missed goal of an experiment with ``must_meet_goals`` is
    an error, also without ``--strict``. A ``named_only`` one runs in ``bench all`` only if ``--only`` names it, because
    it needs what not every machine has, such as a KDC or memory for HDFS. Reports show the experiments that are
    ``beside_engines``, other engines, last.
    """

    name: str
    summary: str
    metrics: Sequence[Metric]
    quick_options: Sequence[str]
    quick_seconds: float
    add_options: Callable[[ArgumentParser], None]
    run: Callable[[BenchSession, Namespace], list[Figure]] | None = None
    compute: Callable[[Namespace], list[Figure]] | None = None
    draw: Drawer = general.draw_general
    heap: str = "256m"
    tserver_heap: str | None = None
    own_stack: bool = False
    must_meet_goals: bool = False
    named_only: bool = False
    beside_engines: bool = False
    input_files: Sequence[InputFile] = ()


def parse_names(text: str, known: Collection[str]) -> tuple[str, ...]:
    """Returns the names in a list with commas, each once. Raises ``ArgumentTypeError`` if one is not ``known``."""
    names = tuple(dict.fromkeys(text.split(",")))
    if not set(names) <= set(known):
        raise ArgumentTypeError(f"{text!r} is not a list of {', '.join(known)}")
    return names


def add_count(parser: ArgumentParser, flag: str, default: int, counted: str) -> None:
    """Adds an option that takes a whole number; its help ends with the default."""
    parser.add_argument(flag, metavar="N", type=int, default=default, help=f"{counted} (default {default})")
