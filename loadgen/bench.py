"""``watchfloor bench NAME``: runs one experiment, prints its table and writes all of it as JSON.

Read ``rig.py`` for where an experiment runs, ``measure.py`` for what a figure is, ``experiments/`` for the experiments.
"""

from __future__ import annotations

import argparse
import importlib
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import cast

from watchfloor.schema.errors import UserError

from .experiments import NAMES, Experiment
from .measure import Measured, now, table, write_json
from .rig import open_rig, say


def main(argv: Sequence[str] | None = None) -> int:
    """0 if all goals are met or there are none, 1 if one is missed and ``--strict`` was given."""
    args = _parser().parse_args(argv)
    experiment: Experiment = args.experiment
    if args.home and getattr(experiment, "OWN_STACK", False):
        raise UserError(
            f"bench {args.name} stops and starts tablet servers, so it measures on a stack of its own only: "
            "leave out --home, and WATCHFLOOR_HOME"
        )
    started, clock = now(), time.monotonic()
    with open_rig(args.home, experiment.HEAP, experiment.TSERVER_HEAP) as rig:
        figures = experiment.run(rig, args)
        options = {k: _plain(v) for k, v in vars(args).items() if k not in ("experiment", "json", "home", "name")}
        measured = Measured(args.name, options, rig.settings, started, time.monotonic() - clock, tuple(figures))
        if args.json:
            write_json(args.json, measured)
            say(f"figures, samples, settings, machine and versions are in {args.json}")
    print(table(figures), flush=True)
    missed = [figure for figure in figures if figure.met is False]
    return 1 if missed and args.strict else 0


def _plain(value: object) -> object:
    return str(value) if isinstance(value, Path) else value


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="watchfloor bench", description="Experiments; docs/bench.md defines each metric."
    )
    commands = parser.add_subparsers(dest="name", required=True, metavar="NAME")
    for name, module in NAMES.items():
        experiment = cast(Experiment, importlib.import_module(f"{__package__}.experiments.{module}"))
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
        command.set_defaults(experiment=experiment)
    return parser
