"""A source: a kind of event, with its fields, as a definition describes it (``schema/definition.py``)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Generic, TypeVar

import pyarrow as pa

from .errors import UnknownFieldError
from .field import Field, FieldType

T = TypeVar("T")
_RULES = ("title", "parser", "unknown_fields")
"""The members of a definition that hold for what is read from now on, and not for stored events."""


@dataclass(frozen=True)
class Source:
    """A kind of event. ``definition`` is its definition as JSON, which always agrees with the attributes.

    ``time_field`` is the name of the field with the event's timestamp. The timestamp is part of the row ID, so it is
    never null, and it has no cell of its own. ``visibility`` is the label of the cells of fields that have none of
    their own. ``unknown_fields`` decides about a line with a field that the definition lacks:
    ``quarantine`` puts the line aside, ``extra`` keeps the field as JSON text in the string field ``extra``.
    """

    name: str
    title: str
    fields: tuple[Field, ...]
    time_field: str
    time_format: str
    parser: Mapping[str, Any]
    visibility: str
    layout: str
    shards: int
    unknown_fields: str
    definition: Mapping[str, Any] = field(repr=False, compare=False)

    @cached_property
    def fields_by_name(self) -> Mapping[str, Field]:
        return {f.name: f for f in self.fields}

    @cached_property
    def scalar_types(self) -> Mapping[str, FieldType]:
        """The type of a value of each field, by the field's name; a list has those of its elements."""
        return {f.name: f.scalar for f in self.fields}

    @cached_property
    def indexed_fields(self) -> tuple[Field, ...]:
        return tuple(f for f in self.fields if f.is_indexed)

    @cached_property
    def fields_by_meaning(self) -> Mapping[str, tuple[Field, ...]]:
        """The fields of each ECS name and of each kind that the source has, in the definition's order."""
        found: dict[str, list[Field]] = {}
        for f in self.fields:
            for meaning in filter(None, (f.ecs, f.kind)):
                found.setdefault(meaning, []).append(f)
        return {meaning: tuple(fields) for meaning, fields in found.items()}

    @cached_property
    def arrow_schema(self) -> pa.Schema:
        """The columns of this source's events, in the definition's order."""
        return pa.schema([pa.field(f.name, f.arrow) for f in self.fields])

    def find_field(self, name: str) -> Field:
        """Returns the field of this name; raises ``UnknownFieldError`` with the nearest names."""
        try:
            return self.fields_by_name[name]
        except KeyError:
            raise UnknownFieldError(name, self.name, self.fields_by_name) from None

    def visibility_of(self, f: Field) -> str:
        """Returns the visibility label of a field's cells: the field's own, or else the source's."""
        return f.visibility or self.visibility

    def to_json(self) -> str:
        """Returns the definition as one line of JSON."""
        return json.dumps(self.definition, separators=(",", ":"), ensure_ascii=False)

    def append_fields(self, fields: Sequence[Field]) -> Source:
        """Returns this source with further fields at its end; fields whose names it has already are ignored."""
        new = [f for f in fields if f.name not in self.fields_by_name]
        return self._derive((*self.fields, *new)) if new else self

    def adopt_ecs_names(self, fields: Sequence[Field], replaced: bool = False) -> Source:
        """Returns this source with the ECS names of ``fields`` where it has none, or with ``replaced`` in any case.

        Ignores fields that this source lacks or has with another type, and those without an ECS name.
        """
        changed: dict[str, Field] = {}
        for f in fields:
            known = self.fields_by_name.get(f.name)
            if known is None or (known.type, known.items) != (f.type, f.items) or f.ecs in ("", known.ecs):
                continue
            if replaced or not known.ecs:
                changed[f.name] = replace(known, ecs=f.ecs)
        return self.replace_fields(changed)

    def replace_rules(self, other: Source) -> Source:
        """Returns this source with another one's title and rules for reading lines."""
        kept = {name: value for name, value in self.definition.items() if name not in _RULES}
        told = {name: other.definition[name] for name in _RULES if name in other.definition}
        return replace(
            self,
            title=other.title,
            parser=other.parser,
            unknown_fields=other.unknown_fields,
            definition={**kept, **told},
        )

    def keep_fields(self, fields: Sequence[Field]) -> Source:
        """Returns this source with only these ones of its fields."""
        return self if len(fields) == len(self.fields) else self._derive(fields)

    def replace_fields(self, changed: Mapping[str, Field]) -> Source:
        """Returns this source with the fields in ``changed``, by name, in the place of its own."""
        return self._derive([changed.get(f.name, f) for f in self.fields]) if changed else self

    def restrict_indexes(self, since: int | None) -> Source:
        """Returns this source with only the indexes that cover all events at ``since`` and later (µs; None: the first).

        A query that reaches further back than an index covers must not use the index.
        """
        changed = {
            f.name: replace(f, indexes=tuple(index for index in f.indexes if f.is_covered(since, index.kind)))
            for f in self.indexed_fields
            if not all(f.is_covered(since, index.kind) for index in f.indexes)
        }
        # An index of reversed values is used only beside the index of the values.
        changed |= {name: replace(f, indexes=()) for name, f in changed.items() if not f.is_indexed}
        return self.replace_fields(changed)

    def replace_shards(self, shards: int) -> Source:
        """Returns this source with another number of shards."""
        return replace(self, shards=shards, definition={**self.definition, "shards": shards})

    def replace_layout(self, layout: str) -> Source:
        """Returns this source in another layout."""
        return replace(self, layout=layout, definition={**self.definition, "layout": layout})

    def _derive(self, fields: Sequence[Field]) -> Source:
        """Returns this source with other fields; its definition keeps the JSON of unchanged fields."""
        as_written = dict(zip(self.fields, self.definition["fields"], strict=True))
        written = [as_written[f] if f in as_written else f.to_json() for f in fields]
        return replace(self, fields=tuple(fields), definition={**self.definition, "fields": written})


class Same(Generic[T]):
    """A value, such as a source, as a key of what is remembered of it.

    Only the same object equals it: comparing all of it takes longer than what is remembered.
    """

    def __init__(self, value: T) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and other.value is self.value

    def __hash__(self) -> int:
        return id(self.value)
