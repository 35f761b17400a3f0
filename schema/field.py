"""Fields of a source: their types, their labels and their indexes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from functools import cached_property
from typing import Any

import pyarrow as pa

from .errors import DefinitionError
from .meaning.ecs import find_kind
from .times import format_moment, from_micros, to_micros


class FieldType(Enum):
    """The types of fields. The stored bytes of a type's values sort as the values do (``store/encoding/values.py``)."""

    STRING = "string"
    INT = "int"
    FLOAT = "float"
    BOOL = "bool"
    TIME = "time"
    IP = "ip"
    PORT = "port"
    LIST = "list"


# An event in memory is a row of an Arrow record batch with these column types. Addresses are text in their normal form
# (RFC 5952), because people read that form, and because each distinct address then has to be parsed only once.
ARROW_TYPES: Mapping[FieldType, pa.DataType] = {
    FieldType.STRING: pa.string(),
    FieldType.INT: pa.int64(),
    FieldType.FLOAT: pa.float64(),
    FieldType.BOOL: pa.bool_(),
    FieldType.TIME: pa.timestamp("us", tz="UTC"),
    FieldType.IP: pa.string(),
    FieldType.PORT: pa.uint16(),
}


class IndexKind(Enum):
    """The kinds of index that a field can have. Each kind's value is the member of a definition that turns it on.

    ``VALUES`` sorts the field's values. ``REVERSED`` sorts strings by their bytes from last to first, so that strings
    with a common ending are adjacent. ``SIGHTINGS`` is the instance's table of sightings (``store/sightings``), which
    has the values of all sources; the store gives it to each indexed field with a kind. Only a field with ``VALUES``
    can have the others.
    """

    VALUES = "indexed"
    REVERSED = "reversed"
    SIGHTINGS = "sighted"


@dataclass(frozen=True)
class Index:
    """An index of a field. It has the values of all events at ``covers_from`` (µs since 1970 UTC) and later.

    It may lack the values of older events if it was added when there were events already (``schema/coverage.py``).
    """

    kind: IndexKind
    covers_from: int = 0


VALUE_INDEX, REVERSED_INDEX = Index(IndexKind.VALUES), Index(IndexKind.REVERSED)
SIGHTINGS_INDEX = Index(IndexKind.SIGHTINGS)
"""Indexes that cover all events."""


@dataclass(frozen=True)
class Field:
    """One field of a source.

    ``visibility`` is the label of the field's cells; if it is empty, the source's label applies. ``items`` is the
    element type of a list field, and None for other fields. ``ecs`` is the field's name in the Elastic Common Schema
    (``meaning/ecs.py``); it is empty if the field has none.
    """

    name: str
    type: FieldType
    indexes: tuple[Index, ...] = ()
    visibility: str = ""
    items: FieldType | None = None
    ecs: str = ""

    def find_index(self, kind: IndexKind) -> Index | None:
        """Returns the field's index of a kind; None if it has none."""
        return next((index for index in self.indexes if index.kind is kind), None)

    def is_covered(self, since: int | None, kind: IndexKind = IndexKind.VALUES) -> bool:
        """Returns True if an index has the values of all events at ``since`` (µs; None: the first event) and later."""
        index = self.find_index(kind)
        return index is not None and index.covers_from <= (0 if since is None else since)

    @cached_property
    def is_indexed(self) -> bool:
        """True if the field has an index of its values."""
        return self.find_index(IndexKind.VALUES) is not None

    @cached_property
    def is_reversed(self) -> bool:
        """True if the field has an index of reversed values."""
        return self.find_index(IndexKind.REVERSED) is not None

    @cached_property
    def is_sighted(self) -> bool:
        """True if the field's values are in the table of sightings."""
        return self.find_index(IndexKind.SIGHTINGS) is not None

    @property
    def is_list(self) -> bool:
        return self.type is FieldType.LIST

    @property
    def scalar(self) -> FieldType:
        """The type of one value: the element type of a list, else the field's type."""
        return self.items if self.items is not None else self.type

    @property
    def kind(self) -> str:
        """The kind of the field's values (``ip``, ``user``, …) by its ECS name; empty if they are of no kind."""
        return find_kind(self.ecs) or ""

    @property
    def arrow(self) -> pa.DataType:
        """The type of the field's column in a record batch."""
        scalar = ARROW_TYPES[self.scalar]
        return pa.list_(scalar) if self.is_list else scalar

    @property
    def type_name(self) -> str:
        """The type in words: ``int``, ``list of string``."""
        return f"list of {self.scalar.value}" if self.is_list else self.type.value

    def to_json(self) -> dict[str, Any]:
        """Returns the field as a definition has it; ``read_field`` reads it back."""
        out: dict[str, Any] = {"name": self.name, "type": self.type.value}
        if self.items is not None:
            out["items"] = self.items.value
        out |= {index.kind.value: True for index in self.indexes}
        if self.visibility:
            out["visibility"] = self.visibility
        if self.ecs:
            out["ecs"] = self.ecs
        return out | {
            f"{index.kind.value}_from": format_moment(from_micros(index.covers_from))
            for index in self.indexes
            if index.covers_from
        }


def read_field(form: Mapping[str, Any], where: str) -> Field:
    """Returns the field that ``form`` describes, a member of a definition that fits the JSON Schema already.

    ``where`` is the member's place in the definition, for errors. Raises ``DefinitionError`` for a time that cannot be
    read.
    """
    indexes = tuple(
        Index(kind, _read_time(form.get(f"{kind.value}_from"), f"{where}.{kind.value}_from"))
        for kind in IndexKind
        if form.get(kind.value, False)
    )
    items = FieldType(form.get("items", "string")) if form["type"] == "list" else None
    return Field(form["name"], FieldType(form["type"]), indexes, form.get("visibility", ""), items, form.get("ecs", ""))


def _read_time(text: str | None, where: str) -> int:
    """Returns the microseconds of a time in ISO 8601; 0 for None."""
    if text is None:
        return 0
    try:
        return to_micros(datetime.fromisoformat(text))
    except ValueError as error:
        raise DefinitionError(f"{where}: {text!r} is no time: {error}") from None
