"""``watchfloor bench``, ``calibrate`` and ``demo``: experiments, and a tour."""

from __future__ import annotations

import importlib
import os
from argparse import Namespace

from ..context import Add


def register(add: Add) -> None:
    add("bench", passed_on, "experiments: watchfloor bench NAME --help tells each one's options")
    add("calibrate", passed_on, "measures what reading costs on this store, for the planner")
    add("demo", passed_on, "a tour: loads real and made-up logs and asks for them: watchfloor demo [LOGS…]")


def passed_on(args: Namespace) -> int:
    """Everything after the command's name is its own to read; the stack's folder goes by the environment."""
    if args.home is not None:
        os.environ["WATCHFLOOR_HOME"] = args.home
    return int(importlib.import_module(f"watchfloor.loadgen.{args.command}").main(args.rest) or 0)
