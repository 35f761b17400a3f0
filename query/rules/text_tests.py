"""Reads conditions on strings as the literals that a string must have, and the test that is left then."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

from watchfloor.schema.filter import tree as f
from watchfloor.schema.filter.expressions.nodes import FieldValue, FunctionCall

from .literals import MAX_LITERAL, Literal

_PART = re.compile(r"\\.|[^\\]", re.DOTALL)


@dataclass(frozen=True)
class StringTest:
    """A condition on the string of a field, or on its lower case if ``lowered``; it is one on a field without name."""

    field: str
    lowered: bool
    test: f.Condition


@dataclass(frozen=True)
class TextNeeds:
    """The literals that a string must have to satisfy a condition: one of ``choices``, each a set of literals.

    ``exact`` says that a string that has them does.
    """

    choices: tuple[tuple[Literal, ...], ...]
    exact: bool


def read_string_test(tree: f.Filter) -> StringTest | None:
    """Returns a condition as one on the string of a field; None if it has another form.

    The field may be one of another type than strings.
    """
    match tree:
        case f.ExpressionTest(FunctionCall("lower", FieldValue(name)), test):
            return StringTest(name, True, test)
        case f.Compare(name, "=") | f.In(name) | f.Prefix(name) | f.Matches(name) | f.Wildcard(name):
            return StringTest(name, False, replace(tree, field=""))
    return None


@lru_cache(maxsize=65_536)
def find_needs(test: f.Condition) -> TextNeeds | None:
    """Returns what a string must have to satisfy a condition; None if that is not known."""
    match test:
        case f.Compare("", "=", str(text)) if text:
            return _join_choices([_cut_literal(text, True, True)])
        case f.In("", values) if all(isinstance(value, str) and value for value in values):
            return _join_choices([_cut_literal(str(value), True, True) for value in values])
        case f.Prefix("", text) if text:
            return _join_choices([_cut_literal(text, True, False)])
        case f.Wildcard("", pattern):
            return _read_wildcard(pattern)
    return None


def _join_choices(cut: list[tuple[Literal, bool]]) -> TextNeeds:
    return TextNeeds(tuple((literal,) for literal, _ in cut), all(exact for _, exact in cut))


def _cut_literal(text: str, at_start: bool, at_end: bool) -> tuple[Literal, bool]:
    """Returns a text as a literal, and whether that is all of it; of a long one a part is taken."""
    encoded = text.encode()
    if len(encoded) <= MAX_LITERAL:
        return Literal(encoded, at_start, at_end), True
    if at_end and not at_start:
        return Literal(encoded[-MAX_LITERAL:], at_end=True), False
    return Literal(encoded[:MAX_LITERAL], at_start=at_start), False


def _read_wildcard(pattern: str) -> TextNeeds | None:
    """Returns the literals between the stars and question marks of a wildcard."""
    runs = list(_list_runs(pattern))
    literals = [_cut_literal(text, number == 0, number == len(runs) - 1) for number, text in enumerate(runs) if text]
    if not literals:
        return None
    # Of ``a*b`` the two might overlap, and of ``a?b`` the distance is not told by the literals.
    exact = len(literals) == 1 and "?" not in _mark_signs(pattern) and literals[0][1] and len(runs) <= 3
    return TextNeeds((tuple(literal for literal, _ in literals),), exact)


def _list_runs(pattern: str) -> Iterator[str]:
    """Yields the literal texts before, between and behind the signs of a wildcard; empty where there is none."""
    run: list[str] = []
    for part in _PART.findall(pattern):
        if part in ("*", "?"):
            yield "".join(run)
            run = []
        else:
            run.append(part[-1])
    yield "".join(run)


def _mark_signs(pattern: str) -> set[str]:
    return {part for part in _PART.findall(pattern) if part in ("*", "?")}
