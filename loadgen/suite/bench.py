"""``watchfloor bench NAME``: runs one experiment, prints its table and writes all of it as JSON; ``all`` runs each.

Read ``rig.py`` for where an experiment runs, ``measure.py`` for what a figure is, ``experiments/`` for the experiments,
``suite.py`` for all of them in turn.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Sequence
from pathlib import Path

from watchfloor.loadgen.experiments.experiment import NAMES, Experiment
from watchfloor.loadgen.harness.measure import Measured, now, table, write_json
from watchfloor.loadgen.harness.rig import open_rig, say
from watchfloor.schema.errors import UserError

from . import suite
from .child import interrupted_once
from .surroundings import machine, plain, versions

_NOT_ITS_OWN = ("experiment", "json", "home", "name", "run")


def main(argv: Sequence[str] | None = None) -> int:
    """Of one experiment 0 if all goals are met or there are none, 1 if one is missed and ``--strict`` was given; of all
    experiments 0 if each has run, 1 if one failed."""
    args = _parser().parse_args(argv)
    with interrupted_once():
        status: int = args.run(args)
    return status


def run_one(args: argparse.Namespace) -> int:
    experiment: Experiment = args.experiment
    if args.home and suite.has_own_stack(experiment):
        raise UserError(
            f"bench {args.name} stops and starts tablet servers, so it measures on a stack of its own only: "
            "leave out --home, and WATCHFLOOR_HOME"
        )
    # Looked at beforehand: the load average should tell of what else is running.
    started, clock, where = now(), time.monotonic(), machine()
    with open_rig(args.home, experiment.HEAP, experiment.TSERVER_HEAP) as rig:
        figures = experiment.run(rig, args)
        measured = Measured(
            args.name,
            experiment.SUMMARY,
            {k: str(v) if isinstance(v, Path) else v for k, v in vars(args).items() if k not in _NOT_ITS_OWN},
            plain(rig.settings),
            where,
            versions(rig.settings),
            started,
            time.monotonic() - clock,
            tuple(figures),
        )
        if args.json:
            write_json(args.json, measured.to_json())
            say(f"figures, samples, settings, machine and versions are in {args.json}")
    print(table(figures), flush=True)
    missed = [figure for figure in figures if figure.met is False]
    return 1 if missed and args.strict else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="watchfloor bench", description="Experiments; docs/measuring/bench.md defines each metric."
    )
    commands = parser.add_subparsers(dest="name", required=True, metavar="NAME")
    whole = commands.add_parser("all", help=suite.SUMMARY, description=f"Runs {suite.SUMMARY}.")
    suite.add_options(whole)
    whole.set_defaults(run=suite.run_all)
    for name in NAMES:
        experiment = suite.experiment(name)
        command = commands.add_parser(name, help=experiment.SUMMARY, description=experiment.SUMMARY)
        command.add_argument(
            "--home",
            metavar="DIR",
            default=os.environ.get("WATCHFLOOR_HOME"),
            help="measure on the running stack in DIR; without it one is started for this, and stopped",
        )
        command.add_argument(
            "--json", metavar="FILE", type=Path, help="write figures, samples and surroundings to FILE"
        )
        command.add_argument("--seed", metavar="S", type=int, default=1, help="of the generated events (default 1)")
        command.add_argument("--strict", action="store_true", help="exit with 1 if a goal is missed")
        experiment.add_options(command)
        command.set_defaults(experiment=experiment, run=run_one)
    return parser
