"""The values of expressions in plain Python, for filters over answers (``stats/having.py``)."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from ipaddress import ip_address
from itertools import product
from typing import Any

from watchfloor.schema.field import FieldType
from watchfloor.schema.times import to_micros

from .functions import FUNCTIONS, LENGTH, find_type
from .nodes import Arithmetic, Expression, FieldValue, FunctionCall, Negative, Number

Row = Mapping[str, Any]
_COMPARE: Mapping[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_MICROS = 1_000_000.0


def compare_values(left: Expression, op: str, right: Expression, row: Row, types: Mapping[str, FieldType]) -> bool:
    """Returns whether a comparison, but not by ``!=``, holds for some pair of the values of two expressions.

    ``row`` has the values of the fields as ``to_pylist`` gives them, and ``types`` their types.
    """
    lefts, rights = evaluate(left, row, types), list(evaluate(right, row, types))
    if FieldType.FLOAT in (find_type(left, types), find_type(right, types)):
        lefts, rights = map(float, lefts), [float(value) for value in rights]
    compare = _COMPARE[op]
    return any(compare(_rank(one), _rank(other)) for one, other in product(lefts, rights))


def evaluate(expression: Expression, row: Row, types: Mapping[str, FieldType]) -> Iterator[Any]:
    """Yields the values of an expression: one, none, or that of each element of a list. Times are in µs."""
    match expression:
        case FieldValue(name):
            for value in _list_elements(row[name]):
                yield _read_value(value, types[name])
        case Number(value):
            yield value
        case FunctionCall(function, FieldValue(name)) if function == LENGTH and isinstance(row[name], list):
            yield len(row[name])
        case FunctionCall(function, argument):
            results = map(FUNCTIONS[function].compute, evaluate(argument, row, types))
            yield from (result for result in results if result is not None)
        case Negative(operand):
            yield from _keep_numbers(-value for value in evaluate(operand, row, types))
        case Arithmetic(op, left, right):
            pairs = product(evaluate(left, row, types), evaluate(right, row, types))
            if find_type(left, types) is FieldType.TIME:
                differences = _keep_numbers(one - other for one, other in pairs)
                yield from (difference / _MICROS for difference in differences)
            else:
                as_float = find_type(expression, types) is FieldType.FLOAT
                yield from _keep_numbers(_calculate(op, *pair, as_float) for pair in pairs)


def _list_elements(value: Any) -> list[Any]:
    """Returns the elements of a list, or a value as the only one; without nulls."""
    return [element for element in (value if isinstance(value, list) else [value]) if element is not None]


def _read_value(value: Any, kind: FieldType) -> Any:
    """Returns a field's value as expressions have it."""
    if isinstance(value, datetime):
        return to_micros(value)
    return ip_address(value) if kind is FieldType.IP else value


def _calculate(op: str, left: int | float, right: int | float, as_float: bool) -> int | float:
    """Returns the result of an operator; NaN for a division by zero."""
    if as_float:
        left, right = float(left), float(right)
    match op:
        case "+":
            return left + right
        case "-":
            return left - right
        case "*":
            return left * right
    return left / right if right else math.nan


def _keep_numbers(values: Iterator[int | float]) -> Iterator[int | float]:
    """Yields the numbers that fit their types: ints of 64 bits, and floats but NaN."""
    for value in values:
        if -(2**63) <= value < 2**63 if isinstance(value, int) else not math.isnan(value):
            yield value


def _rank(value: Any) -> Any:
    """Returns a key by which values of one type sort: strings by their UTF-8 bytes, IPv4 before IPv6."""
    if isinstance(value, str):
        return value.encode()
    return (value.version, int(value)) if hasattr(value, "version") else value
