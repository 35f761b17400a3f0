"""Compiles typed expressions into the bytes that tablet servers evaluate (Java's ``ExpressionReader``).

Operators are compiled for the type of their operands, ints or floats, so the servers need to know no more types than
those of the stored bytes. ``docs/keys.md`` has the format.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterable
from functools import cache

from watchfloor.schema.errors import InternalError
from watchfloor.schema.field import FieldType
from watchfloor.schema.filter.expressions.domains import load_rules
from watchfloor.schema.filter.expressions.functions import LENGTH, find_type
from watchfloor.schema.filter.expressions.lower_case import load_lower_case
from watchfloor.schema.filter.expressions.nodes import (
    Arithmetic,
    Expression,
    FieldValue,
    FunctionCall,
    Negative,
    Number,
    walk,
)
from watchfloor.schema.source import Source

_FIELD, _INT, _FLOAT, _TO_FLOAT, _NEGATIVE = 0x01, 0x02, 0x03, 0x04, 0x05
_OPERATORS = {"+": 0x06, "-": 0x07, "*": 0x08, "/": 0x09}
_ELEMENTS = 0x0B
_FUNCTIONS = {
    LENGTH: 0x0A,
    "lower": 0x0C,
    "hour": 0x0D,
    "weekday": 0x0E,
    "entropy": 0x0F,
    "registered_domain": 0x10,
}
# How the bytes of a field are read: as they are, or as a number.
_READ_BYTES, _READ_INT, _READ_FLOAT, _READ_UNSIGNED = 0, 1, 2, 3
_READS = {
    FieldType.INT: _READ_INT,
    FieldType.TIME: _READ_INT,
    FieldType.FLOAT: _READ_FLOAT,
    FieldType.PORT: _READ_UNSIGNED,
    FieldType.BOOL: _READ_UNSIGNED,
}
_LOWER_CASE, _SUFFIXES = 1, 2
_TABLES_OF = {"lower": (_LOWER_CASE,), "registered_domain": (_LOWER_CASE, _SUFFIXES)}
_MICROS = 1_000_000.0

EncodeField = Callable[[str, Source], bytes]


class ExpressionCompiler:
    """Compiles expressions over the fields of a source; ``encode_field`` gives a field as the program has it."""

    def __init__(self, source: Source, encode_field: EncodeField) -> None:
        self.source, self.encode_field = source, encode_field
        self.types = source.scalar_types

    def compile_pair(self, left: Expression, right: Expression) -> bytes:
        """Returns two expressions; if one is a float, an int becomes one too."""
        return b"".join(map(self._to_float if self._has_float(left, right) else self.compile, (left, right)))

    def compile(self, expression: Expression) -> bytes:
        """Returns an expression as bytes, in preorder."""
        match expression:
            case FieldValue(name):
                read = _READS.get(self.types[name], _READ_BYTES)
                return bytes([_FIELD, read]) + self.encode_field(name, self.source)
            case Number(value):
                return struct.pack(">Bq", _INT, value) if isinstance(value, int) else struct.pack(">Bd", _FLOAT, value)
            case FunctionCall(function, FieldValue(name)) if (
                function == LENGTH and self.source.find_field(name).is_list
            ):
                return bytes([_ELEMENTS]) + self.encode_field(name, self.source)
            case FunctionCall(function, argument):
                return bytes([_FUNCTIONS[function]]) + self.compile(argument)
            case Negative(operand):
                return bytes([_NEGATIVE]) + self.compile(operand)
            case Arithmetic(op, left, right):
                head = bytes([_OPERATORS[op]])
                if find_type(left, self.types) is FieldType.TIME:
                    micros = bytes([_TO_FLOAT]) + head + self.compile(left) + self.compile(right)
                    return bytes([_OPERATORS["/"]]) + micros + self.compile(Number(_MICROS))
                if op == "/":
                    return head + self._to_float(left) + self._to_float(right)
                return head + self.compile_pair(left, right)
        raise InternalError(f"no program for {expression!r}")

    def _has_float(self, *expressions: Expression) -> bool:
        return any(find_type(expression, self.types) is FieldType.FLOAT for expression in expressions)

    def _to_float(self, expression: Expression) -> bytes:
        """Returns an expression of numbers as one of floats."""
        compiled = self.compile(expression)
        return compiled if self._has_float(expression) else bytes([_TO_FLOAT]) + compiled


def encode_tables(expressions: Iterable[Expression]) -> bytes:
    """Returns the tables that the functions in some expressions need: the number of tables, and each, compressed.

    A program carries them, so that servers have no tables of their own that could be others than the client's.
    """
    called = {node.function for one in expressions for node in walk(one) if isinstance(node, FunctionCall)}
    kinds = sorted({kind for function in called for kind in _TABLES_OF.get(function, ())})
    tables = (struct.pack(">BI", kind, len(_encode_table(kind))) + _encode_table(kind) for kind in kinds)
    return bytes([len(kinds)]) + b"".join(tables)


@cache
def _encode_table(kind: int) -> bytes:
    """Returns a table: pairs of code points for lower case, lines of text for the rules of public suffixes."""
    if kind == _LOWER_CASE:
        raw = b"".join(struct.pack(">II", code, lower) for code, lower in load_lower_case().items())
    else:
        raw = "\n".join(sorted(load_rules())).encode()
    return zlib.compress(raw, 9)
