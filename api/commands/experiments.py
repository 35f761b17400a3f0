"""``watchfloor generate``, ``bench``, ``report``, ``compare``, ``calibrate`` and ``demo``: experiments, and a tour."""

from __future__ import annotations

import importlib
import os
from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from ..context import Add, say

if TYPE_CHECKING:
    from watchfloor.loadgen.generate import Generated

KINDS = ("proxy.events",)


def register(add: Add) -> None:
    parser = add("generate", generate, "made-up events as JSON lines, the same for the same arguments")
    parser.add_argument("kind", choices=KINDS, metavar="KIND", help="proxy.events")
    parser.add_argument("--events", metavar="N", type=int, required=True, help="how many")
    parser.add_argument("--seed", metavar="S", type=int, default=1, help="which ones (default 1)")
    parser.add_argument("--days", metavar="D", type=float, default=7.0, help="days that they spread over (default 7)")
    parser.add_argument(
        "--end", metavar="TIME", default="2026-01-08T00:00:00Z", help="where the days end (default %(default)s)"
    )
    parser.add_argument("--output", metavar="FILE", help="write to FILE instead of standard output")
    add("bench", passed_on, "experiments: watchfloor bench NAME --help tells each one's options")
    parser = add("report", report_command, "a run of `bench all` as one HTML file, with pictures and raw samples")
    parser.add_argument("folder", metavar="DIR", type=Path, help="the run's folder")
    parser = add("compare", compare, "two runs side by side: ratios with intervals, and what got worse")
    parser.add_argument("a", metavar="A", type=Path, help="a run's folder, or the JSON file of one experiment")
    parser.add_argument("b", metavar="B", type=Path, help="another one; ratios are B / A")
    parser.add_argument("--seed", metavar="S", type=int, default=1, help="of the resampling (default 1)")
    add("calibrate", passed_on, "measures what reading costs on this store, for the planner")
    add("demo", passed_on, "a tour: loads real and made-up logs and asks for them: watchfloor demo [LOGS…]")


def generate(args: Namespace) -> None:
    from watchfloor.loadgen.generate import generate as run
    from watchfloor.query.times import from_micros, parse_time

    from ..output import open_output

    end = from_micros(parse_time(args.end, 0))
    with open_output(args.output) as out:
        done = run(out, args.events, args.seed, args.days, end)
        out.flush()
    say(report(done))


def report(done: Generated) -> str:
    speed = done.bytes / max(done.seconds, 1e-9) / 1e6
    named = "\n".join(
        f"  {name:<9} domain = {frequency.domain}: {frequency.events:,} events"
        for name, frequency in (("popular", done.popular), ("middling", done.middling), ("rare", done.rare))
    )
    days = f"{done.since:%Y-%m-%dT%H:%M:%SZ} to {done.until:%Y-%m-%dT%H:%M:%SZ}"
    size = f"{done.bytes / 1e6:,.1f} MB in {done.seconds:.1f} s ({speed:,.0f} MB/s)"
    return f"{done.events:,} events, {size}, {days}\n{named}"


def report_command(args: Namespace) -> None:
    from watchfloor.loadgen.report import write_report

    print(write_report(args.folder))


def compare(args: Namespace) -> int:
    from watchfloor.loadgen.compare import compare as run

    return run(args.a, args.b, args.seed)


def passed_on(args: Namespace) -> int:
    """Everything after the command's name is its own to read; the stack's folder goes by the environment."""
    if args.home is not None:
        os.environ["WATCHFLOOR_HOME"] = args.home
    return int(importlib.import_module(f"watchfloor.loadgen.{args.command}").main(args.rest) or 0)
