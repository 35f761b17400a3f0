"""``watchfloor continuous``: makes a table, writes linked lists into it, walks them, and verifies that none is broken.

The clients are Java processes (``store/java``, ``watchfloor.workload.continuous``); these commands start them, print
their records, a JSON object a line, and sum them up. ``docs/measuring/continuous.md`` tells how to run the studies.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from pathlib import Path
from threading import Thread
from typing import Any

import orjson

from watchfloor.api.cli.terminal.command_group import OK, PARTLY
from watchfloor.api.cli.terminal.context import print_message
from watchfloor.api.cli.terminal.parser import CommandParser
from watchfloor.api.cli.terminal.signals import stop_on_signals
from watchfloor.schema.files.paths import find_named_path
from watchfloor.schema.settings.load import load_settings
from watchfloor.schema.settings.settings import Settings
from watchfloor.store.workloads.client_process import Record

from .clients import ClientKind, start_clients
from .collector import make_collector, open_stats_sink
from .ingest import FOR_EVER, IngestOptions, sum_ingest
from .readers import CLASSES, SLEEPS, ReaderOptions, sum_reads
from .table import DEFAULT_TABLE, END_ROW, TableLayout, TableRows, create_table
from .verify import verify_table
from .visibilities import STUDY, read_authorizations, read_visibilities


def main(argv: Sequence[str]) -> int:
    """Runs the command that the arguments name; returns its exit status."""
    args = _make_parser().parse_args(argv)
    settings = load_settings(overrides={"client_properties": args.properties})
    status: int = args.run(args, settings)
    return status


def _make_parser() -> ArgumentParser:
    parser = CommandParser(
        prog="watchfloor continuous", description="The continuous suite of the Accumulo studies.", allow_abbrev=False
    )
    commands = parser.add_subparsers(dest="name", required=True, metavar="NAME")

    def add(name: str, run: Any, summary: str) -> ArgumentParser:
        command = commands.add_parser(name, help=summary, description=summary, allow_abbrev=False)
        command.add_argument("--table", metavar="T", default=DEFAULT_TABLE, help=f"default {DEFAULT_TABLE}")
        about = "accumulo-client.properties of an existing cluster (default: the settings')"
        command.add_argument("--properties", metavar="FILE", type=find_named_path, help=about)
        command.add_argument("--first-row", metavar="N", type=int, default=0, help="least row (default 0)")
        command.add_argument("--end-row", metavar="N", type=int, default=END_ROW, help="end of rows (default 2^63-1)")
        command.set_defaults(run=run)
        return command

    _add_table_options(add("createtable", run_createtable, "makes the table, split or not, and allows its labels"))
    _add_ingest_options(add("ingest", run_ingest, "writes linked lists of entries"))
    for kind in CLASSES:
        summary = {
            "walk": "follows the lists, a row at a time",
            "batchwalk": "looks up many rows at once, and then those to which they point",
            "scan": "scans random ranges of rows",
        }[kind]
        _add_reader_options(add(kind, run_reader, summary), kind)
    command = add("verify", run_verify, "reads the whole table: undefined, unreferenced, referenced, corrupt")
    command.add_argument(
        "--threads", metavar="N", type=int, default=4, help="tablets that are read at once (default 4)"
    )
    command.add_argument("--memory", metavar="MB", type=int, default=128, help="sorted at once (default 128)")
    command.add_argument("--heap", metavar="SIZE", default="512m", help="heap of the client (default 512m)")
    command = add("stats", run_stats, "collects 27 numbers of cluster and table every so often")
    command.add_argument("--interval", metavar="S", type=float, default=30, help="seconds (default 30)")
    command.add_argument("--samples", metavar="N", type=int, help="how many (default: until stopped)")
    command.add_argument("--out", metavar="FILE", type=Path, help="the original collector's file")
    return parser


def _add_table_options(command: ArgumentParser) -> None:
    command.add_argument(
        "--tablets", metavar="N", type=int, default=20, help="at the beginning (default 20; 1: not split)"
    )
    command.add_argument(
        "--property", metavar="NAME=VALUE", action="append", default=[], help="of the table: table.split.threshold=1G"
    )
    command.add_argument(
        "--authorizations", metavar="A,B;…", help=f"labels that the user of the clients may see; {STUDY}: the study's"
    )
    command.add_argument("--again", action="store_true", help="replace a table of this name")


def _add_ingest_options(command: ArgumentParser) -> None:
    standard = IngestOptions()
    _add_clients(command)
    command.add_argument("--entries", metavar="N", type=int, default=FOR_EVER, help="of each client (default: no end)")
    numbers = {
        "interval": "entries between two flushes",
        "depth": "entries of a list",
        "families": "column families, numbered from 0",
        "qualifiers": "column qualifiers, numbered from 0",
        "buffer": "bytes that the BatchWriter holds",
        "threads": "that send to tablet servers",
        "latency": "milliseconds after which an entry is sent",
        "least-filler": "bytes that are added to each value, at least",
        "most-filler": "and at most, Zipf distributed; 0: none",
    }
    for name, about in numbers.items():
        default = getattr(standard, name.replace("-", "_"))
        command.add_argument(f"--{name}", metavar="N", type=int, default=default, help=f"{about} (default {default})")
    command.add_argument("--no-checksums", action="store_true", help="as in the study of 2014")
    command.add_argument("--visibilities", metavar="FILE", help=f"an expression a line; {STUDY}: the study's nineteen")


def _add_reader_options(command: ArgumentParser, kind: str) -> None:
    standard = ReaderOptions()
    _add_clients(command)
    command.add_argument("--lookups", metavar="N", type=int, default=FOR_EVER, help="of each client (default: no end)")
    command.add_argument(
        "--sleep", metavar="MS", type=int, default=SLEEPS[kind], help=f"after each (default {SLEEPS[kind]})"
    )
    command.add_argument(
        "--authorizations", metavar="A,B;…", help=f"sets, of which one is chosen at random; {STUDY}: the study's six"
    )
    command.add_argument(
        "--report",
        metavar="MS",
        type=int,
        default=standard.report,
        help="between records (default 30000; 0: totals only)",
    )
    if kind == "batchwalk":
        command.add_argument("--batch", metavar="N", type=int, default=standard.batch, help="rows (default 10000)")
        command.add_argument("--threads", metavar="N", type=int, default=standard.threads, help="default 16")
    if kind == "scan":
        command.add_argument("--wanted", metavar="N", type=int, default=standard.wanted, help="entries (default 5000)")


def _add_clients(command: ArgumentParser) -> None:
    command.add_argument("--clients", metavar="N", type=int, default=1, help="processes (default 1)")
    command.add_argument("--seed", metavar="S", type=int, default=1, help="of the first client (default 1)")


def run_createtable(args: Namespace, settings: Settings) -> int:
    allowed = () if args.authorizations is None else read_authorizations(args.authorizations)
    layout = TableLayout(args.tablets, tuple(args.property), allowed, args.again)
    tablets = create_table(settings, _rows(args), layout)
    print_message(f"table {args.table}: {tablets} tablets")
    return OK


def run_ingest(args: Namespace, settings: Settings) -> int:
    options = IngestOptions(
        entries=args.entries,
        interval=args.interval,
        depth=args.depth,
        families=args.families,
        qualifiers=args.qualifiers,
        checksums=not args.no_checksums,
        visibilities=read_visibilities(args.visibilities),
        buffer=args.buffer,
        threads=args.threads,
        latency=args.latency,
        least_filler=args.least_filler,
        most_filler=args.most_filler,
    )
    done = sum_ingest(_run_clients(args, settings, options.make_client(_rows(args))))
    print_message(
        f"{done.entries:,} entries by {done.clients} clients in {done.seconds:.1f} s ({done.rate:,.0f}/s), "
        f"{done.flushes} flushes, the longest {done.longest_flush:.1f} s"
    )
    return OK


def run_reader(args: Namespace, settings: Settings) -> int:
    given = {name: getattr(args, name) for name in ("lookups", "sleep", "report")}
    given |= {name: getattr(args, name) for name in ("batch", "threads", "wanted") if hasattr(args, name)}
    options = ReaderOptions(**given, authorizations=read_authorizations(args.authorizations))
    found = sum_reads(_run_clients(args, settings, options.make_client(args.name, _rows(args))))
    print_message(
        f"{found.requests:,} requests, {found.entries:,} entries in {found.seconds:.1f} s; a request took "
        f"{1000 * found.mean:.1f} ms in the mean, {1000 * found.least:.1f} to {1000 * found.most:.1f}; "
        f"{found.missing} rows are missing, {found.corrupt} entries corrupt"
    )
    return OK if found.missing == found.corrupt == 0 else PARTLY


def run_verify(args: Namespace, settings: Settings) -> int:
    done = verify_table(
        settings, _rows(args), threads=args.threads, memory=args.memory << 20, heap=args.heap, heard=_print_record
    )
    print_message(
        f"{done.entries:,} entries in {done.seconds:.1f} s: {done.undefined} rows undefined, {done.unreferenced:,} "
        f"unreferenced, {done.referenced:,} referenced, {done.corrupt} entries corrupt"
    )
    return OK if done.is_right else PARTLY


def run_stats(args: Namespace, settings: Settings) -> int:
    collector = make_collector(_rows(args), args.interval, args.samples)
    with open_stats_sink(settings, args.out) as sink:
        _run_clients(Namespace(clients=1, seed=1), settings, collector, sink.put)
    return OK


def _rows(args: Namespace) -> TableRows:
    return TableRows(args.table, args.first_row, args.end_row)


def _run_clients(
    args: Namespace, settings: Settings, kind: ClientKind, put: Any = lambda record: None
) -> list[list[Record]]:
    """Runs clients until they end or a signal comes, after which they stop at the next place at which they may."""

    def hear(number: int, record: Record) -> None:
        put(record)
        _print_record({"client": number, **record} if args.clients > 1 else record)

    with stop_on_signals() as stop, start_clients(settings, kind, args.clients, args.seed, hear) as running:

        def pass_on() -> None:
            stop.wait()
            running.stop()

        Thread(target=pass_on, daemon=True).start()
        return running.wait()


def _print_record(record: Record) -> None:
    sys.stdout.write(orjson.dumps(record).decode() + "\n")
    sys.stdout.flush()
