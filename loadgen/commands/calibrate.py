"""``watchfloor calibrate``: measures at once what reading costs on a store, which a stack does by itself once."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict

from watchfloor.api.cli.terminal.parser import CommandParser
from watchfloor.loadgen.calibration.calibrate_store import EVENTS, calibrate_store
from watchfloor.loadgen.harness.session import print_progress
from watchfloor.schema.errors import UserError
from watchfloor.schema.settings.load import load_settings
from watchfloor.store.stack.servers.calibrator import stop_calibrator

MIN_EVENTS = 10_000


def main(argv: Sequence[str]) -> int:
    """Runs the command; returns its exit status."""
    args = _parse_arguments(argv)
    settings = load_settings()
    if settings.is_accumulo_local:
        stop_calibrator(settings)
    for layout, costs in calibrate_store(settings, lambda: None, print_progress, args.events).items():
        print("\n".join(f"{layout:<6} {name:<13} {value:.3g}" for name, value in asdict(costs).items()), flush=True)
    return 0


def _parse_arguments(argv: Sequence[str]) -> argparse.Namespace:
    parser = CommandParser(
        prog="watchfloor calibrate",
        description="Measures what reading costs on this store, and keeps it there for the planner; takes seconds. "
        "A local stack does this by itself once, while nothing else runs.",
    )
    parser.add_argument("--events", metavar="N", type=int, help=f"generated events in blocks (default {EVENTS:,})")
    args = parser.parse_args(argv)
    if args.events is not None and args.events < MIN_EVENTS:
        raise UserError(f"--events is {args.events}; at least {MIN_EVENTS:,} are needed to tell costs apart")
    return args
