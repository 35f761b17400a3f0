"""Checks expressions against a source: every name must stand for one field, and operators must fit their operands."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable

from watchfloor.schema.errors import FilterError
from watchfloor.schema.field import Field, FieldType
from watchfloor.schema.source import Source
from watchfloor.schema.text import shorten

from .functions import FUNCTIONS, LENGTH, find_type
from .nodes import (
    Arithmetic,
    Expression,
    FieldValue,
    FunctionCall,
    Negative,
    Number,
    list_children,
    list_names,
)
from .print import format_expression

NUMBERS = (FieldType.INT, FieldType.FLOAT)
_TIME_REMEDY = "; the difference of two times is in seconds, as in ts - seen > 60"


class ExpressionTyper:
    """Types the expressions of one condition, left to right. Each of their nodes takes the next of ``places``.

    ``places`` are positions in ``text``; without them errors show the expression. ``find_field`` returns the one field
    that a name stands for; it raises ``FilterError`` at the place of the name.
    """

    def __init__(
        self, source: Source, text: str, places: Iterable[int], find_field: Callable[[str, int | None], Field]
    ) -> None:
        self.source, self.text, self.places, self.find_field = source, text, deque(places), find_field
        self.types = source.scalar_types

    def type_side(self, side: Expression) -> Expression:
        """Returns one side of a condition with the names of fields. Raises ``FilterError``.

        A side may name one list, apart from lists whose length is taken.
        """
        place = self.places[0] if self.places else None
        typed = self.type_node(side)
        lists = _list_elementwise(typed, self.source)
        if len(lists) > 1:
            names = " and ".join(lists[:2])
            raise self.make_error(
                f"a side of a comparison takes the elements of one list, not of {names}", typed, place
            )
        return typed

    def type_node(self, node: Expression) -> Expression:
        """Returns a node with the names of fields; raises ``FilterError`` if its operands do not fit it."""
        place = self.places.popleft() if self.places else None
        match node:
            case FieldValue(name):
                return FieldValue(self.find_field(name, place).name)
            case Number(value):
                if isinstance(value, int) and not -(2**63) <= value < 2**63:
                    raise self.make_error("a whole number has at most 64 bits", node, place)
                return node
            case FunctionCall(function, argument):
                argument = self.type_node(argument)
                self.check_argument(function, argument, node, place)
                return FunctionCall(function, argument)
            case Negative(operand):
                operand = self.type_node(operand)
                kind = find_type(operand, self.types)
                if kind not in NUMBERS:
                    raise self.make_error(f"a {kind.value} has no sign", node, place)
                return Negative(operand)
            case Arithmetic(op, left, right):
                left, right = self.type_node(left), self.type_node(right)
                self.check_operands(op, left, right, node, place)
                return Arithmetic(op, left, right)

    def check_argument(self, function: str, argument: Expression, node: Expression, place: int | None) -> None:
        """Raises ``FilterError`` unless a function takes a typed argument."""
        if function == LENGTH and isinstance(argument, FieldValue) and self.source.find_field(argument.name).is_list:
            return
        kind, taken = find_type(argument, self.types), FUNCTIONS[function].takes
        if kind is not taken:
            lists = " and lists" if function == LENGTH else ""
            reason = f"{function} takes {taken.value}s{lists}, and {_describe(argument, kind)}"
            raise self.make_error(reason, node, place)

    def check_operands(self, op: str, left: Expression, right: Expression, node: Expression, place: int | None) -> None:
        """Raises ``FilterError`` unless an operator of arithmetic fits its typed operands."""
        kinds = find_type(left, self.types), find_type(right, self.types)
        if kinds == (FieldType.TIME, FieldType.TIME) and op == "-":
            return
        for operand, kind in zip((left, right), kinds, strict=True):
            if kind not in NUMBERS:
                remedy = _TIME_REMEDY if kind is FieldType.TIME else ""
                raise self.make_error(f"{op} takes numbers, and {_describe(operand, kind)}{remedy}", node, place)

    def check_comparison(self, left: Expression, op: str, right: Expression, place: int | None) -> None:
        """Raises ``FilterError`` unless two typed sides can be compared by ``op``."""
        one, other = find_type(left, self.types), find_type(right, self.types)
        if not list_names(left) and not list_names(right):
            raise self.make_error("a comparison needs a field on one side", left, place)
        if one is not other and not (one in NUMBERS and other in NUMBERS):
            remedy = _TIME_REMEDY if FieldType.TIME in (one, other) else ""
            reason = f"{_describe(left, one)}, and {_describe(right, other)}; they cannot be compared{remedy}"
            raise self.make_error(reason, left, place)
        if one is FieldType.BOOL and op not in ("=", "!="):
            raise self.make_error(f"a bool has no order, so {op} does not fit", left, place)

    def make_error(self, reason: str, shown: Expression, place: int | None = None) -> FilterError:
        """Returns the error for a reason, at its place in the text, or with the expression that is ``shown``."""
        if place is None:
            return FilterError(f"{reason} (in: {shorten(format_expression(shown), 200)})")
        return FilterError(reason, self.text, place)


def _describe(expression: Expression, kind: FieldType) -> str:
    """Returns what an expression is: ``lower(user) is a string``."""
    return f"{shorten(format_expression(expression), 60)} is {'an' if kind.value[0] in 'aeiou' else 'a'} {kind.value}"


def _list_elementwise(expression: Expression, source: Source) -> list[str]:
    """Returns the names of the lists whose elements an expression takes, once for each time."""
    match expression:
        case FieldValue(name):
            return [name] if source.find_field(name).is_list else []
        case FunctionCall(function, FieldValue()) if function == LENGTH:
            return []
    return [name for child in list_children(expression) for name in _list_elementwise(child, source)]
