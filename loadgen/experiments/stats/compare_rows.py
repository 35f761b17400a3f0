"""Compares the answers of engines: the same groups, and the same values, or values within the bounds of sketches."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from watchfloor.query.stats.sketches import DISTINCT_ERROR, EXACT_VALUES, RANK_ERROR
from watchfloor.schema.errors import InternalError

from .questions import AnswerKind, StatsQuestion

ALLOWED_DISTINCT = 2 * DISTINCT_ERROR
"""The relative error of a number of distinct values that is allowed: four standard errors."""
ALLOWED_RANK = 2 * RANK_ERROR
"""The error of a quantile's rank that is allowed, as a share: twice that of 99 of 100 cases."""
_SHOWN = 5

Rows = Sequence[Sequence[Any]]


def compare_rows(question: StatsQuestion, answers: Mapping[str, Rows], bounds: Rows) -> None:
    """Raises ``InternalError`` with the first differences of answers, by engine, from that of the last engine.

    The answers of quantiles are compared with ``bounds`` instead, and only in their groups if there are none.
    """
    *_, reference = answers
    wanted = _group_rows(question, answers[reference])
    if question.kind is AnswerKind.VALUES:
        _compare_values(question, answers, list(wanted.values()))
        return
    limits = {_read_key(row[: question.keys]): row[question.keys :] for row in bounds}
    if limits and limits.keys() != wanted.keys():
        raise InternalError(f"{question.name}: the bounds have other groups than {reference}")
    for engine, rows in answers.items():
        found = _group_rows(question, rows)
        differences = [
            *(f"{key} is missing" for key in wanted.keys() - found.keys()),
            *(f"{key} is surplus" for key in found.keys() - wanted.keys()),
            *(
                f"{key} has {found[key]}, not {limits.get(key) or values}"
                for key, values in wanted.items()
                if key in found and not _agree(question.kind, found[key], values, limits.get(key))
            ),
        ]
        if not differences and question.in_order and list(found) != list(wanted):
            differences = [f"the order is {list(found)}, not {list(wanted)}"]
        if differences:
            some = "; ".join(differences[:_SHOWN])
            raise InternalError(
                f"{question.name}: {engine} and {reference} differ in {len(differences)} groups: {some}"
            )


def _compare_values(question: StatsQuestion, answers: Mapping[str, Rows], wanted: list[list[Any]]) -> None:
    """Raises ``InternalError`` unless all answers have these values in this order, whatever their groups."""
    for engine, rows in answers.items():
        found = list(_group_rows(question, rows).values())
        if found != wanted:
            raise InternalError(f"{question.name}: {engine} has the values {found}, not {wanted}")


def _group_rows(question: StatsQuestion, rows: Rows) -> dict[tuple[Any, ...], list[Any]]:
    grouped = {_read_key(row[: question.keys]): [_read_value(v) for v in row[question.keys :]] for row in rows}
    if len(grouped) < len(rows):
        raise InternalError(f"{question.name}: an answer of {len(rows)} rows has {len(grouped)} groups")
    return grouped


def _read_key(values: Sequence[Any]) -> tuple[Any, ...]:
    """Returns the key of a group. A missing string is an empty one, and a time is in seconds since 1970 UTC."""
    return tuple(map(_read_value, values))


def _read_value(value: Any) -> Any:
    match value:
        case None:
            return ""
        case bytes():
            return value.decode()
        case Decimal():
            return int(value)
        case datetime():
            return int(value.replace(tzinfo=value.tzinfo or UTC).timestamp())
        case str() if value.endswith("Z") and value[10:11] == "T":  # a time in JSON
            return int(datetime.fromisoformat(value).timestamp())
    return value


def _agree(kind: AnswerKind, found: Sequence[Any], wanted: Sequence[Any], limits: Sequence[Any] | None) -> bool:
    if kind is AnswerKind.QUANTILE:
        return limits is None or limits[0] <= found[-1] <= limits[1]
    if kind is AnswerKind.DISTINCT and wanted[-1] > EXACT_VALUES:
        return abs(found[-1] - wanted[-1]) <= ALLOWED_DISTINCT * wanted[-1]
    return all(
        math.isclose(a, b, rel_tol=1e-9) if isinstance(a, float) and isinstance(b, float) else a == b
        for a, b in zip(found, wanted, strict=True)
    )
