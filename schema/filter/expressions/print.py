"""Writes names of fields and expressions as text of the filter language."""

from __future__ import annotations

import re

from watchfloor.schema.filter.syntax.quoting import quote_text

from .nodes import Arithmetic, Expression, FieldValue, FunctionCall, Negative, Number

_FIELD = re.compile(r"[A-Za-z_@][A-Za-z0-9_.@-]*")
_KEYWORDS = frozenset(("and", "or", "not", "in", "like", "startswith", "endswith", "contains", "exists"))


def format_field(name: str) -> str:
    """Returns a field's name, in backticks if it is a keyword, in quotes if it has characters that names lack."""
    if _FIELD.fullmatch(name):
        return f"`{name}`" if name.lower() in _KEYWORDS else name
    return quote_text(name)


def format_expression(expression: Expression) -> str:
    """Returns an expression as the language writes it on the left of a comparison."""
    match expression:
        case FieldValue(name):
            return format_field(name)
        case Number(value):
            return repr(value)
        case FunctionCall(function, argument):
            return f"{function}({format_expression(argument)})"
        case Negative(operand):
            return f"-{enclose_sum(operand)}"
        case Arithmetic(op, left, right):
            return f"{enclose_sum(left)} {op} {enclose_sum(right)}"


def enclose_sum(expression: Expression) -> str:
    """Returns the text of an operand, in parentheses if it has an operator itself."""
    text = format_expression(expression)
    return f"({text})" if isinstance(expression, (Arithmetic, Negative)) else text


def format_right_side(expression: Expression) -> str:
    """Returns an expression as the language writes it on the right of a comparison, where a bare word is a value."""
    if isinstance(expression, FieldValue):
        return f"field({format_field(expression.name)})"
    return (
        format_expression(expression) if isinstance(expression, FunctionCall) else f"({format_expression(expression)})"
    )
