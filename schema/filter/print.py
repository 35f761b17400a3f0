"""Writes filter trees as text of the filter language; the text parses to the same tree."""

from __future__ import annotations

import re
from datetime import datetime
from ipaddress import IPv4Address, IPv6Address

from watchfloor.schema.text import shorten
from watchfloor.schema.times import format_moment

from . import tree as f
from .syntax.quoting import quote_pattern, quote_text

_FIELD = re.compile(r"[A-Za-z_@][A-Za-z0-9_.@-]*")
_SOURCE = re.compile(r"[a-z][a-z0-9_]*(?:\.[a-z0-9_]+)+")
_KEYWORDS = frozenset(("and", "or", "not", "in", "like", "startswith", "endswith", "contains", "exists"))


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
        case f.Compare(field, op, value):
            return f"{format_field(field)} {op} {format_value(value)}"
        case f.In(field, values):
            return f"{format_field(field)} in ({', '.join(format_value(value) for value in values)})"
        case f.InList(field, name):
            return f"{format_field(field)} in @{name}"
        case f.InQuery(field):
            return f"{format_field(field)} in ({format_query(tree)})"
        case f.Between(field, low, high):
            return f"{format_field(field)} in {format_value(low)}..{format_value(high)}"
        case f.Cidr(field, network):
            return f"{format_field(field)} in {network}"
        case f.Prefix(field, prefix):
            return f"{format_field(field)} startswith {quote_text(prefix)}"
        case f.Matches(field, pattern, ignore_case):
            return f"{format_field(field)} ~ {quote_pattern(pattern, ignore_case)}"
        case f.Wildcard(field, pattern):
            return f"{format_field(field)} like {quote_text(pattern)}"
        case f.Exists(field):
            return f"exists {format_field(field)}"


def format_query(tree: f.InQuery) -> str:
    """Returns the query within a condition as the language writes it: ``source where filter | column``."""
    source = tree.source if _SOURCE.fullmatch(tree.source) else quote_text(tree.source)
    where = "" if tree.where is None else f" where {to_text(tree.where)}"
    return f"{source}{where} | {format_field(tree.column)}"


def to_short_text(tree: f.Filter) -> str:
    """Returns the filter's text, cut to 60 characters."""
    return shorten(to_text(tree))


def format_field(name: str) -> str:
    """Returns a field's name, in backticks if it is a keyword, in quotes if it has characters that names lack."""
    if _FIELD.fullmatch(name):
        return f"`{name}`" if name.lower() in _KEYWORDS else name
    return quote_text(name)


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
