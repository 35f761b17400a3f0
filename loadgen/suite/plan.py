"""``watchfloor bench plan``: prints how many nodes, workers and disks our own pipeline needs."""

from __future__ import annotations

import math
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable

from watchfloor.loadgen.harness.measurement.table import align_columns, format_number
from watchfloor.loadgen.model.own_pipeline import PROFILE, read_profile
from watchfloor.loadgen.model.planning import ClusterPlan, SizingRequest, plan_cluster
from watchfloor.schema.errors import UserError
from watchfloor.schema.files.paths import find_named_path, show_path
from watchfloor.schema.times import parse_duration

SUMMARY = "the nodes, workers and disks that a load of events needs, by measured rates; it needs no stack"
_DEFAULT = SizingRequest(0, 0)
_MICROS_PER_DAY = 86_400_000_000
_MOST_EVENTS = 1e14


def add_options(parser: ArgumentParser) -> None:
    def add(flag: str, metavar: str, kind: Callable[[str], float], default: float, help: str) -> None:
        parser.add_argument(flag, metavar=metavar, type=kind, default=default, help=f"{help} (default {default:g})")

    positive, whole = _make_number(0, math.inf), _make_whole(1, 100_000)
    parser.add_argument(
        "--events-per-day", metavar="N", type=_make_number(1, _MOST_EVENTS), required=True, help="such as 5e9"
    )
    parser.add_argument("--retention", metavar="TIME", type=_parse_days, required=True, help="such as 90d")
    add("--event-bytes", "N", positive, _DEFAULT.event_bytes, "bytes of an event's line")
    add("--disk-share", "X", positive, _DEFAULT.disk_share, "bytes of an event in the tables / bytes of its line")
    add("--peak", "X", _make_number(1, 1000), _DEFAULT.peak, "events/s of the busiest time / those of the mean")
    add("--headroom", "X", _make_number(0, 0.9), _DEFAULT.headroom, "the share of processors and disks left free")
    add("--cores", "N", whole, _DEFAULT.cores, "cores of a node")
    add("--disks", "N", whole, _DEFAULT.disks, "disks of a node")
    add("--disk-tb", "X", positive, _DEFAULT.disk_bytes / 1e12, "size of a disk in TB, 10^12 bytes")
    add("--replicas", "N", _make_whole(1, 10), _DEFAULT.replicas, "replicas of each file in HDFS")
    parser.add_argument(
        "--measured", metavar="FILE", type=find_named_path, help="`bench ingest --json FILE` of such a node, not ours"
    )


def run_plan(args: Namespace) -> int:
    """Computes and prints the plan. Raises ``UserError`` if the profile cannot carry one."""
    request = SizingRequest(
        args.events_per_day,
        args.retention,
        args.event_bytes,
        args.disk_share,
        args.peak,
        args.headroom,
        args.cores,
        args.disks,
        args.disk_tb * 1e12,
        args.replicas,
    )
    profile = read_profile(args.measured or PROFILE)
    print(format_plan(request, plan_cluster(request, profile)))
    source = show_path(args.measured) if args.measured else f"a machine of {profile.cores} cores of ours"
    print(f"\nComputed, not measured: from the rates of {source}; docs/measuring/model.md has the assumptions.")
    return 0


def format_plan(request: SizingRequest, plan: ClusterPlan) -> str:
    """Formats the plan as a table: what is needed, how much, and from what it follows."""
    free = f"{request.headroom:.0%} left free"
    rows = [
        ("", "", ""),
        ("mean load", f"{format_number(request.mean_rate)} events/s", f"{request.events_per_day:,.0f} events a day"),
        ("peak load", f"{format_number(request.peak_rate)} events/s", f"{request.peak:g} times the mean"),
        ("nodes", f"{plan.nodes:,}", f"a tablet server and a data node each; decided by: {plan.limit}"),
        ("  for processors", f"{plan.nodes_for_processors:,}", f"{request.cores} cores each, {free}"),
        ("  for disks", f"{plan.nodes_for_disks:,}", f"{request.disks} disks each, {free}"),
        ("workers", f"{plan.workers:,}", f"one alone: {format_number(plan.worker_rate)} events/s, {free}"),
        ("disks", f"{plan.disks:,}", f"of {request.disk_bytes / 1e12:g} TB"),
        (
            "stored",
            f"{format_number(plan.stored_bytes / 1e12)} TB",
            f"{request.retention_days:g} days, {request.replicas} replicas, "
            f"{format_number(request.event_bytes * request.disk_share)} bytes an event",
        ),
        (
            "simulated saturation",
            f"{format_number(plan.saturated_rate)} events/s",
            f"of these nodes and workers; the peak uses {request.peak_rate / plan.saturated_rate:.0%} of it",
        ),
    ]
    return align_columns(rows[1:], right={1})


def _parse_days(text: str) -> float:
    try:
        days = parse_duration(text) / _MICROS_PER_DAY
    except UserError as error:
        raise ArgumentTypeError(str(error)) from None
    if days <= 0:
        raise ArgumentTypeError(f"{text!r} is no time; say for how long events are kept, such as 90d")
    return days


def _make_number(low: float, high: float) -> Callable[[str], float]:
    """Returns a parser of numbers above 0 from ``low`` to ``high``."""

    def parse(text: str) -> float:
        try:
            value = float(text.replace(",", ""))
        except ValueError:
            value = math.nan
        if not low <= value <= high or (low == 0 and value == 0 and high == math.inf) or math.isinf(value):
            expected = f"from {low:g} to {high:g}" if math.isfinite(high) else f"above {low:g}"
            raise ArgumentTypeError(f"{text!r} is not a number {expected}")
        return value

    return parse


def _make_whole(low: int, high: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        if not text.isdecimal() or not low <= int(text) <= high:
            raise ArgumentTypeError(f"{text!r} is not a whole number from {low} to {high:,}")
        return int(text)

    return parse
