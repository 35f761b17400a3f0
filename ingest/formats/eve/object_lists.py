"""Finds the members of objects in lists, for fields such as ``dns.answers.rdata``, which has that of each answer.

The lists themselves are kept in ``extra``, which tells which members belong together, and has those of other types too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from watchfloor.ingest.columns.scalars import INT64_MAX, INT64_MIN
from watchfloor.ingest.formats.json.json_values import Record
from watchfloor.schema.field import FieldType
from watchfloor.schema.source import Source

_KINDS: dict[FieldType, type] = {FieldType.STRING: str, FieldType.INT: int}
"""The types of fields that are filled, and those of their values."""


@dataclass(frozen=True)
class _Member:
    path: tuple[str, ...]
    name: str
    kind: type


class ObjectLists:
    """The list fields of a source that members of objects in lists may fill."""

    def __init__(self, source: Source) -> None:
        self._places: dict[tuple[str, ...], list[_Member]] = {}
        for field in source.fields:
            parts, kind = tuple(field.name.split(".")), _KINDS.get(field.scalar)
            if field.is_list and kind is not None:
                for split in range(1, len(parts)):
                    self._places.setdefault(parts[:split], []).append(_Member(parts[split:], field.name, kind))

    def find_members(self, record: Record) -> Record:
        """Returns the members of the objects in the record's lists by the names of their fields."""
        found: Record = {}
        for place, members in self._places.items():
            objects = _look_up(record, place)
            if not isinstance(objects, list):
                continue
            for member in members:
                values = (value for item in objects for value in _values_at(item, member.path))
                if fitting := [value for value in values if _is_of_kind(value, member.kind)]:
                    found[member.name] = fitting
        return found


def _look_up(value: Any, path: tuple[str, ...]) -> Any:
    """Returns what stands at a path of keys; None if there is nothing."""
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _is_of_kind(value: Any, kind: type) -> bool:
    if type(value) is int:
        return kind is int and INT64_MIN <= value <= INT64_MAX
    return type(value) is kind


def _values_at(item: Any, path: tuple[str, ...]) -> Iterator[Any]:
    """Yields the value at a path of keys, or each of its elements if it is a list."""
    value = _look_up(item, path)
    if isinstance(value, list):
        yield from value
    else:
        yield value
