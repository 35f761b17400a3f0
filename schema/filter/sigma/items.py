"""Converts the items of a rule for one source: ``field: value``, and keywords, which stand in any field of strings."""

from __future__ import annotations

from sigma.types import (
    SigmaBool,
    SigmaCasedString,
    SigmaExists,
    SigmaExpansion,
    SigmaFieldReference,
    SigmaNull,
    SigmaNumber,
    SigmaRegularExpression,
    SigmaString,
    SigmaType,
)

from watchfloor.schema.errors import RuleError
from watchfloor.schema.field import Field, FieldType
from watchfloor.schema.filter import tree as f
from watchfloor.schema.filter.expressions.nodes import Expression, FieldValue, FunctionCall
from watchfloor.schema.filter.names import ANY

from .extra_fields import find_member, match_text
from .field_names import find_meant_fields, keeps_unknown
from .log_sources import MeantSource
from .logic import Outcome, join_all, join_any
from .texts import ANY_RUN, TextPart, quote_regex, read_parts, to_regex
from .values import NO_VALUE, NUMBERS, match_value, read_pattern

EXTENSION = "c-uri-extension"
"""The name of the ending of a file in a URL, which few sources have as a field."""
_URL = "c-uri"
_Names = dict[str, None]


def match_field(meant: MeantSource, name: str, value: SigmaType, missing: _Names, remarks: _Names) -> Outcome:
    """Returns the condition that a field of a rule has a value.

    Adds to ``missing`` the names of fields that the source lacks, and to ``remarks`` what is inexact. Raises
    ``RuleError`` for a value that has no counterpart.
    """
    fields = find_meant_fields(meant, name)
    if isinstance(value, SigmaFieldReference):
        return _compare_fields(meant, fields, value, name, missing)
    if not fields and name == EXTENSION and (urls := find_meant_fields(meant, _URL)):
        return join_any(_match_extension(url, value) for url in urls)
    if fields:
        found = [match_value(field, value) for field in fields]
        return join_all(found) if _means_nothing(value) else join_any(found)
    if keeps_unknown(meant, name):
        remarks[f"{name} is no field of its definition; it is looked for in extra"] = None
        return _match_extra(name, value)
    missing[name] = None
    return _means_nothing(value)


def _means_nothing(value: SigmaType) -> bool:
    """Returns whether a value stands for a field that an event lacks: in all of the fields that a name means."""
    if isinstance(value, SigmaString):
        return read_parts(value) in NO_VALUE
    return isinstance(value, SigmaNull) or (isinstance(value, SigmaExists) and not value)


def match_keyword(meant: MeantSource, value: SigmaType) -> Outcome:
    """Returns the condition that a field of strings contains a keyword."""
    if not any(field.scalar is FieldType.STRING for field in meant.source.fields):
        return False
    match value:
        case SigmaExpansion():
            return join_any(match_keyword(meant, one) for one in value.values)
        case SigmaRegularExpression():
            pattern, ignore_case = read_pattern(value)
            return f.Matches(ANY, pattern, ignore_case)
        case SigmaString():
            return _match_word(read_parts(value), isinstance(value, SigmaCasedString))
        case SigmaNumber() | SigmaBool():
            return _match_word((str(value),), False)
    raise RuleError(f"keywords are texts, not values of the kind {type(value).__name__}")


def _match_word(parts: tuple[TextPart, ...], cased: bool) -> f.Filter:
    """Returns the condition that a field of strings contains a text with wildcards."""
    inner = parts[1:] if parts and parts[0] is ANY_RUN else parts
    inner = inner[:-1] if inner and inner[-1] is ANY_RUN else inner
    if not inner:
        return f.Exists(ANY)
    return f.Matches(ANY, to_regex(inner, quote_regex), not cased)


def _match_extension(url: Field, value: SigmaType) -> f.Filter:
    """Returns the condition that the path of a URL ends with an extension."""
    if not isinstance(value, SigmaString):
        raise RuleError(f"{EXTENSION} is compared with texts only")
    body = to_regex(read_parts(value), quote_regex, r"[^.?#/]*", r"[^.?#/]")
    return f.Matches(url.name, rf"^(?:[a-z0-9+.-]+://[^/?#]*)?/[^?#]*\.{body}(?:[?#]|$)", True)


def _match_extra(name: str, value: SigmaType) -> Outcome:
    """Returns the condition that a member of ``extra`` has a value."""
    match value:
        case SigmaExpansion():
            return join_any(_match_extra(name, one) for one in value.values)
        case SigmaNull():
            return f.Not(find_member(name))
        case SigmaExists():
            return find_member(name) if value else f.Not(find_member(name))
        case SigmaString():
            parts = read_parts(value)
            return (
                find_member(name)
                if parts == (ANY_RUN,)
                else match_text(name, parts, not isinstance(value, SigmaCasedString))
            )
        case SigmaNumber() | SigmaBool():
            return match_text(name, (str(value),), True)
    raise RuleError(f"{name} is no field of the definition, and in extra only texts and numbers can be looked for")


def _compare_fields(
    meant: MeantSource, fields: tuple[Field, ...], value: SigmaFieldReference, name: str, missing: _Names
) -> Outcome:
    """Returns the condition that two fields have the same value."""
    others = find_meant_fields(meant, value.field)
    if value.starts_with or value.ends_with:
        raise RuleError(f"{name}: fieldref with startswith, endswith or contains has no counterpart")
    for one, found in ((name, fields), (value.field, others)):
        if not found:
            missing[one] = None
    if not fields or not others:
        return False
    left, right = fields[0], others[0]
    if left.scalar is not right.scalar and not {left.scalar, right.scalar} <= NUMBERS:
        raise RuleError(f"{left.name} is of the type {left.type_name} and {right.name} of the type {right.type_name}")
    return f.ExpressionCompare(_lower_field(left), "=", _lower_field(right))


def _lower_field(field: Field) -> Expression:
    value = FieldValue(field.name)
    return FunctionCall("lower", value) if field.scalar is FieldType.STRING else value
