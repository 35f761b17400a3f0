"""``watchfloor count``, ``top``, ``timeline``, ``find``: answers from counts, and with ``--where`` from events."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from watchfloor.api.cli.reading.ask import ask
from watchfloor.api.cli.reading.question import CommandQuestion, make_question
from watchfloor.api.cli.terminal.command_group import AddCommand
from watchfloor.api.cli.terminal.rows import add_format, add_range
from watchfloor.schema.choices import BUCKETS

POSITION = 60
_CONDITION = ("where", "field", "value")


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


def count_events(args: Namespace) -> int:
    """Prints the number of events."""
    return ask(args, _make_question(args, *_CONDITION))


def list_top_values(args: Namespace) -> int:
    """Prints the most frequent values of a field, with their counts. Without a filter the field must be indexed."""
    return ask(args, _make_question(args, "field", "where", "limit", "ascending"))


def show_timeline(args: Namespace) -> int:
    """Prints the buckets that have events; in a table each has a bar as long as its share of the largest count."""
    return ask(args, _make_question(args, *_CONDITION, "bucket"))


def find_value(args: Namespace) -> int:
    """Prints a line for each field of each source that has the value, those with the most events first."""
    names = ("value", "kind", "sources", "since", "until")
    return ask(args, make_question(args, args.command, {name: getattr(args, name) for name in names}))


def _make_question(args: Namespace, *names: str) -> CommandQuestion:
    members = ("source", "since", "until", *names)
    return make_question(args, args.command, {name: getattr(args, name) for name in members})


def _add_filter(parser: ArgumentParser) -> None:
    parser.add_argument("--where", metavar="FILTER", help="only events that satisfy this filter, which are read for it")


def _add_condition(parser: ArgumentParser) -> None:
    _add_filter(parser)
    parser.add_argument("--field", metavar="FIELD", help="only events in which this indexed field …")
    parser.add_argument("--value", metavar="VALUE", help="… has this value")
