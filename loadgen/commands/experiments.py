"""``watchfloor bench``, ``continuous``, ``report``, ``compare``, ``calibrate``, ``demo``: experiments and a tour."""

from __future__ import annotations

import importlib
import os
from argparse import Namespace

from watchfloor.api.cli.terminal.command_group import AddCommand
from watchfloor.schema.errors import UserError
from watchfloor.schema.files.paths import find_named_path, find_path, show_path

POSITION = 90

_MODULES = {
    "bench": "watchfloor.loadgen.suite.bench",
    "calibrate": "watchfloor.loadgen.commands.calibrate",
    "continuous": "watchfloor.loadgen.continuous.main",
    "demo": "watchfloor.loadgen.demo.demo",
}
"""The modules of the commands that read their own arguments, each with a function ``main``."""


def register(add: AddCommand) -> None:
    """Adds the commands of experiments and the demo to the command line."""
    about_bench = "experiments: watchfloor bench NAME --help tells each one's options"
    add("bench", run_module, about_bench, reads_arguments=True)
    parser = add("report", run_report, "a run of `bench all` as one HTML file, with pictures and raw samples")
    parser.add_argument("folder", metavar="DIR", type=find_named_path, help="the run's folder")
    parser = add("compare", run_compare, "two runs side by side: ratios with intervals, and what got worse")
    parser.add_argument(
        "a", metavar="A", type=find_named_path, help="a run's folder, or the JSON file of one experiment"
    )
    parser.add_argument("b", metavar="B", type=find_named_path, help="another one; ratios are B / A")
    parser.add_argument("--seed", metavar="S", type=int, default=1, help="of the resampling (default 1)")
    about_calibrate = "measures again what reading costs on this store, for the planner"
    add("calibrate", run_module, about_calibrate, reads_arguments=True)
    about_demo = "a tour: loads real and made-up logs and asks for them: watchfloor demo [LOGS…]"
    add("demo", run_module, about_demo, reads_arguments=True)
    about_continuous = "the studies' linked lists: createtable, ingest, walk, batchwalk, scan, verify, stats"
    add("continuous", run_module, about_continuous, reads_arguments=True)


def run_report(args: Namespace) -> None:
    from watchfloor.loadgen.report.report import write_report

    print(show_path(write_report(args.folder)))


def run_compare(args: Namespace) -> int:
    from watchfloor.loadgen.suite.compare import compare_runs as run

    return run(args.a, args.b, args.seed)


def run_module(args: Namespace) -> int:
    """Runs the command's module with all that follows its name. The stack's folder goes by the environment.

    Raises ``UserError`` for ``--config``, which these modules do not read.
    """
    if args.config is not None:
        raise UserError(
            f"`{args.command}` reads no --config; its settings come from the watchfloor.toml of the working folder or "
            "of the stack's, and from WATCHFLOOR_* variables"
        )
    if args.home is not None:
        os.environ["WATCHFLOOR_HOME"] = find_path(args.home)
    return int(importlib.import_module(_MODULES[args.command]).main(args.rest) or 0)
