"""Chooses the fields that are indexed, by the kinds of their values and by how many values there are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from watchfloor.schema.field import Field, FieldType
from watchfloor.schema.text import format_number

MOST_INDEXED = 9
"""An index entry is written for each value: more fields would cost more than the events themselves."""
_FEW_VALUES = 100
_LONG_TEXT = 80
_SAME_AGAIN, _OWN_VALUE = 0.5, 0.9


@dataclass(frozen=True)
class IndexAdvice:
    """The reason for an index or against it. The fields of the lowest ``rank`` are indexed first; None: never."""

    rank: int | None
    reason: str


def choose_indexed(fields: Sequence[Field], values: Mapping[str, Sequence[Any]]) -> dict[str, IndexAdvice]:
    """Returns the advice for each field by its values in a sample. Those with a rank are to be indexed."""
    advice = {field.name: advise(field, values.get(field.name, ())) for field in fields}
    ranked = sorted((name for name in advice if advice[name].rank is not None), key=lambda name: advice[name].rank or 0)
    for name in ranked[MOST_INDEXED:]:
        others = f"{advice[name].reason}, but {MOST_INDEXED} other fields come first"
        advice[name] = IndexAdvice(None, others)
    return advice


def advise(field: Field, values: Sequence[Any]) -> IndexAdvice:
    """Returns the advice for one field."""
    flat = [item for value in values for item in value] if field.is_list else list(values)
    count, distinct = len(flat), len(set(flat))
    shown = f"{format_number(distinct, 'value')} in {count:,}"
    if field.scalar in (FieldType.FLOAT, FieldType.BOOL, FieldType.TIME):
        return IndexAdvice(None, f"a {field.scalar.value}: filters read it from the events")
    if field.kind:
        return IndexAdvice(0, f"kind {field.kind}, {shown}")
    if field.scalar is FieldType.IP:
        return IndexAdvice(0, f"addresses, {shown}")
    if field.scalar is FieldType.PORT:
        return IndexAdvice(3, f"ports, {shown}")
    if distinct <= 1:
        return IndexAdvice(None, "the same value in all events" if distinct else "no value in the sample")
    if field.scalar is FieldType.INT:
        few = distinct <= _FEW_VALUES and distinct <= _SAME_AGAIN * count
        return IndexAdvice(4, f"few values: {shown}") if few else IndexAdvice(None, f"a measure: {shown}")
    if sum(map(len, flat)) > _LONG_TEXT * count:
        return IndexAdvice(None, "long text: patterns read it from the events")
    if distinct <= _FEW_VALUES and distinct <= _SAME_AGAIN * count:
        return IndexAdvice(1, f"few values: {shown}")
    if distinct >= _OWN_VALUE * count and any(" " in text for text in flat):
        return IndexAdvice(None, f"free text: {shown}")
    return IndexAdvice(2, shown)
