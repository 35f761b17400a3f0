"""``watchfloor query``: events, newest first or sorted, or with ``--watch`` as they arrive."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from watchfloor.api.cli.reading.ask import ask
from watchfloor.api.cli.reading.question import make_question
from watchfloor.api.cli.reading.summaries import format_count, format_hidden
from watchfloor.api.cli.terminal.command_group import OK, AddCommand
from watchfloor.api.cli.terminal.context import open_service, print_message
from watchfloor.api.cli.terminal.rows import add_format, add_range, default_format
from watchfloor.schema.choices import OUTPUT_FORMATS, PLANNERS, SCHEMES
from watchfloor.schema.errors import UserError

if TYPE_CHECKING:
    from watchfloor.api.formats.writers import Writer
    from watchfloor.api.results import StreamedResult
    from watchfloor.query.preparation.request import QueryRequest
    from watchfloor.query.service import QueryService

POSITION = 50


def register(add: AddCommand) -> None:
    parser = add("query", run_query, "events of one source or several, newest first or sorted")
    parser.add_argument(
        "source", metavar="SOURCES", help="a name, names a,b, a pattern such as 'zeek.*', or '*' for all"
    )
    add_range(parser)
    parser.add_argument("--where", metavar="FILTER", help="only events that satisfy this filter")
    parser.add_argument(
        "--stats",
        metavar="PIPE",
        help="instead of events, statistics of them by groups, of one source: 'count() by domain | sort -count'",
    )
    parser.add_argument(
        "--columns",
        metavar="A,B",
        help="these fields, in this order (default: all; of several sources: time, _source, the filter's, event)",
    )
    parser.add_argument(
        "--own-columns",
        action="store_true",
        help="each event as an object of its source's own fields, beside time and _source",
    )
    parser.add_argument(
        "--sort",
        metavar="FIELDS",
        help="instead of newest first, in the order of these fields, '-' before those that descend: "
        "--sort '-duration, ts' (with --limit)",
    )
    parser.add_argument("--limit", metavar="N", type=int, help="stop after N events")
    parser.add_argument(
        "--deadline", metavar="SECONDS", type=float, help="end after so long with what has been found (exit status 1)"
    )
    parser.add_argument(
        "--cursor",
        metavar="TEXT",
        help="go on where an earlier query with the same source, filter and sort was cut off",
    )
    parser.add_argument("--watch", action="store_true", help="print events as they arrive, until Ctrl-C")
    parser.add_argument("--scheme", choices=SCHEMES, metavar="S", default="auto", help=f"one of {', '.join(SCHEMES)}")
    parser.add_argument(
        "--w", metavar="W", type=float, help="density factor of the planner's rule for `and` (default 10)"
    )
    parser.add_argument(
        "--planner",
        choices=PLANNERS,
        metavar="P",
        default="full",
        help="full: all rules, by cost; paper: its four alone",
    )
    add_format(parser, OUTPUT_FORMATS)
    parser.add_argument("--explain", action="store_true", help="print the plan instead of running it")
    parser.add_argument("--output", metavar="FILE", help="write to FILE instead of standard output")


def run_query(args: Namespace) -> int:
    """Prints the events of a query or a watch, or with ``--explain`` the plan of the query."""
    if args.stats is not None:
        return _run_stats(args)
    names = ("source", "since", "until", "where", "sort", "limit", "deadline", "cursor", "scheme", "w", "planner")
    columns = [name.strip() for name in args.columns.split(",")] if args.columns else None
    chosen = {"columns": columns, "own_columns": args.own_columns}
    members = {**{name: getattr(args, name) for name in names}, **chosen}
    if args.watch and not args.explain:
        return _run_watch(args, members)
    return ask(args, make_question(args, "explain" if args.explain else "query", members))


def _run_stats(args: Namespace) -> int:
    """Prints the answer of an aggregation, or with ``--explain`` how it would be computed."""
    for name in ("columns", "sort", "limit", "cursor", "w"):
        if getattr(args, name) is not None:
            raise UserError(f"--{name} is for events; the pipe of --stats has its own columns, sort and limit")
    for name in ("watch", "own_columns"):
        if getattr(args, name):
            raise UserError(f"--{name.replace('_', '-')} is for events; it does not go with --stats")
    names = ("source", "since", "until", "where", "stats", "deadline", "scheme")
    members = {name: getattr(args, name) for name in names}
    return ask(args, make_question(args, "explain_stats" if args.explain else "stats", members))


def _run_watch(args: Namespace, members: Mapping[str, Any]) -> int:
    """Prints events as they arrive. It lasts, so a JVM of its own costs it nothing that anybody waits for."""
    from watchfloor.api.cli.terminal.output import open_output
    from watchfloor.api.formats.writers import open_writer
    from watchfloor.api.requests import read_query_request

    request = read_query_request(members)
    form = args.format or default_format(args.output)
    with open_service(args) as service, open_output(args.output) as out:
        writer = open_writer(form, out, all_columns=members["columns"] is not None, live=True)
        return _print_watch(service, request, writer)


def _print_watch(service: QueryService, request: QueryRequest, writer: Writer) -> int:
    result = service.watch(request)
    with suppress(KeyboardInterrupt):  # Ctrl-C is the way to end a watch
        _write_result(result, writer)
    summary = result.summary
    found = f"{format_count(summary['rows'], 'row')} in {format_count(summary['polls'], 'poll')}"
    print_message(f"{found}, watched for {summary['seconds']:,.0f} s")
    return OK


def _write_result(result: StreamedResult, writer: Writer) -> None:
    try:
        for batch in result:
            if len(batch):
                writer.write(batch)
        writer.close()
    finally:
        result.close()
    if hidden := sorted(getattr(writer, "hidden", ())):
        print_message(format_hidden(hidden))
