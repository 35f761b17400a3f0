"""``watchfloor bench NAME``: runs one experiment, prints its table and writes all of it as JSON; ``all`` runs each.

``plan`` computes the size of a cluster (``plan.py``).

Read ``harness/experiment.py`` for the contract of an experiment, ``harness/session.py`` for its surroundings,
``harness/measurement/figure.py`` for its figures, and ``suite.py`` for all experiments in turn.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from watchfloor.api.cli.terminal.parser import CommandParser
from watchfloor.loadgen.experiments.registry import list_names, load_experiment
from watchfloor.loadgen.harness.experiment import Experiment
from watchfloor.loadgen.harness.measurement.figure import Figure
from watchfloor.loadgen.harness.measurement.measurement import Measurement, current_time, write_json
from watchfloor.loadgen.harness.measurement.table import format_figures
from watchfloor.loadgen.harness.session import open_session, print_progress
from watchfloor.schema.errors import UserError
from watchfloor.schema.files.paths import find_named_path, find_path, show_path
from watchfloor.schema.settings.load import load_settings
from watchfloor.schema.settings.settings import Settings

from . import plan, suite
from .child_process import interrupted_once
from .surroundings import describe_machine, describe_settings, find_versions

_GENERAL_OPTIONS = ("experiment", "json", "home", "name", "run")
"""Arguments that are not options of the experiment itself."""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command that the arguments name and returns the exit status.

    One experiment gives 1 if a goal is missed that must be met; all experiments give 1 if one failed; else 0.
    """
    args = _make_parser().parse_args(argv)
    with interrupted_once():
        status: int = args.run(args)
    return status


def run_one(args: argparse.Namespace) -> int:
    """Runs one experiment and prints its figures.

    Returns 1 if a goal is missed that must be met: with ``--strict``, or because the experiment says so. Else 0.
    """
    experiment: Experiment = args.experiment
    if args.home and experiment.own_stack:
        raise UserError(
            f"bench {args.name} stops and starts tablet servers, so it measures on a stack of its own only: "
            "leave out --home, and WATCHFLOOR_HOME"
        )
    # The machine is described beforehand: the load average should tell of what else is running.
    started, clock, machine = current_time(), time.monotonic(), describe_machine()
    with _run_experiment(experiment, args) as (settings, figures):
        measurement = Measurement(
            args.name,
            experiment.summary,
            {k: show_path(v) if isinstance(v, Path) else v for k, v in vars(args).items() if k not in _GENERAL_OPTIONS},
            describe_settings(settings),
            machine,
            find_versions(settings),
            started,
            time.monotonic() - clock,
            tuple(figures),
        )
        if args.json:
            write_json(args.json, measurement.to_json())
            print_progress(f"figures, samples, settings, machine and versions are in {show_path(args.json)}")
    print(format_figures(figures), flush=True)
    missed = [figure for figure in figures if figure.meets_goal is False]
    return 1 if missed and (args.strict or experiment.must_meet_goals) else 0


@contextmanager
def _run_experiment(experiment: Experiment, args: argparse.Namespace) -> Iterator[tuple[Settings, list[Figure]]]:
    """Runs an experiment, on its stack if it needs one; yields the settings and the figures while the stack runs."""
    if experiment.run is None:
        assert experiment.compute is not None
        yield load_settings(), experiment.compute(args)
        return
    with open_session(args.home, experiment.heap, experiment.tserver_heap) as session:
        yield session.settings, experiment.run(session, args)


def _make_parser() -> argparse.ArgumentParser:
    parser = CommandParser(
        prog="watchfloor bench", description="Experiments; docs/measuring/bench.md defines each metric."
    )
    commands = parser.add_subparsers(dest="name", required=True, metavar="NAME")
    experiments = [load_experiment(name) for name in list_names()]
    command = commands.add_parser("all", help=suite.SUMMARY, description=f"Runs {suite.SUMMARY}.")
    suite.add_options(command, experiments)
    command.set_defaults(run=suite.run_all)
    for experiment in experiments:
        command = commands.add_parser(experiment.name, help=experiment.summary, description=experiment.summary)
        _add_general_options(command)
        experiment.add_options(command)
        for file in experiment.input_files:
            command.add_argument(f"--{file.name}", metavar="FILE", type=find_named_path, help=file.help)
        command.set_defaults(experiment=experiment, run=run_one)
    command = commands.add_parser("plan", help=plan.SUMMARY, description=f"Computes {plan.SUMMARY}.")
    plan.add_options(command)
    command.set_defaults(run=plan.run_plan)
    return parser


def _add_general_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--home",
        metavar="DIR",
        default=os.environ.get("WATCHFLOOR_HOME"),
        type=find_path,
        help="measure on the running stack in DIR; without it one is started for this, and stopped",
    )
    parser.add_argument("--json", metavar="FILE", type=Path, help="write figures, samples and surroundings to FILE")
    parser.add_argument("--seed", metavar="S", type=int, default=1, help="of the generated events (default 1)")
    parser.add_argument("--strict", action="store_true", help="exit with 1 if a goal is missed")
