"""``watchfloor query``: events, newest first, or with ``--watch`` as they arrive."""

from __future__ import annotations

from argparse import Namespace
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from watchfloor.api.cli.terminal.context import Add, add_format, add_range, default_format, open_service, say
from watchfloor.schema.choices import OUTPUT_FORMATS, PLANNERS, SCHEMES

if TYPE_CHECKING:
    from watchfloor.api.formats.writers import Writer
    from watchfloor.api.rest.base.stream import StreamedResult
    from watchfloor.query.service import QueryRequest, QueryService

PARTLY = 1
SHOWN_BATCHES = 5
"""Query batches that a summary shows."""


def register(add: Add) -> None:
    parser = add("query", query, "events of a source, newest first")
    parser.add_argument("source", metavar="SOURCE")
    add_range(parser)
    parser.add_argument("--where", metavar="FILTER", help="only events that satisfy this filter")
    parser.add_argument("--columns", metavar="A,B", help="these fields, in this order (default: all)")
    parser.add_argument("--limit", metavar="N", type=int, help="stop after N events")
    parser.add_argument(
        "--deadline", metavar="SECONDS", type=float, help="end after so long with what has been found (exit status 1)"
    )
    parser.add_argument(
        "--cursor", metavar="TEXT", help="go on where an earlier query with the same source and filter was cut off"
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


def query(args: Namespace) -> int:
    from watchfloor.api.formats.writers import open_output, open_writer
    from watchfloor.api.requests import read_query_request

    names = ("source", "since", "until", "where", "limit", "deadline", "cursor", "scheme", "w", "planner")
    columns = [name.strip() for name in args.columns.split(",")] if args.columns else None
    request = read_query_request({**{name: getattr(args, name) for name in names}, "columns": columns})
    form = args.format or default_format(args.output)
    with open_service(args) as service, open_output(args.output) as out:
        if args.explain:
            out.write(service.explain(request).text().encode() + b"\n")
            return 0
        writer = open_writer(form, out, all_columns=columns is not None, live=args.watch)
        return _watch(service, request, writer) if args.watch else _print(service, request, writer)


def _print(service: QueryService, request: QueryRequest, writer: Writer) -> int:
    result = service.run(request)
    _write_all(result, writer)
    say(summary_line(result.summary))
    return PARTLY if result.summary["status"] == "deadline" else 0


def _watch(service: QueryService, request: QueryRequest, writer: Writer) -> int:
    result = service.watch(request)
    with suppress(KeyboardInterrupt):  # the way to end it
        _write_all(result, writer)
    summary = result.summary
    found = f"{_count(summary['rows'], 'row')} in {_count(summary['polls'], 'poll')}"
    say(f"{found}, watched for {summary['seconds']:,.0f} s")
    return 0


def _write_all(result: StreamedResult, writer: Writer) -> None:
    try:
        for batch in result:
            if len(batch):
                writer.write(batch)
        writer.close()
    finally:
        result.close()
    hidden = sorted(getattr(writer, "hidden", ()))
    if hidden:
        say(
            f"not shown, for want of room or of a value in the first rows: {', '.join(hidden)} (name them in --columns)"
        )


def summary_line(summary: dict[str, Any]) -> str:
    """``12 rows in 2 batches, first after 8 ms, all after 31 ms; …``, below it the plan and the first batches, and
    how to go on."""
    first = summary.get("first_seconds")
    parts = [f"{_count(summary['rows'], 'row')} in {_count(summary['batches'], 'batch', 'batches')}"]
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
    ran = summary.get("query_batches", [])
    lines += [f"  {'batch ' + str(n):<9} {_ran(batch)}" for n, batch in enumerate(ran[:SHOWN_BATCHES], 1)]
    if summary["batches"] > SHOWN_BATCHES:
        lines.append(f"  {'':<9} and {_count(summary['batches'] - SHOWN_BATCHES, 'batch', 'batches')} more")
    if "cursor" in summary:
        lines.append(f"go on with --cursor {summary['cursor']}")
    if "no_cursor" in summary:
        lines.append(f"it cannot be gone on with: {summary['no_cursor']}")
    return "\n".join(lines)


def _ran(batch: dict[str, Any]) -> str:
    found = f"{_count(batch['rows'], 'row')} in {batch['seconds'] * 1000:,.0f} ms"
    return f"{batch['since']} to {batch['until']}: {found}; {batch['because']}"


def _count(n: int, one: str, many: str = "") -> str:
    return f"{n:,} {one if n == 1 else many or one + 's'}"
