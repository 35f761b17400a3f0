"""A definition's rule for one field (``parser.fields``): the raw columns of its value, and their changes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from watchfloor.schema.definition import EXTRA_FIELD
from watchfloor.schema.field import Field, FieldType
from watchfloor.schema.source import Source

ABSENT = ("", "-")
"""Texts that mean that there is no value, where a definition names none."""
_TRUTH = {"true": "T", "false": "F", "True": "T", "False": "F"}
"""What bool fields make of texts, where a definition says nothing else."""


@dataclass(frozen=True)
class FieldRule:
    """The rule for the field ``name``; its members are those of ``mapping.schema.json``.

    ``origins`` are raw names: of them the first that has a value counts, or with ``join`` all make one text. A text in
    ``absent`` is no value.
    """

    name: str
    origins: tuple[str, ...]
    absent: frozenset[str]
    join: str | None = None
    constant: str | None = None
    pattern: str | None = None
    convert: tuple[str, ...] = ()
    scale: float | None = None
    values: Mapping[str, str] = field(default_factory=dict)
    split: str | None = None
    formats: tuple[str, ...] = ()
    is_optional: bool = False


def read_rules(source: Source) -> list[FieldRule]:
    """Returns a rule for each field of a source except the one for unknown fields."""
    parser = source.parser
    told: Mapping[str, Mapping[str, Any]] = parser.get("fields", {})
    absent = parser.get("absent", ABSENT)
    return [
        _read_rule(f, told.get(f.name, {}), absent)
        for f in source.fields
        if f.name != EXTRA_FIELD or source.unknown_fields != "extra"
    ]


def find_rule(source: Source, name: str) -> FieldRule:
    """Returns the rule for one field."""
    return next(rule for rule in read_rules(source) if rule.name == name)


def _read_rule(of: Field, told: Mapping[str, Any], absent: tuple[str, ...]) -> FieldRule:
    origins = told.get("from", of.name)
    return FieldRule(
        name=of.name,
        origins=() if "constant" in told else (origins,) if isinstance(origins, str) else tuple(origins),
        absent=frozenset(told.get("absent", absent)),
        join=told.get("join"),
        constant=told.get("constant"),
        pattern=told.get("pattern"),
        convert=tuple(told.get("convert", ())),
        scale=told.get("scale"),
        values=told.get("values", _TRUTH if of.scalar is FieldType.BOOL else {}),
        split=told.get("split"),
        formats=tuple(told.get("format", ())),
        is_optional=told.get("optional", False),
    )
