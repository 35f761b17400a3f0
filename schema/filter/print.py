"""Writes filter trees as text of the filter language; the text parses to the same tree."""

from __future__ import annotations

import re
from datetime import datetime
from ipaddress import IPv4Address, IPv6Address

from watchfloor.schema.text import shorten
from watchfloor.schema.times import format_moment

from . import tree as f
from .expressions.print import enclose_sum, format_expression, format_field, format_right_side
from .syntax.quoting import quote_pattern, quote_text

_SOURCE = re.compile(r"[a-z][a-z0-9_]*(?:\.[a-z0-9_]+)+")


def to_text(tree: f.Filter) -> str:
    """Returns the filter as one line of text.

    Strings are quoted; numbers, addresses, times and truth values stand bare. Parentheses keep the tree's nesting.
    """
    match tree:
        case f.And(children):
            return " and ".join(_enclose_operand(child) for child in children)
        case f.Or(children):
            return " or ".join(_enclose_operand(child) for child in children)
        case f.Not(child):
            return f"not {_enclose_operand(child)}"
        case f.ExpressionTest(expression, condition):
            if isinstance(condition, f.Exists):
                return f"exists {enclose_sum(expression)}"
            return _format_condition(condition, format_expression(expression))
        case f.ExpressionCompare(left, op, right):
            return f"{format_expression(left)} {op} {format_right_side(right)}"
        case _:
            return _format_condition(tree, format_field(tree.field))


def _format_condition(condition: f.Condition, subject: str) -> str:
    """Returns the text of a condition on what ``subject`` is the text of."""
    match condition:
        case f.Compare(_, op, value):
            return f"{subject} {op} {format_value(value)}"
        case f.In(_, values):
            return f"{subject} in ({', '.join(format_value(value) for value in values)})"
        case f.InList(_, name):
            return f"{subject} in @{name}"
        case f.InQuery():
            return f"{subject} in ({format_query(condition)})"
        case f.Between(_, low, high):
            return f"{subject} in {format_value(low)}..{format_value(high)}"
        case f.Cidr(_, network):
            return f"{subject} in {network}"
        case f.Prefix(_, prefix):
            return f"{subject} startswith {quote_text(prefix)}"
        case f.Matches(_, pattern, ignore_case):
            return f"{subject} ~ {quote_pattern(pattern, ignore_case)}"
        case f.Wildcard(_, pattern):
            return f"{subject} like {quote_text(pattern)}"
        case f.Exists():
            return f"exists {subject}"


def format_query(tree: f.InQuery) -> str:
    """Returns the query within a condition as the language writes it: ``source where filter | column``."""
    source = tree.source if _SOURCE.fullmatch(tree.source) else quote_text(tree.source)
    where = "" if tree.where is None else f" where {to_text(tree.where)}"
    return f"{source}{where} | {format_field(tree.column)}"


def to_short_text(tree: f.Filter) -> str:
    """Returns the filter's text, cut to 60 characters."""
    return shorten(to_text(tree))


def format_value(value: f.Value) -> str:
    """Returns a value as the language writes it."""
    match value:
        case str():
            return quote_text(value).replace("*", "\\*")  # a bare star after = would match any run of characters
        case bool():
            return "true" if value else "false"
        case datetime():
            return format_moment(value)
        case IPv4Address() | IPv6Address():
            return str(value)
        case _:
            return repr(value)


def _enclose_operand(tree: f.Filter) -> str:
    """Returns the text of an operand, in parentheses if it is an ``and`` or ``or``."""
    return f"({to_text(tree)})" if isinstance(tree, (f.And, f.Or)) else to_text(tree)
