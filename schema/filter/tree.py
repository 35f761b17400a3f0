"""The filter tree: a statement about one event of a source.

Logic is two-valued. A field that an event lacks satisfies no condition. ``f != v`` means ``not f = v``, so it holds for
an event that lacks ``f``. A condition on a list field holds if any element satisfies it. Expressions
(``expressions/nodes.py``) have the same logic.

Values are Python values of the field's type: ``str`` (string), ``int`` (int, port), ``float``, ``bool``, an aware
``datetime`` (time), ``ipaddress`` addresses (ip); list fields take values of their element type. Before a tree has
been typed against a source (``watchfloor.schema.filter.type_check``) values may still be the words of the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import Union

from .expressions.nodes import Expression, list_names
from .value_list import ValueList

Address = Union[IPv4Address, IPv6Address]
Network = Union[IPv4Network, IPv6Network]
Value = Union[str, int, float, bool, datetime, IPv4Address, IPv6Address]

COMPARISONS = ("=", "!=", "<", "<=", ">", ">=")


@dataclass(frozen=True)
class And:
    """A filter that holds if all of its children hold; there are at least two."""

    children: tuple[Filter, ...]


@dataclass(frozen=True)
class Or:
    """A filter that holds if any of its children holds; there are at least two."""

    children: tuple[Filter, ...]


@dataclass(frozen=True)
class Not:
    """A filter that holds if its child does not."""

    child: Filter


@dataclass(frozen=True)
class Compare:
    """``field op value`` with an op of ``COMPARISONS``. Values have their type's order; strings sort by UTF-8 bytes."""

    field: str
    op: str
    value: Value


@dataclass(frozen=True)
class In:
    """``field in (a, b, …)``: a value that equals one of the list."""

    field: str
    values: tuple[Value, ...]


@dataclass(frozen=True)
class InList:
    """``field in @name``: a value of the named list, or an address within a network of it.

    ``values`` is the version of the list that the filter means; a typed tree has it.
    """

    field: str
    name: str
    values: ValueList | None = None


@dataclass(frozen=True)
class InQuery:
    """``field in (source where filter | column)``: a value that ``column`` has in an event of another query.

    ``where`` None stands for all events. ``values`` are what the query found; None until it has run.
    """

    field: str
    source: str
    where: Filter | None
    column: str
    values: ValueList | None = None


@dataclass(frozen=True)
class Between:
    """``field in low..high``: a value between two others, both included, in the order of the type."""

    field: str
    low: Value
    high: Value


@dataclass(frozen=True)
class Cidr:
    """``field in 10.0.0.0/8``: an address within a network."""

    field: str
    network: Network


@dataclass(frozen=True)
class Prefix:
    """``field startswith prefix``: a string that starts with ``prefix``."""

    field: str
    prefix: str


@dataclass(frozen=True)
class Matches:
    """``field ~ /pattern/``: an RE2 pattern that is found somewhere in a string."""

    field: str
    pattern: str
    ignore_case: bool = False


@dataclass(frozen=True)
class Wildcard:
    """``field like pattern``: a string that fits a pattern as a whole.

    In the pattern ``*`` stands for any run of characters, ``?`` for any one character, and ``\\*`` for a star.
    """

    field: str
    pattern: str


@dataclass(frozen=True)
class Exists:
    """``exists field``: the event has the field."""

    field: str


@dataclass(frozen=True)
class ExpressionTest:
    """A condition on the value of an expression that is more than a field; the field of ``condition`` is empty."""

    expression: Expression
    condition: Condition


@dataclass(frozen=True)
class ExpressionCompare:
    """``left op right`` with expressions on both sides, of which at least one has a field."""

    left: Expression
    op: str
    right: Expression


Condition = Union[Compare, In, InList, InQuery, Between, Cidr, Prefix, Matches, Wildcard, Exists]
"""A condition on a field."""
Computed = Union[ExpressionTest, ExpressionCompare]
"""A condition on expressions. No index answers it."""
Filter = Union[And, Or, Not, Condition, Computed]


def make_starred(field: str, *parts: str) -> Wildcard:
    """Returns the condition that a string has all ``parts`` in order, begins with the first and ends with the last."""
    return Wildcard(field, "*".join(map(_escape_literal, parts)))


def make_ends_with(field: str, text: str) -> Wildcard:
    """Returns the condition that a string ends with ``text``."""
    return make_starred(field, "", text)


def make_contains(field: str, text: str) -> Wildcard:
    """Returns the condition that a string has ``text`` somewhere."""
    return make_starred(field, "", text, "")


def find_literal_ends(pattern: str) -> tuple[str, str, str]:
    """Returns the literal beginning and ending of all strings that fit a wildcard, and the pattern between them.

    If the pattern has no star or question mark, the beginning is the whole text, and the others are empty.
    """
    parts = re.findall(r"\\.|.", pattern, re.DOTALL)
    wild = [place for place, part in enumerate(parts) if part in ("*", "?")]
    if not wild:
        return _join_unescaped(parts), "", ""
    first, last = wild[0], wild[-1] + 1
    return _join_unescaped(parts[:first]), _join_unescaped(parts[last:]), "".join(parts[first:last])


def _join_unescaped(parts: list[str]) -> str:
    """Returns the text of a pattern's literal parts, each a character or a backslash and a character."""
    return "".join(part[-1] for part in parts)


def _escape_literal(text: str) -> str:
    """Returns ``text`` with a backslash before each character that has a meaning in wildcards."""
    return re.sub(r"[*?\\]", r"\\\g<0>", text)


def list_conditions(tree: Filter) -> Iterator[Condition | Computed]:
    """Yields the conditions of ``tree``, left to right; not those of queries within it."""
    if isinstance(tree, (And, Or)):
        for child in tree.children:
            yield from list_conditions(child)
    elif isinstance(tree, Not):
        yield from list_conditions(tree.child)
    else:
        yield tree


def list_tests(tree: Filter | None) -> Iterator[Condition]:
    """Yields the conditions of ``tree`` on fields, and those on the value of an expression, left to right."""
    for condition in () if tree is None else list_conditions(tree):
        if isinstance(condition, ExpressionTest):
            yield condition.condition
        elif not isinstance(condition, ExpressionCompare):
            yield condition


def list_fields(tree: Filter) -> set[str]:
    """Returns the names of all fields in ``tree``."""
    return set().union(*map(list_condition_fields, list_conditions(tree)))


def list_condition_fields(condition: Condition | Computed) -> set[str]:
    """Returns the names of the fields of a condition."""
    match condition:
        case ExpressionTest(expression):
            return list_names(expression)
        case ExpressionCompare(left, _, right):
            return list_names(left) | list_names(right)
        case _:
            return {condition.field}


def list_value_lists(tree: Filter | None) -> tuple[ValueList, ...]:
    """Returns the lists to which a typed tree refers, each once, in the order of their names."""
    found = {c.values for c in list_tests(tree) if isinstance(c, (InList, InQuery)) and c.values is not None}
    return tuple(sorted(found, key=lambda values: (values.name, values.version)))


def list_values(tree: Condition) -> tuple[Value, ...]:
    """Returns the values of a condition."""
    match tree:
        case Compare(_, _, value):
            return (value,)
        case In(_, values):
            return values
        case Between(_, low, high):
            return low, high
        case Prefix(_, text) | Matches(_, text, _) | Wildcard(_, text):
            return (text,)
    return ()
