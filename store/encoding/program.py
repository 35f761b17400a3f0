"""Compiles a typed filter tree into the bytes that tablet servers evaluate (Java's ``FilterProgram``).

The program is a preorder walk of the tree over encoded values (``values.py``). It compares bytes only, so the
servers need to know no types. ``docs/keys.md`` has the format.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Sequence

from watchfloor.schema.errors import InternalError
from watchfloor.schema.field import FieldType
from watchfloor.schema.filter.expressions.functions import find_type
from watchfloor.schema.filter.expressions.nodes import Expression
from watchfloor.schema.filter.tree import (
    And,
    Between,
    Cidr,
    Compare,
    Condition,
    Exists,
    ExpressionCompare,
    ExpressionTest,
    Filter,
    In,
    InList,
    InQuery,
    Matches,
    Not,
    Or,
    Prefix,
    Wildcard,
    list_value_lists,
)
from watchfloor.schema.filter.value_list import ValueList
from watchfloor.schema.source import Source

from .addresses import network_bounds
from .expressions import ExpressionCompiler, encode_tables
from .ranges import prefix_end
from .value_sets import ValueSet, read_content
from .values import encode_value

_AND, _OR, _NOT, _RANGE, _IN, _REGEX, _EXISTS, _EQUAL = 0x01, 0x02, 0x03, 0x10, 0x11, 0x12, 0x13, 0x14
_HAS_LO, _LO_INCLUSIVE, _HAS_HI, _HI_INCLUSIVE = 1, 2, 4, 8
_COMPARE, _LISTED, _TABLES, _SETS = 0x16, 0x17, 0x20, 0x21
_SCALAR, _LIST, _TIME, _EXPRESSION = 0, 1, 2, 3
_OPERATORS = ("=", "<", "<=", ">", ">=")
LARGE_SETS = 1 << 17
"""Bytes of packed sets from which on a query is one scan rather than several."""


def compile_filter(tree: Filter, source: Source) -> bytes:
    """Returns the program of a tree that has been typed against ``source``; ``list_sets`` are sent beside it."""
    expressions = list(_list_expressions(tree))
    lists = list_value_lists(tree)
    tables = bytes([_TABLES]) + encode_tables(expressions) if expressions else b""
    digests = b"".join(read_content(values).digest for values in lists)
    sets = struct.pack(">BH", _SETS, len(lists)) + digests if lists else b""
    return tables + sets + _compile_node(tree, source, lists)


def list_sets(tree: Filter | None) -> tuple[ValueSet, ...]:
    """Returns the sets of values to which the program of a typed tree refers, each once."""
    return tuple(read_content(values) for values in list_value_lists(tree))


def has_large_sets(tree: Filter | None) -> bool:
    """Returns whether sending the sets of a typed tree takes longer than a scan does, so that few scans should."""
    return sum(len(one.packed) for one in list_sets(tree)) > LARGE_SETS


def _list_expressions(tree: Filter) -> Iterator[Expression]:
    """Yields the expressions in a tree."""
    match tree:
        case And(children) | Or(children):
            for child in children:
                yield from _list_expressions(child)
        case Not(child):
            yield from _list_expressions(child)
        case ExpressionTest(expression):
            yield expression
        case ExpressionCompare(left, _, right):
            yield from (left, right)


def _compile_node(tree: Filter, source: Source, lists: Sequence[ValueList]) -> bytes:
    """Returns the program of a node; conditions name the set of a list by its place in ``lists``."""
    match tree:
        case And(children):
            return struct.pack(">BH", _AND, len(children)) + b"".join(_compile_node(c, source, lists) for c in children)
        case Or(children):
            return struct.pack(">BH", _OR, len(children)) + b"".join(_compile_node(c, source, lists) for c in children)
        case Not(child):
            return bytes([_NOT]) + _compile_node(child, source, lists)
        case ExpressionTest(expression, condition):
            compiler = ExpressionCompiler(source, encode_field)
            subject = bytes([_EXPRESSION]) + compiler.compile(expression)
            if isinstance(condition, InList) and condition.values is not None:
                return _compile_listed(subject, lists.index(condition.values))
            return _compile_condition(condition, subject, find_type(expression, compiler.types))
        case ExpressionCompare(left, "!=", right):
            return bytes([_NOT]) + _compile_node(ExpressionCompare(left, "=", right), source, lists)
        case ExpressionCompare(left, op, right):
            sides = ExpressionCompiler(source, encode_field).compile_pair(left, right)
            return bytes([_COMPARE, _OPERATORS.index(op)]) + sides
        case InList(name, _, values) | InQuery(name, values=values) if values is not None:
            return _compile_listed(encode_field(name, source), lists.index(values))
        case _:
            return _compile_condition(tree, encode_field(tree.field, source), source.find_field(tree.field).scalar)


def _compile_listed(subject: bytes, number: int) -> bytes:
    """Returns the program of the condition that a value is in a list, given by its number in the program."""
    return bytes([_LISTED]) + subject + struct.pack(">H", number)


def _compile_condition(condition: Condition, subject: bytes, kind: FieldType) -> bytes:
    """Returns the program of a condition on ``subject``, a field or an expression whose values are of ``kind``."""
    match condition:
        case Compare(_, "=", value):
            return bytes([_EQUAL]) + subject + _frame_bytes(encode_value(kind, value))
        case Compare(name, "!=", value):
            return bytes([_NOT]) + _compile_condition(Compare(name, "=", value), subject, kind)
        case Compare(_, op, value):
            constant = encode_value(kind, value)
            inclusive = op.endswith("=")
            return (
                _compile_range(subject, hi=constant, hi_inclusive=inclusive)
                if op[0] == "<"
                else _compile_range(subject, lo=constant, lo_inclusive=inclusive)
            )
        case In(_, values):
            constants = sorted({encode_value(kind, v) for v in values})
            head = bytes([_IN]) + subject + struct.pack(">I", len(constants))
            return head + b"".join(map(_frame_bytes, constants))
        case Between(_, low, high):
            bounds = encode_value(kind, low), encode_value(kind, high)
            return _compile_range(subject, lo=bounds[0], hi=bounds[1], hi_inclusive=True)
        case Cidr(_, network):
            first, last = network_bounds(network)
            return _compile_range(subject, lo=first, hi=last, hi_inclusive=True)
        case Prefix(_, prefix):
            return _compile_range(subject, lo=prefix.encode(), hi=prefix_end(prefix.encode()))
        case Matches(_, pattern, ignore_case):
            return _compile_regex(subject, pattern, ignore_case)
        case Wildcard(_, pattern):
            return _compile_regex(subject, wildcard_regex(pattern), False)
        case Exists():
            return bytes([_EXISTS]) + subject
    raise InternalError(f"no program for {condition!r}")


def wildcard_regex(pattern: str) -> str:
    """Returns the RE2 pattern that matches the strings that a wildcard pattern matches, from end to end."""
    # Several stars in a row become one: they mean the same, but each would cost the servers a step per character.
    parts = re.findall(r"\\.|\*+|\?|[^*?\\]+|\\", pattern, re.DOTALL)
    words = {"*": ".*", "?": "."}
    body = (
        words.get(part[0]) or _quote_regex(part[1:] if len(part) == 2 and part[0] == "\\" else part) for part in parts
    )
    return r"(?s)\A" + "".join(body) + r"\z"


def _quote_regex(text: str) -> str:
    return re.sub(r"([\\.+*?()|\[\]{}^$])", r"\\\1", text)


def _compile_regex(subject: bytes, pattern: str, ignore_case: bool) -> bytes:
    return bytes([_REGEX]) + subject + bytes([ignore_case]) + _frame_bytes(pattern.encode())


def _compile_range(
    subject: bytes,
    lo: bytes | None = None,
    hi: bytes | None = None,
    lo_inclusive: bool = True,
    hi_inclusive: bool = False,
) -> bytes:
    """Returns the program of a range of encoded values; a bound of None is open."""
    flags = (_HAS_LO | _LO_INCLUSIVE * lo_inclusive) * (lo is not None)
    flags |= (_HAS_HI | _HI_INCLUSIVE * hi_inclusive) * (hi is not None)
    bounds = b"".join(_frame_bytes(b) for b in (lo, hi) if b is not None)
    return bytes([_RANGE]) + subject + bytes([flags]) + bounds


def encode_field(name: str, source: Source) -> bytes:
    """Returns the kind of a field's values and its name, as the program has them before a condition."""
    kind = _TIME if name == source.time_field else _LIST if source.find_field(name).is_list else _SCALAR
    encoded = name.encode()
    return struct.pack(">BH", kind, len(encoded)) + encoded


def _frame_bytes(value: bytes) -> bytes:
    """Returns the value after its length."""
    return struct.pack(">I", len(value)) + value
