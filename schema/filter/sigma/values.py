"""Converts one value of a rule and one field of a source to a condition.

Texts match without regard to case, so a condition on a string is one on its lower case, unless the text has no
letters; then an index can answer it. A value that a field of its type can never have gives False. An empty text and a
lone hyphen stand for no value, as in most logs, whose formats leave such values out: they match an event without the
field too.
"""

from __future__ import annotations

import re

from sigma.types import (
    CompareOperators,
    SigmaBool,
    SigmaCasedString,
    SigmaCIDRExpression,
    SigmaCompareExpression,
    SigmaExists,
    SigmaExpansion,
    SigmaNull,
    SigmaNumber,
    SigmaRegularExpression,
    SigmaRegularExpressionFlag,
    SigmaString,
    SigmaTimestampPart,
    SigmaType,
    TimestampPart,
)

from watchfloor.schema.errors import RuleError
from watchfloor.schema.field import Field, FieldType
from watchfloor.schema.filter import tree as f
from watchfloor.schema.filter.expressions.nodes import FieldValue, FunctionCall
from watchfloor.schema.filter.patterns import check_regex, match_network
from watchfloor.schema.filter.values import convert_value
from watchfloor.schema.text import shorten_value

from .addresses import list_networks
from .logic import Outcome, join_any, negate
from .texts import ANY_RUN, TextPart, has_case, is_literal, lower_parts, read_parts, to_wildcard

_OPERATORS = {
    CompareOperators.LT: "<",
    CompareOperators.LTE: "<=",
    CompareOperators.GT: ">",
    CompareOperators.GTE: ">=",
    CompareOperators.NEQ: "!=",
}
NUMBERS = frozenset((FieldType.INT, FieldType.PORT, FieldType.FLOAT))
NO_VALUE: tuple[tuple[TextPart, ...], ...] = ((), ("-",))
"""The texts that stand for no value."""
_HEXADECIMAL = re.compile(r"0x[0-9a-f]{1,16}", re.ASCII | re.IGNORECASE)
_FLAGS = {
    SigmaRegularExpressionFlag.IGNORECASE: "i",
    SigmaRegularExpressionFlag.MULTILINE: "m",
    SigmaRegularExpressionFlag.DOTALL: "s",
}


def match_value(field: Field, value: SigmaType) -> Outcome:
    """Returns the condition that a field has a value. Raises ``RuleError`` for one that the field cannot be asked."""
    match value:
        case SigmaExpansion():
            return join_any(match_value(field, one) for one in value.values)
        case SigmaNull():
            return f.Not(f.Exists(field.name))
        case SigmaExists():
            return f.Exists(field.name) if value else f.Not(f.Exists(field.name))
        case SigmaTimestampPart():
            return _match_time_part(field, value)
        case SigmaRegularExpression():
            return _match_regex(field, value)
        case SigmaCIDRExpression():
            return _match_network(field, value)
        case SigmaCompareExpression():
            return _compare_number(field, value)
        case SigmaString():
            return _match_text(field, read_parts(value), isinstance(value, SigmaCasedString))
        case SigmaNumber():
            return _match_text(field, (str(value.number),), True)
        case SigmaBool():
            return _match_text(field, (str(value.boolean).lower(),), False)
    raise RuleError(f"a value of the kind {type(value).__name__} has no counterpart")


def read_pattern(value: SigmaRegularExpression) -> tuple[str, bool]:
    """Returns an RE2 pattern and whether it ignores case. Raises ``RuleError`` for one that cannot run."""
    pattern = "".join(part if isinstance(part, str) else "*" if part is ANY_RUN else "?" for part in value.regexp.s)
    flags = "".join(sorted(_FLAGS[flag] for flag in value.flags if flag is not SigmaRegularExpressionFlag.IGNORECASE))
    pattern = f"(?{flags}){pattern}" if flags else pattern
    ignore_case = SigmaRegularExpressionFlag.IGNORECASE in value.flags
    if reason := check_regex(pattern, ignore_case):
        raise RuleError(f"the pattern {shorten_value(pattern)} cannot run: {reason}")
    return pattern, ignore_case


def _match_text(field: Field, parts: tuple[TextPart, ...], cased: bool) -> Outcome:
    """Returns the condition that a field's value is written like a text with wildcards."""
    if parts == (ANY_RUN,):
        return f.Exists(field.name)
    if parts in NO_VALUE:
        written = (f.Compare(field.name, "=", "".join(map(str, parts))),) if field.scalar is FieldType.STRING else ()
        return join_any([f.Not(f.Exists(field.name)), *written])
    if field.scalar is FieldType.STRING:
        return _match_string(field.name, parts, cased)
    if field.scalar is FieldType.IP and not is_literal(parts):
        return _match_address(field.name, parts)
    text = "".join(part for part in parts if isinstance(part, str))
    if not is_literal(parts):
        raise RuleError(
            f"{field.name} is of the type {field.type_name}, which has no wildcards such as {text!r} with *"
        )
    if field.scalar is FieldType.INT and _HEXADECIMAL.fullmatch(text):
        text = str(int(text, 16))
    if field.scalar is FieldType.TIME:
        raise RuleError(f"{field.name} is a time, which is compared by the modifiers of times only")
    try:
        return f.Compare(field.name, "=", convert_value(text, field.scalar, 0))
    except ValueError:
        return False


def _match_string(name: str, parts: tuple[TextPart, ...], cased: bool) -> f.Filter:
    """Returns the condition that a string fits a text with wildcards."""
    lowered = not cased and has_case(parts)
    subject = "" if lowered else name
    test = _test_text(subject, lower_parts(parts) if lowered else parts)
    return f.ExpressionTest(FunctionCall("lower", FieldValue(name)), test) if lowered else test


def _test_text(subject: str, parts: tuple[TextPart, ...]) -> f.Condition:
    """Returns the simplest condition that a string fits a text with wildcards."""
    if is_literal(parts):
        return f.Compare(subject, "=", "".join(map(str, parts)))
    if len(parts) == 2 and isinstance(parts[0], str) and parts[1] is ANY_RUN:
        return f.Prefix(subject, parts[0])
    return f.Wildcard(subject, to_wildcard(parts))


def _match_address(name: str, parts: tuple[TextPart, ...]) -> Outcome:
    """Returns the condition that an address begins with a text."""
    networks = list_networks(str(parts[0])) if len(parts) == 2 and parts[1] is ANY_RUN else None
    if networks is None:
        raise RuleError(
            f"{name} is an address, of which a text without wildcards, a beginning or a network is looked for"
        )
    return join_any(f.Cidr(name, network) for network in networks)


def _match_network(field: Field, value: SigmaCIDRExpression) -> Outcome:
    """Returns the condition that an address lies in a network; of a string, that it is written like such an address."""
    if field.scalar is FieldType.IP:
        return f.Cidr(field.name, value.network)
    if field.scalar is not FieldType.STRING:
        raise RuleError(f"{field.name} is of the type {field.type_name}, which lies in no network")
    matches = match_network(field.name, value.network)
    if reason := check_regex(matches.pattern, matches.ignore_case):
        raise RuleError(f"{field.name} is a string, and the network {value.network} as a pattern cannot run: {reason}")
    return matches


def _match_regex(field: Field, value: SigmaRegularExpression) -> f.Filter:
    pattern, ignore_case = read_pattern(value)
    if field.scalar is not FieldType.STRING:
        raise RuleError(f"{field.name} is of the type {field.type_name}; patterns (re) fit strings only")
    return f.Matches(field.name, pattern, ignore_case)


def _compare_number(field: Field, value: SigmaCompareExpression) -> Outcome:
    """Returns the condition that a number is smaller or larger than another."""
    if field.scalar not in NUMBERS:
        raise RuleError(f"{field.name} is of the type {field.type_name}; lt, lte, gt and gte fit numbers only")
    op, number = _OPERATORS[value.op], value.number.number
    try:
        typed = convert_value(number, field.scalar, 0)
    except ValueError:
        raise RuleError(f"{field.name} is of the type {field.type_name}, which has no {number}") from None
    return negate(f.Compare(field.name, "=", typed)) if op == "!=" else f.Compare(field.name, op, typed)


def _match_time_part(field: Field, value: SigmaTimestampPart) -> f.Filter:
    if value.timestamp_part is not TimestampPart.HOUR or field.scalar is not FieldType.TIME:
        part = value.timestamp_part.name.lower()
        raise RuleError(f"the modifier {part} has no counterpart for {field.name}; of times the hour is known")
    hour = FunctionCall("hour", FieldValue(field.name))
    return f.ExpressionTest(hour, f.Compare("", "=", int(value.number)))
