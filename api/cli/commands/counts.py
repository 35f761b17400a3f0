"""``watchfloor count``, ``top``, ``timeline``: answers from the aggregate table, without reading events."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from watchfloor.api.cli.terminal.command_group import AddCommand
from watchfloor.api.cli.terminal.context import open_service
from watchfloor.api.cli.terminal.rows import add_format, add_range, default_format, print_rows
from watchfloor.schema.choices import BUCKETS

POSITION = 60
BAR_WIDTH = 40


def register(add: AddCommand) -> None:
    parser = add("count", count_events, "how many events a source has, or how many have a value")
    parser.add_argument("source", metavar="SOURCE")
    add_range(parser)
    _add_condition(parser)
    parser = add("top", list_top_values, "the most frequent values of an indexed field")
    parser.add_argument("source", metavar="SOURCE")
    parser.add_argument("field", metavar="FIELD")
    add_range(parser)
    parser.add_argument("--limit", metavar="N", type=int, default=10, help="how many values (default 10)")
    add_format(parser)
    parser = add("timeline", show_timeline, "events per minute, hour or day")
    parser.add_argument("source", metavar="SOURCE")
    add_range(parser)
    parser.add_argument("--bucket", choices=BUCKETS, default="hour", metavar="|".join(BUCKETS), help="default hour")
    _add_condition(parser)
    add_format(parser)


def count_events(args: Namespace) -> None:
    """Prints the number of events."""
    from watchfloor.api.answers import answer_count

    with open_service(args) as service:
        print(answer_count(service, vars(args))["count"])


def list_top_values(args: Namespace) -> None:
    """Prints the most frequent values of an indexed field, with their counts."""
    from watchfloor.api.answers import answer_top
    from watchfloor.schema.errors import UserError

    if args.limit < 1:
        raise UserError("--limit must be at least 1")
    with open_service(args) as service:
        answer = answer_top(service, vars(args), args.limit)
    print_rows(answer["values"], ("value", "count"), args.format)


def show_timeline(args: Namespace) -> None:
    """Prints the buckets that have events; in a table each has a bar as long as its share of the largest count."""
    from watchfloor.api.answers import answer_timeline

    with open_service(args) as service:
        rows = answer_timeline(service, vars(args))["buckets"]
    form = args.format or default_format(None)
    if form == "table":
        largest = max((row["count"] for row in rows), default=1)
        rows = [{**row, "events": "█" * max(1, round(BAR_WIDTH * row["count"] / largest))} for row in rows]
    print_rows(rows, ("start", "count", "events")[: 3 if form == "table" else 2], form)


def _add_condition(parser: ArgumentParser) -> None:
    parser.add_argument("--field", metavar="FIELD", help="only events in which this indexed field …")
    parser.add_argument("--value", metavar="VALUE", help="… has this value")
