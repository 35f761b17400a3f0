"""Resolves names to fields of a source: its own field names, ECS names, and kinds of values.

A source's own field name wins. Else an ECS name (``source.ip``) stands for the fields that have it, and else a kind
(``ip``) for all fields whose values are of it. In conditions ``any`` stands for all fields of strings.
"""

from __future__ import annotations

from collections.abc import Mapping

from watchfloor.schema.errors import FilterError, UnknownFieldError
from watchfloor.schema.field import Field, FieldType
from watchfloor.schema.source import Source

ANY = "any"
"""The name that stands for all fields of strings, and of lists of strings, unless a field has it."""


def resolve_name(source: Source, name: str, text: str = "", position: int = 0) -> tuple[Field, ...]:
    """Returns the fields that a name stands for, at least one, in the order of the source's definition.

    Raises ``UnknownFieldError`` for a name that stands for nothing here; it points to ``position`` in ``text``.
    """
    found = find_fields(source, name)
    if not found and name == ANY:
        found = tuple(field for field in source.fields if field.scalar is FieldType.STRING)
        if not found:
            raise FilterError(f"source {source.name} has no field of strings, for which {ANY} stands", text, position)
    if not found:
        raise UnknownFieldError(name, source.name, source.fields_by_name, text, position, source.fields_by_meaning)
    return found


def find_fields(source: Source, name: str) -> tuple[Field, ...]:
    """Returns as ``resolve_name`` does, or nothing for a name that stands for nothing here."""
    own = source.fields_by_name.get(name)
    return source.fields_by_meaning.get(name, ()) if own is None else (own,)


def find_single_field(source: Source, name: str, text: str = "", position: int = 0) -> Field:
    """Returns the one field that a name stands for.

    Raises ``UnknownFieldError`` if it stands for none, and ``FilterError`` if it stands for several; either points to
    ``position`` in ``text``.
    """
    fields = resolve_name(source, name, text, position)
    if len(fields) > 1:
        names = ", ".join(field.name for field in fields)
        message = f"{name} stands for {len(fields)} fields of {source.name}: {names}; name one of them"
        raise FilterError(message, text, position)
    return fields[0]


def describe_meanings(meanings: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """Returns a sentence for each name that is no field's own: ``ip stands for src_ip, dst_ip``."""
    return tuple(f"{name} stands for {', '.join(fields)}" for name, fields in meanings.items())
