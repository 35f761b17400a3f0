"""The nodes of an expression, which has a value for an event, or none.

Numbers are int (64 bits, signed; ports too) or float. ``+``, ``-`` and ``*`` of two ints give an int; ``/``, and an
operator with a float, give a float. The difference of two times is a float, in seconds. There is no value where a field
is missing, where an int leaves its 64 bits, where a divisor is zero, and where a float would be NaN. No value satisfies
no condition.

A list stands for each of its elements. A side of a comparison names at most one list, and a comparison holds if it
holds for any element, or for any pair of elements if each side has a list.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Union


@dataclass(frozen=True)
class FieldValue:
    """The value of a field."""

    name: str


@dataclass(frozen=True)
class Number:
    """A number."""

    value: int | float


@dataclass(frozen=True)
class FunctionCall:
    """A function of one argument; the names of functions are those of ``functions.FUNCTIONS``."""

    function: str
    argument: Expression


@dataclass(frozen=True)
class Arithmetic:
    """Two operands joined by ``+``, ``-``, ``*`` or ``/``."""

    op: str
    left: Expression
    right: Expression


@dataclass(frozen=True)
class Negative:
    """An operand with its sign changed. The operand is no ``Number``: a negative number is a number."""

    operand: Expression


Expression = Union[FieldValue, Number, FunctionCall, Arithmetic, Negative]
OPERATORS = ("+", "-", "*", "/")


def negate(operand: Expression) -> Expression:
    """Returns the expression with its sign changed."""
    return Number(-operand.value) if isinstance(operand, Number) else Negative(operand)


def list_children(expression: Expression) -> tuple[Expression, ...]:
    """Returns the operands or the argument of an expression, left to right."""
    match expression:
        case FunctionCall(_, argument):
            return (argument,)
        case Arithmetic(_, left, right):
            return left, right
        case Negative(operand):
            return (operand,)
    return ()


def walk(expression: Expression) -> Iterator[Expression]:
    """Yields an expression and all within it; each stands before its operands."""
    yield expression
    for child in list_children(expression):
        yield from walk(child)


def list_names(expression: Expression) -> set[str]:
    """Returns the names of all fields in an expression."""
    return {node.name for node in walk(expression) if isinstance(node, FieldValue)}


def measure_depth(expression: Expression) -> int:
    """Returns the number of levels in an expression; 1 for a field or a number."""
    return 1 + max(map(measure_depth, list_children(expression)), default=0)
