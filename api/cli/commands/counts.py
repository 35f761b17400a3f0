"""``watchfloor count``, ``top``, ``timeline``, ``find``: answers from counts, and with ``--where`` from events."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence

from watchfloor.api.cli.terminal.command_group import AddCommand
from watchfloor.api.cli.terminal.context import open_service, print_message
from watchfloor.api.cli.terminal.rows import add_format, add_range, default_format, print_rows
from watchfloor.schema.choices import BUCKETS

POSITION = 60
BAR_WIDTH = 40
HISTOGRAM_WIDTH = 24
BARS = "▁▂▃▄▅▆▇█"


def register(add: AddCommand) -> None:
    parser = add("count", count_events, "how many events a source has, or how many have a value")
    parser.add_argument("source", metavar="SOURCE")
    add_range(parser)
    _add_condition(parser)
    parser = add("top", list_top_values, "the most frequent values of a field")
    parser.add_argument("source", metavar="SOURCE")
    parser.add_argument("field", metavar="FIELD")
    add_range(parser)
    _add_filter(parser)
    parser.add_argument("--limit", metavar="N", type=int, default=10, help="how many values (default 10)")
    parser.add_argument("--ascending", action="store_true", help="the rarest values instead")
    add_format(parser)
    parser = add("timeline", show_timeline, "events per minute, hour or day")
    parser.add_argument("source", metavar="SOURCE")
    add_range(parser)
    parser.add_argument("--bucket", choices=BUCKETS, default="hour", metavar="|".join(BUCKETS), help="default hour")
    _add_condition(parser)
    add_format(parser)
    parser = add("find", find_value, "where a value occurs: in which sources and fields, how often and when")
    parser.add_argument("value", metavar="VALUE", help="a value, a network (10.1.0.0/16), or an ending '*.example.com'")
    parser.add_argument("--kind", metavar="K", help="ip, domain, user, hash, … (default: by the form of the value)")
    parser.add_argument("--sources", metavar="SOURCES", help="only these: names a,b or a pattern such as 'zeek.*'")
    add_range(parser)
    add_format(parser)


def count_events(args: Namespace) -> None:
    """Prints the number of events."""
    from watchfloor.api.answers import answer_count

    with open_service(args) as service:
        print(answer_count(service, vars(args))["count"])


def list_top_values(args: Namespace) -> None:
    """Prints the most frequent values of a field, with their counts. Without a filter the field must be indexed."""
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


def find_value(args: Namespace) -> None:
    """Prints a line for each field of each source that has the value, those with the most events first."""
    from watchfloor.api.answers import answer_find

    with open_service(args) as service:
        answer = answer_find(service, vars(args))
    rows = [{**row, "hours": draw_counts([hour["count"] for hour in row["hours"]])} for row in answer["sightings"]]
    print_rows(rows, ("source", "field", "kind", "count", "first", "last", "hours"), args.format)
    if not rows:
        print_message(f"nothing was found of the kinds {', '.join(answer['kinds'])}; name another with --kind")
    names: dict[str, list[str]] = {}
    for missed in answer["not_looked_up"]:
        names.setdefault(missed["reason"], []).append(f"{missed['source']} {missed['field']}")
    for reason, places in names.items():
        print_message(f"not looked up ({reason}): {', '.join(places)}")


def draw_counts(counts: Sequence[int]) -> str:
    """Returns a histogram of at most ``HISTOGRAM_WIDTH`` characters, each for as many counts."""
    per_bar = -(-len(counts) // HISTOGRAM_WIDTH)
    bars = [sum(counts[start : start + per_bar]) for start in range(0, len(counts), per_bar)]
    return "".join(BARS[(len(BARS) * bar - 1) // max(bars)] for bar in bars)


def _add_filter(parser: ArgumentParser) -> None:
    parser.add_argument("--where", metavar="FILTER", help="only events that satisfy this filter, which are read for it")


def _add_condition(parser: ArgumentParser) -> None:
    _add_filter(parser)
    parser.add_argument("--field", metavar="FIELD", help="only events in which this indexed field …")
    parser.add_argument("--value", metavar="VALUE", help="… has this value")
