"""``watchfloor query``: events, newest first or sorted, or with ``--watch`` as they arrive."""

from __future__ import annotations

from argparse import Namespace
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from watchfloor.api.cli.terminal.command_group import OK, PARTLY, AddCommand
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
MAX_SHOWN_BATCHES = 5
MAX_PAGE = 4096
"""Rows of an aggregation's answer that are written at once."""


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
    from watchfloor.api.formats.writers import open_output, open_writer
    from watchfloor.api.requests import read_query_request

    if args.stats is not None:
        return _run_stats(args)
    names = ("source", "since", "until", "where", "sort", "limit", "deadline", "cursor", "scheme", "w", "planner")
    columns = [name.strip() for name in args.columns.split(",")] if args.columns else None
    chosen = {"columns": columns, "own_columns": args.own_columns}
    request = read_query_request({**{name: getattr(args, name) for name in names}, **chosen})
    form = args.format or default_format(args.output)
    with open_service(args) as service, open_output(args.output) as out:
        if args.explain:
            out.write(service.explain(request).to_text().encode() + b"\n")
            return OK
        writer = open_writer(form, out, all_columns=columns is not None, live=args.watch)
        return _print_watch(service, request, writer) if args.watch else _print_events(service, request, writer)


def _run_stats(args: Namespace) -> int:
    """Prints the answer of an aggregation, or with ``--explain`` how it would be computed."""
    from watchfloor.api.formats.writers import open_output, open_writer
    from watchfloor.api.requests import read_stats_query

    for name in ("columns", "sort", "limit", "cursor", "w"):
        if getattr(args, name) is not None:
            raise UserError(f"--{name} is for events; the pipe of --stats has its own columns, sort and limit")
    for name in ("watch", "own_columns"):
        if getattr(args, name):
            raise UserError(f"--{name.replace('_', '-')} is for events; it does not go with --stats")
    names = ("source", "since", "until", "where", "stats", "deadline", "scheme")
    query = read_stats_query({name: getattr(args, name) for name in names})
    form = args.format or default_format(args.output)
    with open_service(args) as service, open_output(args.output) as out:
        if args.explain:
            out.write(service.explain_stats(query)["text"].encode() + b"\n")
            return OK
        result = service.run_stats(query)
        answers = deque(result, maxlen=1)  # the last answer is the whole one, or the best that there is
        writer = open_writer(form, out, all_columns=True)
        for answer in answers:
            for batch in answer.rows.to_batches(MAX_PAGE):
                writer.write(batch)
        writer.close()
        print_message(format_stats_summary(result.summary))
        return PARTLY if result.summary["status"] == "deadline" else OK


def format_stats_summary(summary: dict[str, Any]) -> str:
    """Returns the summary of an aggregation for people: ``3 rows of 1,200 events after 31 ms``, then the plan."""
    parts = [
        f"{_format_count(summary['rows'], 'row')} of {_format_count(summary['events'], 'event')} "
        f"after {summary['seconds'] * 1000:,.0f} ms"
    ]
    if summary["status"] == "deadline":
        parts.append(f"stopped at the deadline: THE ANSWER COVERS THE NEWEST {summary['share']:.1%} OF THE RANGE")
    lines = [", ".join(parts)]
    lines += [f"  {name} is approximate: {error}" for name, error in summary["approximate"].items()]
    return "\n".join([*lines, *(f"  {line}" for line in summary["text"].splitlines())])


def _print_events(service: QueryService, request: QueryRequest, writer: Writer) -> int:
    result = service.run(request)
    _write_result(result, writer)
    print_message(format_summary(result.summary))
    return PARTLY if result.summary["status"] == "deadline" else OK


def _print_watch(service: QueryService, request: QueryRequest, writer: Writer) -> int:
    result = service.watch(request)
    with suppress(KeyboardInterrupt):  # Ctrl-C is the way to end a watch
        _write_result(result, writer)
    summary = result.summary
    found = f"{_format_count(summary['rows'], 'row')} in {_format_count(summary['polls'], 'poll')}"
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
    hidden = sorted(getattr(writer, "hidden", ()))
    if hidden:
        print_message(
            f"not shown, for want of room or of a value in the first rows: {', '.join(hidden)} (name them in --columns)"
        )


def format_summary(summary: dict[str, Any]) -> str:
    """Returns the summary of a query for people.

    The first line is like ``12 rows in 2 batches, first after 8 ms, all after 31 ms``. Below it are the plan, the
    first query batches, and the cursor with which a next query continues.
    """
    first = summary.get("first_seconds")
    parts = [f"{_format_count(summary['rows'], 'row')} in {_format_count(summary['batches'], 'batch', 'batches')}"]
    if first is not None:
        parts.append(f"first after {first * 1000:,.0f} ms")
    parts.append(f"all after {summary['seconds'] * 1000:,.0f} ms")
    if summary["status"] == "limit":
        parts.append("stopped at the limit")
    if summary["status"] == "deadline":
        parts.append("stopped at the deadline: THE ANSWER IS PARTIAL")
    lines = [", ".join(parts)]
    if summary["plan"] is not None:
        lines += [f"  {line}" for line in summary["plan"]["text"].splitlines()]
    lines += [f"  {line}" for line in _list_sources(summary)]
    batches = summary.get("query_batches", [])
    lines += [
        f"  {'batch ' + str(n):<9} {_format_batch(batch)}" for n, batch in enumerate(batches[:MAX_SHOWN_BATCHES], 1)
    ]
    if summary["batches"] > MAX_SHOWN_BATCHES:
        lines.append(f"  {'':<9} and {_format_count(summary['batches'] - MAX_SHOWN_BATCHES, 'batch', 'batches')} more")
    if "cursor" in summary:
        lines.append(f"go on with --cursor {summary['cursor']}")
    if "no_cursor" in summary:
        lines.append(f"it cannot be gone on with: {summary['no_cursor']}")
    return "\n".join(lines)


def _list_sources(summary: dict[str, Any]) -> list[str]:
    """Returns a line for each source of a query of several, and for those that were not read."""
    lines = [f"{name}: {plan['scheme']}, {plan['rule']}" for name, plan in summary.get("sources", {}).items()]
    if settled := summary.get("settled"):
        lines.append(f"not read, as the counts say that nothing matches: {', '.join(settled)}")
    if waiting := summary.get("not_reached"):
        lines.append(f"not read, as the query ended before it came to their events: {', '.join(waiting)}")
    return lines + [f"{name}: left out, {because}" for name, because in summary.get("left_out", {}).items()]


def _format_batch(batch: dict[str, Any]) -> str:
    found = f"{_format_count(batch['rows'], 'row')} in {batch['seconds'] * 1000:,.0f} ms"
    return f"{batch['since']} to {batch['until']}: {found}; {batch['because']}"


def _format_count(n: int, one: str, many: str = "") -> str:
    return f"{n:,} {one if n == 1 else many or one + 's'}"
