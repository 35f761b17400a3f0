"""``watchfloor query``: events, newest first."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING, Any

from ..context import Add, add_format, add_range, default_format, open_service, say

if TYPE_CHECKING:
    from watchfloor.query.service import QueryService

FORMATS = ("table", "ndjson", "csv", "arrow")
SCHEMES = ("auto", "scan", "batched-scan", "index", "batched-index")
PLANNERS = ("full", "paper")


def register(add: Add) -> None:
    parser = add("query", query, "events of a source, newest first")
    parser.add_argument("source", metavar="SOURCE")
    add_range(parser)
    parser.add_argument("--where", metavar="FILTER", help="only events that satisfy this filter")
    parser.add_argument("--columns", metavar="A,B", help="these fields, in this order (default: all)")
    parser.add_argument("--limit", metavar="N", type=int, help="stop after N events")
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
    add_format(parser, FORMATS)
    parser.add_argument("--explain", action="store_true", help="print the plan instead of running it")
    parser.add_argument("--output", metavar="FILE", help="write to FILE instead of standard output")


def query(args: Namespace) -> int:
    from ..asks import query_request
    from ..output import open_output, open_writer

    names = ("source", "since", "until", "where", "limit", "scheme", "w", "planner")
    columns = [name.strip() for name in args.columns.split(",")] if args.columns else None
    request = query_request({**{name: getattr(args, name) for name in names}, "columns": columns})
    form = args.format or default_format(args.output)
    with open_service(args) as service, open_output(args.output) as out:
        if args.explain:
            out.write(service.explain(request).text().encode() + b"\n")
            return 0
        return _print(service, request, open_writer(form, out, all_columns=columns is not None))


def _print(service: QueryService, request: Any, writer: Any) -> int:
    result = service.run(request)
    try:
        for batch in result:
            writer.write(batch)
        writer.close()
    finally:
        result.close()
    hidden = sorted(getattr(writer, "hidden", ()))
    if hidden:
        say(
            f"not shown, for want of room or of a value in the first rows: {', '.join(hidden)} (name them in --columns)"
        )
    say(summary_line(result.summary))
    return 0


def summary_line(summary: dict[str, Any]) -> str:
    """``12 rows in 2 batches, first after 8 ms, all after 31 ms; …`` and below it the plan."""
    first = summary.get("first_seconds")
    parts = [f"{_count(summary['rows'], 'row')} in {_count(summary['batches'], 'batch', 'batches')}"]
    if first is not None:
        parts.append(f"first after {first * 1000:,.0f} ms")
    parts.append(f"all after {summary['seconds'] * 1000:,.0f} ms")
    if summary["status"] == "limit":
        parts.append("stopped at the limit")
    return "\n".join([", ".join(parts), *(f"  {line}" for line in summary["plan"]["text"].splitlines())])


def _count(n: int, one: str, many: str = "") -> str:
    return f"{n:,} {one if n == 1 else many or one + 's'}"
