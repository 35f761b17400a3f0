"""Phrases that several rules use in their reasons."""

from __future__ import annotations

from watchfloor.schema.filter.print import to_short_text
from watchfloor.schema.filter.tree import And, Compare, ExpressionCompare, ExpressionTest, Filter, Not, Or
from watchfloor.schema.text import format_number, format_percent

from .paths import Lookup
from .rule import Question

NO_FILTER = "the filter is empty"


def describe_finds(lookup: Lookup) -> str:
    """Returns the number and the share of the events that a look-up finds: ``12 events, 0.01 % of all``."""
    return f"{format_number(lookup.count, 'event')}, {format_percent(lookup.density)} of all"


def describe_kind(tree: Filter | None) -> str:
    """Returns the kind of a filter's root with its article: ``an and``, ``a comparison by <``."""
    match tree:
        case None:
            return "empty"
        case And():
            return "an and"
        case Or():
            return "an or"
        case Not():
            return "a not"
        case Compare(op="="):
            return "an equality"
        case Compare(op=op):
            return f"a comparison by {op}"
        case ExpressionTest() | ExpressionCompare():
            return "a condition on an expression"
        case _:
            return "a condition other than ="


def explain_missing_index(tree: Compare, question: Question) -> str:
    """Returns the reason why the index cannot answer an equality."""
    if tree.field == question.source.time_field:
        return f"{to_short_text(tree)} is about the time field, which is the order of the events and has no index"
    late = " of all the time range" if tree.field in question.late else ""
    return f"{to_short_text(tree)} is about the field {tree.field}, which has no index{late}"


def say_no_conjunct(root: Filter, what: str) -> str:
    """Returns the reason that neither the filter nor any condition of its ``and`` is ``what``, as a rule needs it."""
    subject = "none of the and's conditions is" if isinstance(root, And) else f"{to_short_text(root)} is not"
    return f"{subject} {what}"
