"""Writes stats as text of their language; the text parses to the same tree."""

from __future__ import annotations

from collections.abc import Sequence

from watchfloor.schema.filter.print import format_field
from watchfloor.schema.filter.print import to_text as print_filter
from watchfloor.schema.times import format_width

from . import names
from . import tree as s

_LONGEST_PERCENT = 5


def to_text(stats: s.Stats) -> str:
    """Returns stats as one line of text."""
    by = f" by {', '.join(map(format_key, stats.keys))}" if stats.keys else ""
    stages = "".join(f" | {format_stage(stage)}" for stage in stats.stages)
    return f"{', '.join(map(format_aggregate, stats.aggregates))}{by}{stages}"


def format_aggregate(aggregate: s.Aggregate) -> str:
    """Returns an aggregate as the language writes it, with its name unless that is the default one."""
    return format_call(aggregate) + _format_name(aggregate.name, names.name_call(aggregate))


def format_call(aggregate: s.Aggregate) -> str:
    """Returns an aggregate as the language writes it, without its name."""
    if aggregate.where is not None:
        return f"count_if({print_filter(aggregate.where)})"
    field = "" if aggregate.field is None else format_field(aggregate.field)
    if aggregate.share is None:
        return f"{aggregate.function}({field})"
    percent = names.format_percent(aggregate.share)
    short = len(percent) <= _LONGEST_PERCENT
    return f"p{percent}({field})" if short else f"quantile({field}, {aggregate.share!r})"


def format_key(key: s.Key) -> str:
    """Returns a key as the language writes it, with its name unless that is the default one."""
    match key:
        case s.FieldKey(_, field):
            text = format_field(field)
        case s.BucketKey(_, width):
            text = f"bucket({format_width(width)})"
        case s.PrefixKey(_, field, bits, bits6):
            more = "" if bits6 == names.DEFAULT_BITS6 else f", {bits6}"
            text = f"prefix({format_field(field)}, {bits}{more})"
    return text + _format_name(key.name, names.name_key(key))


def format_stage(stage: s.Stage) -> str:
    """Returns a stage as the language writes it."""
    match stage:
        case s.Sort(orders):
            return f"sort {format_orders(orders)}"
        case s.Limit(rows):
            return f"limit {rows}"
        case s.Having(where):
            return f"having {print_filter(where)}"


def format_orders(orders: Sequence[s.Order]) -> str:
    """Returns the columns of a sort as the language writes them."""
    return ", ".join(f"{'-' if order.descending else ''}{format_field(order.column)}" for order in orders)


def _format_name(name: str, default: str) -> str:
    return "" if name == default else f" as {format_field(name)}"
