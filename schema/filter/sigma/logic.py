"""Joins conditions by ``and``, ``or`` and ``not``; a condition may be known to hold always (True) or never (False)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Union

from watchfloor.schema.filter import tree as f
from watchfloor.schema.filter.expressions.nodes import Expression, FieldValue

_MERGED = 600
"""The largest number of characters in a pattern that is made of several."""
_NAMED_GROUP = re.compile(r"\(\?P?<")
Outcome = Union[f.Filter, bool]
"""A filter, or whether it holds for all events or for none."""


def join_all(outcomes: Iterable[Outcome]) -> Outcome:
    """Returns the condition that all of some conditions hold."""
    parts: list[f.Filter] = []
    for outcome in outcomes:
        if outcome is False:
            return False
        if not isinstance(outcome, bool):
            parts += outcome.children if isinstance(outcome, f.And) else (outcome,)
    parts = list(dict.fromkeys(parts))
    return True if not parts else parts[0] if len(parts) == 1 else f.And(tuple(parts))


def join_any(outcomes: Iterable[Outcome]) -> Outcome:
    """Returns the condition that one of some conditions holds.

    Equalities of one subject become a list of values, and patterns of one field become one pattern, as far as it fits.
    """
    parts: list[f.Filter] = []
    for outcome in outcomes:
        if outcome is True:
            return True
        if not isinstance(outcome, bool):
            parts += outcome.children if isinstance(outcome, f.Or) else (outcome,)
    parts = list(_merge_patterns(_merge_equalities(dict.fromkeys(parts))))
    return False if not parts else parts[0] if len(parts) == 1 else f.Or(tuple(parts))


def negate(outcome: Outcome) -> Outcome:
    """Returns the condition that a condition does not hold."""
    if isinstance(outcome, bool):
        return not outcome
    return outcome.child if isinstance(outcome, f.Not) else f.Not(outcome)


def _merge_patterns(parts: Iterable[f.Filter]) -> Iterator[f.Filter]:
    """Yields the parts of an ``or``; neighbours that look for patterns in one field are one, up to ``_MERGED``."""
    found: list[f.Matches] = []
    for part in parts:
        pattern = part if isinstance(part, f.Matches) and not _NAMED_GROUP.search(part.pattern) else None
        if found and (pattern is None or not _fits_together([*found, pattern])):
            yield _join_patterns(found)
            found = []
        if pattern is None:
            yield part
        else:
            found.append(pattern)
    if found:
        yield _join_patterns(found)


def _fits_together(found: Sequence[f.Matches]) -> bool:
    """Returns whether patterns are of one field and short enough to be one."""
    kinds = {(one.field, one.ignore_case) for one in found}
    return len(kinds) == 1 and sum(len(one.pattern) + 5 for one in found) <= _MERGED


def _join_patterns(found: Sequence[f.Matches]) -> f.Matches:
    if len(found) == 1:
        return found[0]
    return replace(found[0], pattern="|".join(f"(?:{one.pattern})" for one in found))


def _merge_equalities(parts: Iterable[f.Filter]) -> Iterator[f.Filter]:
    """Yields the parts of an ``or``; those that compare one subject with values are one, in the place of the first."""
    values: dict[Expression, list[f.Value]] = {}
    order: list[f.Filter | Expression] = []
    for part in parts:
        subject, members = _read_equality(part)
        if subject is None:
            order.append(part)
            continue
        if subject not in values:
            order.append(subject)
        values.setdefault(subject, []).extend(members)
    for item in order:
        found = values.get(item) if isinstance(item, Expression) else None  # type: ignore[arg-type]
        yield item if found is None else _make_membership(item, found)  # type: ignore[arg-type, misc]


def _read_equality(part: f.Filter) -> tuple[Expression | None, tuple[f.Value, ...]]:
    """Returns the subject and the values of an equality or a list of values; None for another condition."""
    match part:
        case f.Compare(field, "=", value):
            return FieldValue(field), (value,)
        case f.In(field, values):
            return FieldValue(field), values
        case f.ExpressionTest(expression, f.Compare("", "=", value)):
            return expression, (value,)
        case f.ExpressionTest(expression, f.In("", values)):
            return expression, values
    return None, ()


def _make_membership(subject: Expression, values: list[f.Value]) -> f.Filter:
    """Returns the condition that a subject has one of some values."""
    distinct = tuple(dict.fromkeys(values))
    name = subject.name if isinstance(subject, FieldValue) else ""
    test = f.Compare(name, "=", distinct[0]) if len(distinct) == 1 else f.In(name, distinct)
    return test if name else f.ExpressionTest(subject, test)
