"""The functions of expressions, and the types of expressions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from watchfloor.schema.errors import suggest_names
from watchfloor.schema.field import FieldType
from watchfloor.schema.text import shorten_value

from .domains import find_registered_domain
from .entropy import measure_entropy
from .lower_case import to_lower
from .nodes import Arithmetic, Expression, FieldValue, FunctionCall, Negative, Number

_HOUR = 3_600_000_000
_DAY = 24 * _HOUR


@dataclass(frozen=True)
class Function:
    """A function that takes a value of one type; ``compute`` returns None for no value. Times are in µs since 1970."""

    takes: FieldType
    gives: FieldType
    compute: Callable[[Any], Any]


def _find_hour(micros: int) -> int:
    """Returns the hour of a time's day in UTC, from 0 to 23."""
    return micros % _DAY // _HOUR


def _find_weekday(micros: int) -> int:
    """Returns the day of a time's week in UTC, from 1 for Monday to 7 for Sunday."""
    return (micros // _DAY + 3) % 7 + 1  # 1970 began on a Thursday


LENGTH = "length"
FUNCTIONS: Mapping[str, Function] = {
    LENGTH: Function(FieldType.STRING, FieldType.INT, len),
    "lower": Function(FieldType.STRING, FieldType.STRING, to_lower),
    "entropy": Function(FieldType.STRING, FieldType.FLOAT, measure_entropy),
    "registered_domain": Function(FieldType.STRING, FieldType.STRING, find_registered_domain),
    "hour": Function(FieldType.TIME, FieldType.INT, _find_hour),
    "weekday": Function(FieldType.TIME, FieldType.INT, _find_weekday),
}
"""The functions by name. ``length`` takes lists too, of which it counts the elements."""
FIELD_FUNCTION = "field"
"""The function that gives the value of a field: on the right of a comparison a word that stands alone is a value."""


def find_type(expression: Expression, types: Mapping[str, FieldType]) -> FieldType:
    """Returns the type of a typed expression's values; ``types`` are those of the fields' values. A port is an int."""
    match expression:
        case FieldValue(name):
            return FieldType.INT if types[name] is FieldType.PORT else types[name]
        case Number(value):
            return FieldType.INT if isinstance(value, int) else FieldType.FLOAT
        case FunctionCall(function):
            return FUNCTIONS[function].gives
        case Negative(operand):
            return find_type(operand, types)
        case Arithmetic(op, left, right):
            both = {find_type(left, types), find_type(right, types)}
            return FieldType.INT if both == {FieldType.INT} and op != "/" else FieldType.FLOAT


def describe_unknown_function(name: str) -> str:
    """Returns the error for a name that no function has; it suggests near names."""
    return f"unknown function {shorten_value(name)}{suggest_names(name[:100], (*FUNCTIONS, FIELD_FUNCTION))}"
