"""``watchfloor lookups write`` and ``read``: a table of random rows, and checked look-ups, beside those of a study."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from watchfloor.api.cli.terminal.command_group import AddCommand
from watchfloor.api.cli.terminal.context import print_message
from watchfloor.api.cli.terminal.rows import add_format, print_rows
from watchfloor.loadgen.lookups.options import CODECS, STATES, WRITERS, LookupLoad, LookupTable
from watchfloor.schema.files.paths import find_named_path, show_path

from .suite_options import add_cluster, add_number, read_cluster_settings

if TYPE_CHECKING:
    from watchfloor.loadgen.lookups.look_up import LookupResult
    from watchfloor.loadgen.lookups.write_table import BulkWrite

POSITION = 93
_WRITE_COLUMNS = (
    *("of", "codec", "rows", "writers", "seconds", "import_seconds", "rows_per_second_per_writer"),
    *("bytes_per_row", "megabytes"),
)
_PERCENTILES = (50, 90, 99, 99.9)
_READ_COLUMNS = ("of", "min_ms", "mean_ms", "max_ms", *(f"p{percent:g}_ms" for percent in _PERCENTILES))


def register(add: AddCommand) -> None:
    """Adds ``lookups`` to the command line."""
    parser = add("lookups", show_study, "look-ups of random rows by many executors, as a study timed them")
    add_format(parser)
    actions = parser.add_subparsers(metavar="[write | read]")
    write = actions.add_parser("write", help="make a table, and write all its rows in bulk", allow_abbrev=False)
    table, load = LookupTable(), LookupLoad()
    add_number(write, "--rows", table.rows, "rows of ten columns")
    write.add_argument("--codec", choices=CODECS, default=table.codec, help=f"of the files (default {table.codec})")
    write.add_argument("--policy", default="", help="erasure coding of the files in HDFS (default: replicas)")
    add_number(write, "--tablets", table.tablets, "tablets, and files")
    add_number(write, "--writers", WRITERS, "files that are written at once")
    add_number(write, "--seed", table.seed, "which rows")
    write.add_argument("--again", action="store_true", help="replace a table that this command has made")
    _add_shared(write)
    write.set_defaults(run=run_write)
    read = actions.add_parser("read", help="look up random rows, check and time each look-up", allow_abbrev=False)
    add_number(read, "--executors", load.executors, "threads that look up rows")
    add_number(read, "--queries", load.queries, "look-ups of each executor")
    add_number(read, "--batch", load.batch, "rows of a look-up")
    add_number(read, "--threads", load.threads, "threads of a look-up's BatchScanner")
    add_number(read, "--processes", load.processes, "Java processes that share the executors")
    add_number(read, "--seed", load.seed, "by which rows are drawn")
    about = f"seconds of look-ups of the first rows beforehand (default {load.warm_up:g})"
    read.add_argument("--warm-up", metavar="S", type=float, default=load.warm_up, help=about)
    read.add_argument("--state", choices=STATES, default="as-is", help="of the caches (default as-is)")
    _add_shared(read)
    read.set_defaults(run=run_read)


def show_study(args: Namespace) -> None:
    """Prints the times of look-ups of the study."""
    print_rows(_list_study_times(), _READ_COLUMNS[:4], args.format)


def run_write(args: Namespace) -> None:
    """Writes a table. Raises ``UserError`` if there is one of its name."""
    from watchfloor.loadgen.lookups.write_table import write_table

    table = LookupTable(args.table, args.rows, args.codec, args.tablets, args.seed, args.policy)
    written = write_table(read_cluster_settings(args), table, args.writers, again=args.again)
    row = _describe_write(written)
    _write_json(args.json, row)
    print_rows([row, *_list_study_writes()], _WRITE_COLUMNS, args.format)


def run_read(args: Namespace) -> None:
    """Looks up rows. Raises ``StoreError`` that names the first row that is not as it was written."""
    from watchfloor.loadgen.lookups.look_up import look_up_rows

    load = LookupLoad(
        executors=args.executors,
        queries=args.queries,
        batch=args.batch,
        threads=args.threads,
        processes=args.processes,
        seed=args.seed,
        warm_up=args.warm_up,
    )
    settings = read_cluster_settings(args)
    result = look_up_rows(settings, args.table, load, args.state, lambda done: print_message(f"{done:,} look-ups"))
    row = _describe_times(args.state, result)
    _write_json(args.json, {**row, **_describe_run(load, result)})
    print_rows([row, *_list_study_times()], _READ_COLUMNS, args.format)
    found = result.latencies
    print_message(
        f"{found.lookups:,} look-ups of {result.batch} of {result.rows:,} rows in {result.seconds:.1f} s "
        f"({result.lookup_rate:,.0f}/s): all rows were right"
    )
    for name, count, percent in found.list_buckets():
        print_message(f"{name:>16} {count:>12,} {percent:>7.2f} %")


def _describe_write(written: BulkWrite) -> dict[str, Any]:
    table = written.table
    return {
        "of": table.name,
        "codec": table.codec,
        "rows": table.rows,
        "tablets": table.tablets,
        "writers": written.writers,
        "seconds": round(written.seconds, 3),
        "import_seconds": round(written.import_seconds, 3),
        "rows_per_second_per_writer": round(written.row_rate / written.writers),
        "bytes_per_row": round(written.bytes_per_row, 1),
        "megabytes": round(written.bytes / 1e6, 1),
    }


def _list_study_writes() -> list[dict[str, Any]]:
    from watchfloor.loadgen.lookups import study

    return [
        {
            "of": f"study, {write.encoding}",
            "codec": write.codec,
            "rows": study.WRITTEN_ROWS,
            "writers": study.WRITERS,
            "seconds": write.seconds,
            "rows_per_second_per_writer": round(write.rows_per_writer),
            "bytes_per_row": round(write.bytes_per_row, 1),
            "megabytes": write.bytes / 1e6,
        }
        for write in study.list_writes()
    ]


def _describe_times(state: str, result: LookupResult) -> dict[str, Any]:
    found = result.latencies
    times = {"min_ms": found.min, "mean_ms": found.mean, "max_ms": found.max}
    times |= {f"p{percent:g}_ms": found.find_percentile(percent) for percent in _PERCENTILES}
    return {"of": f"here, {state}", **{name: round(value, 2) for name, value in times.items()}}


def _describe_run(load: LookupLoad, result: LookupResult) -> dict[str, Any]:
    """Returns what the JSON file has beside the times. ``counts`` are pairs of microseconds and look-ups."""
    found = result.latencies
    return {
        "load": vars(load),
        "rows": result.rows,
        "seconds": result.seconds,
        "lookups": found.lookups,
        "buckets": {name: count for name, count, _ in found.list_buckets()},
        "counts": sorted(found.counts.items()),
    }


def _list_study_times() -> list[dict[str, Any]]:
    from watchfloor.loadgen.lookups.study import list_lookups

    return [
        {"of": f"study, {times.encoding}", "min_ms": times.min, "mean_ms": times.mean, "max_ms": times.max}
        for times in list_lookups()
    ]


def _write_json(path: Path | None, written: Mapping[str, Any]) -> None:
    from watchfloor.loadgen.harness.measurement.measurement import write_json

    if path is not None:
        write_json(path, written)
        print_message(f"all figures are in {show_path(path)}")


def _add_shared(parser: ArgumentParser) -> None:
    default = LookupTable().name
    parser.add_argument("--table", metavar="T", default=default, help=f"the table (default {default})")
    parser.add_argument("--json", metavar="FILE", type=find_named_path, help="write all figures to FILE")
    add_cluster(parser)
    add_format(parser)
