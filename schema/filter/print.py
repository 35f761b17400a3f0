"""Filter tree → text of the filter language, which reads back as the same tree."""

from __future__ import annotations

import re
from datetime import datetime
from ipaddress import IPv4Address, IPv6Address

from watchfloor.schema.shorten import shorten
from watchfloor.schema.times import format_moment

from .quoting import quote, quote_pattern
from .tree import And, Between, Cidr, Compare, Exists, Filter, In, Matches, Not, Or, Prefix, Value, Wildcard

_FIELD = re.compile(r"[A-Za-z_@][A-Za-z0-9_.@-]*")
_KEYWORDS = frozenset(("and", "or", "not", "in", "like", "startswith", "endswith", "contains", "exists"))


def to_text(tree: Filter) -> str:
    """The filter as one line of text.

    Strings are quoted; numbers, addresses, times and truth values stand bare. Parentheses keep the tree's nesting.
    """
    match tree:
        case And(children):
            return " and ".join(_operand(child) for child in children)
        case Or(children):
            return " or ".join(_operand(child) for child in children)
        case Not(child):
            return f"not {_operand(child)}"
        case Compare(field, op, value):
            return f"{field_text(field)} {op} {value_text(value)}"
        case In(field, values):
            return f"{field_text(field)} in ({', '.join(value_text(value) for value in values)})"
        case Between(field, low, high):
            return f"{field_text(field)} in {value_text(low)}..{value_text(high)}"
        case Cidr(field, network):
            return f"{field_text(field)} in {network}"
        case Prefix(field, prefix):
            return f"{field_text(field)} startswith {quote(prefix)}"
        case Matches(field, pattern, ignore_case):
            return f"{field_text(field)} ~ {quote_pattern(pattern, ignore_case)}"
        case Wildcard(field, pattern):
            return f"{field_text(field)} like {quote(pattern)}"
        case Exists(field):
            return f"exists {field_text(field)}"


def to_short_text(tree: Filter) -> str:
    """Returns the filter's text, cut to 60 characters."""
    return shorten(to_text(tree))


def field_text(name: str) -> str:
    """A field's name, in backticks if it is a keyword, in quotes if it holds odd characters."""
    if _FIELD.fullmatch(name):
        return f"`{name}`" if name.lower() in _KEYWORDS else name
    return quote(name)


def value_text(value: Value) -> str:
    """A value as the language writes it."""
    match value:
        case str():
            return quote(value).replace("*", "\\*")  # after = a star is any run of characters
        case bool():
            return "true" if value else "false"
        case datetime():
            return format_moment(value)
        case IPv4Address() | IPv6Address():
            return str(value)
        case _:
            return repr(value)


def _operand(tree: Filter) -> str:
    return f"({to_text(tree)})" if isinstance(tree, (And, Or)) else to_text(tree)
