"""``watchfloor ycsb load`` and ``run``: YCSB by its own client, on a table of the store or of an existing cluster."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from watchfloor.api.cli.terminal.command_group import OK, PARTLY, AddCommand
from watchfloor.api.cli.terminal.context import print_message
from watchfloor.api.cli.terminal.rows import add_format, print_rows
from watchfloor.loadgen.ycsb.workloads import TABLE
from watchfloor.schema.errors import UserError
from watchfloor.schema.files.paths import describe_error, find_named_path, show_path

from .suite_options import add_cluster, add_number, read_cluster_settings

if TYPE_CHECKING:
    from watchfloor.loadgen.ycsb.ycsb_client import YcsbResult

POSITION = 92
_COLUMNS = ("operation", "operations", "mean_ms", "p50_ms", "p95_ms", "p99_ms", "p99.9_ms", "max_ms", "returns")


def register(add: AddCommand) -> None:
    """Adds ``ycsb`` to the command line."""
    parser = add("ycsb", show_workloads, "YCSB by its own client: a table of its records, and its workloads")
    add_format(parser)
    actions = parser.add_subparsers(metavar="[load | run WORKLOAD]")
    load = actions.add_parser("load", help="create a table and load YCSB's records into it", allow_abbrev=False)
    add_number(load, "--records", 10_000, "records")
    add_number(load, "--fields", 10, "fields of a record")
    add_number(load, "--field-length", 100, "bytes of a field")
    add_number(load, "--tablets", 20, "tablets of the new table")
    add_number(load, "--threads", 1, "threads of the client")
    load.add_argument("--again", action="store_true", help="drop a table that was loaded before, and load it anew")
    _add_shared(load)
    load.set_defaults(run=load_table)
    run = actions.add_parser("run", help="run a workload on a table that was loaded", allow_abbrev=False)
    run.add_argument("workload", metavar="WORKLOAD", help="A to F, or insert")
    add_number(run, "--operations", 10_000, "operations")
    add_number(run, "--threads", 1, "threads of the client")
    run.add_argument(
        "--target", metavar="R", type=int, help="operations a second that all threads aim at (default: as they can)"
    )
    run.add_argument("--flush", action="store_true", help="each write waits until a tablet server has it")
    run.add_argument(
        "--buffer",
        metavar="BYTES",
        default="100000",
        help="buffer of each thread's writes: 10k, 100000, 1m (default 100000)",
    )
    _add_shared(run)
    run.set_defaults(run=run_one)


def show_workloads(args: Namespace) -> None:
    """Prints the workloads."""
    from watchfloor.loadgen.ycsb.workloads import WORKLOADS

    rows = [{"workload": name, "operations": workload.about} for name, workload in WORKLOADS.items()]
    print_rows(rows, ("workload", "operations"), args.format)


def load_table(args: Namespace) -> int:
    """Creates and loads a table. Raises ``UserError`` if there is one of its name."""
    from watchfloor.loadgen.ycsb.ycsb_client import LoadRequest, load_records

    _require_writable(args.out)
    request = LoadRequest(
        args.table, args.records, args.fields, args.field_length, args.tablets, args.threads, args.again
    )
    result = load_records(read_cluster_settings(args), request, args.out)
    print_message(f"{args.table}: {args.records:,} records, {_format_speed(result)}")
    return _print_result(args, result)


def run_one(args: Namespace) -> int:
    """Runs a workload. Raises ``UserError`` for an unknown one, and for a table that was not loaded."""
    from watchfloor.loadgen.ycsb.workloads import find_workload
    from watchfloor.loadgen.ycsb.ycsb_client import RunRequest, run_workload
    from watchfloor.schema.settings.parse_setting import parse_size

    try:
        buffer = parse_size(args.buffer)
    except ValueError as error:
        raise UserError(f"--buffer: {error}") from None
    workload = find_workload(args.workload)
    _require_writable(args.out)
    request = RunRequest(workload, args.table, args.operations, args.threads, args.target, args.flush, buffer)
    result = run_workload(read_cluster_settings(args), request, args.out)
    print_message(f"{workload.name} ({workload.about}): {_format_speed(result)}")
    reads, missed = result.output.count("READ"), result.output.count("READ", "NOT_FOUND")
    if missed:
        where = "" if args.flush else ": they may still be in a buffer, which --flush avoids"
        print_message(f"{missed:,} of {reads:,} reads ({100 * missed / reads:.1f} %) found no record{where}")
    return _print_result(args, result)


def _require_writable(path: Path | None) -> None:
    """Raises ``UserError`` if a file for YCSB's output cannot be written, before anything is run for it."""
    if path is None:
        return
    try:
        path.open("ab").close()
    except OSError as error:
        raise UserError(f"--out {show_path(path)} cannot be written: {describe_error(error)}") from error


def _print_result(args: Namespace, result: YcsbResult) -> int:
    """Prints a row for each operation and returns the exit status."""
    from watchfloor.loadgen.ycsb.output import CLEANUP, INTENDED

    rows = []
    for name, latency in sorted(result.output.latencies.items(), key=lambda item: (item[0].startswith(INTENDED), item)):
        # Without a target no operation is due before it begins.
        is_shown = getattr(args, "target", None) is not None or not name.startswith(INTENDED)
        if is_shown and not name.endswith(CLEANUP):
            returns = result.output.returns.get(name, {})
            rows.append(
                {
                    "operation": name,
                    "operations": latency.operations,
                    "mean_ms": round(latency.mean, 3),
                    **{f"p{percent}_ms": value for percent, value in latency.percentiles.items()},
                    "max_ms": latency.highest,
                    "returns": ", ".join(f"{code} {count}" for code, count in returns.items()),
                }
            )
    print_rows(rows, _COLUMNS, args.format)
    if result.failures:
        print_message(f"{result.failures:,} operations failed, the first one: {result.failure}")
    return PARTLY if result.failures else OK


def _format_speed(result: YcsbResult) -> str:
    output = result.output
    return f"{output.operations_per_second:,.0f} operations/s in {output.seconds:.1f} s"


def _add_shared(parser: ArgumentParser) -> None:
    parser.add_argument("--table", metavar="T", default=TABLE, help=f"the table (default {TABLE})")
    parser.add_argument("--out", metavar="FILE", type=find_named_path, help="keep YCSB's own output in FILE")
    add_cluster(parser)
    add_format(parser)
