"""Source definitions: what a source's events look like, read from JSON and checked by a JSON Schema."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import Enum
from functools import cache, cached_property
from importlib.resources import files
from typing import Any

import jsonschema
import pyarrow as pa

from .errors import DefinitionError, UnknownFieldError
from .times import format_moment, from_micros, to_micros


class FieldType(Enum):
    """The types of a field. Their bytes in the store sort as the values do (``watchfloor.store.encoding.values``)."""

    STRING = "string"
    INT = "int"
    FLOAT = "float"
    BOOL = "bool"
    TIME = "time"
    IP = "ip"
    PORT = "port"
    LIST = "list"


# An event in memory is a row of an Arrow record batch with these column types. Addresses are text in their
# normal form (RFC 5952): it is what people read, and each distinct one is parsed once.
ARROW_TYPES: Mapping[FieldType, pa.DataType] = {
    FieldType.STRING: pa.string(),
    FieldType.INT: pa.int64(),
    FieldType.FLOAT: pa.float64(),
    FieldType.BOOL: pa.bool_(),
    FieldType.TIME: pa.timestamp("us", tz="UTC"),
    FieldType.IP: pa.string(),
    FieldType.PORT: pa.uint16(),
}


@dataclass(frozen=True)
class Field:
    """One field of a source. ``items`` is the element type of a list and None otherwise.

    ``reversed``: an indexed field of strings whose values stand in the index a second time, their bytes in reverse
    order, so that those with a common ending stand together.

    ``indexed_from``, ``reversed_from``: the index, and that of reversed values, has the values of all events of this
    time (µs since 1970 UTC) and later. Of older ones it may lack them, where a field was indexed when there were
    events already.
    """

    name: str
    type: FieldType
    indexed: bool = False
    visibility: str = ""
    items: FieldType | None = None
    reversed: bool = False
    indexed_from: int = 0
    reversed_from: int = 0

    def covers(self, since: int | None, reversed: bool = False) -> bool:
        """Whether the index has the values of all events at ``since`` (µs; None is the first event) and later.

        ``reversed``: the index of reversed values.
        """
        first, known = (self.reversed_from, self.reversed) if reversed else (self.indexed_from, self.indexed)
        return known and first <= (0 if since is None else since)

    @property
    def is_list(self) -> bool:
        return self.type is FieldType.LIST

    @property
    def scalar(self) -> FieldType:
        """The type that one value has: the element type of a list, else the type itself."""
        return self.items if self.items is not None else self.type

    @property
    def arrow(self) -> pa.DataType:
        scalar = ARROW_TYPES[self.scalar]
        return pa.list_(scalar) if self.is_list else scalar

    @property
    def type_name(self) -> str:
        return f"list of {self.scalar.value}" if self.is_list else self.type.value


@dataclass(frozen=True)
class Source:
    """A kind of event. ``definition`` is the JSON it was read from, defaults filled in.

    ``time_field`` holds the event's timestamp; it is part of the row ID and so never null, and is not among the
    stored cells. ``unknown_fields`` says what becomes of a field that the definition lacks: ``quarantine`` the line,
    or keep it as JSON text in the string field ``extra``.
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
    def by_name(self) -> Mapping[str, Field]:
        return {f.name: f for f in self.fields}

    @cached_property
    def indexed(self) -> tuple[Field, ...]:
        return tuple(f for f in self.fields if f.indexed)

    @cached_property
    def arrow_schema(self) -> pa.Schema:
        """The columns of this source's events, in the definition's order."""
        return pa.schema([pa.field(f.name, f.arrow) for f in self.fields])

    def field(self, name: str) -> Field:
        """The field of this name; raises ``UnknownFieldError`` with the nearest names."""
        try:
            return self.by_name[name]
        except KeyError:
            raise UnknownFieldError(name, self.name, self.by_name) from None

    def visibility_of(self, f: Field) -> str:
        """The label of a field's cells: its own, or the source's."""
        return f.visibility or self.visibility

    def to_json(self) -> str:
        return json.dumps(self.definition, separators=(",", ":"), ensure_ascii=False)

    def with_fields(self, extra: list[Field]) -> Source:
        """This source with further fields at its end; those it has already are left as they are."""
        new = [f for f in extra if f.name not in self.by_name]
        if not new:
            return self
        definition = dict(self.definition)
        definition["fields"] = [*definition["fields"], *(_field_json(f) for f in new)]
        return parse_definition(definition)

    def with_changed(self, changed: Mapping[str, Field]) -> Source:
        """This source with other fields in the place of those of the same names."""
        if not changed:
            return self
        fields = zip(self.fields, self.definition["fields"], strict=True)
        json_fields = [_field_json(changed[f.name]) if f.name in changed else as_is for f, as_is in fields]
        return parse_definition({**self.definition, "fields": json_fields})

    def covered_from(self, since: int | None) -> Source:
        """This source as its index is for events at ``since`` (µs; None is the first) and later: a field that was
        indexed when older ones were there already is not, to who asks for these, too."""
        changed = {
            f.name: replace(f, indexed=f.covers(since), reversed=f.covers(since) and f.covers(since, reversed=True))
            for f in self.indexed
            if not f.covers(since) or (f.reversed and not f.covers(since, reversed=True))
        }
        return replace(self, fields=tuple(changed.get(f.name, f) for f in self.fields)) if changed else self

    def with_shards(self, shards: int) -> Source:
        definition = {**self.definition, "shards": shards}
        return replace(self, shards=shards, definition=definition)

    def with_layout(self, layout: str) -> Source:
        definition = {**self.definition, "layout": layout}
        return replace(self, layout=layout, definition=definition)


EXTRA_FIELD = "extra"
DEFAULT_LAYOUT = "block"
"""How a new source that does not say it is stored."""


def parse_definition(definition: Mapping[str, Any] | str | bytes, where: str = "definition") -> Source:
    """A source from its JSON; raises ``DefinitionError`` that names the place, the trouble and the remedy."""
    if isinstance(definition, (str, bytes)):
        try:
            definition = json.loads(definition)
        except ValueError as error:
            raise DefinitionError(f"{where}: not JSON: {error}") from None
    errors = sorted(_validator().iter_errors(definition), key=lambda e: list(map(str, e.absolute_path)))
    if errors:
        worst = jsonschema.exceptions.best_match(errors)
        place = "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in worst.absolute_path)
        raise DefinitionError(f"{where}{place or ' (top level)'}: {worst.message}")
    assert isinstance(definition, Mapping)
    fields = tuple(
        Field(
            f["name"],
            FieldType(f["type"]),
            f.get("indexed", False),
            f.get("visibility", ""),
            FieldType(f.get("items", "string")) if f["type"] == "list" else None,
            f.get("reversed", False),
            _micros(f.get("indexed_from"), f"{where}.fields[{number}].indexed_from"),
            _micros(f.get("reversed_from"), f"{where}.fields[{number}].reversed_from"),
        )
        for number, f in enumerate(definition["fields"])
    )
    _check_fields(definition, fields, where)
    timestamp = definition["timestamp"]
    return Source(
        name=definition["name"],
        title=definition.get("title", definition["name"]),
        fields=fields,
        time_field=timestamp["field"],
        time_format=timestamp.get("format", "epoch"),
        parser=definition["parser"],
        visibility=definition.get("visibility", ""),
        layout=definition.get("layout", DEFAULT_LAYOUT),
        shards=definition.get("shards", 4),
        unknown_fields=definition.get("unknown_fields", "quarantine"),
        definition=definition,
    )


def builtin_definitions() -> dict[str, Source]:
    """The curated definitions that ship with Watchfloor, by name."""
    return dict(_builtin())


@cache
def _builtin() -> dict[str, Source]:
    folder = files(__package__) / "definitions"
    sources = [
        parse_definition(path.read_text("utf-8"), path.name)
        for path in sorted(folder.iterdir(), key=lambda p: p.name)
        if path.name.endswith(".json")
    ]
    return {source.name: source for source in sources}


@cache
def _validator() -> jsonschema.Draft202012Validator:
    schema = json.loads((files(__package__) / "definition.schema.json").read_text("utf-8"))
    return jsonschema.Draft202012Validator(schema)


def _check_fields(definition: Mapping[str, Any], fields: tuple[Field, ...], where: str) -> None:
    """What a JSON Schema cannot say, or not in words that help."""
    names = [f.name for f in fields]
    for name in names:
        if names.count(name) > 1:
            raise DefinitionError(f"{where}.fields: {name!r} is defined twice; remove one")
    for number, f in enumerate(fields):
        if f.reversed and f.scalar is not FieldType.STRING:
            raise DefinitionError(
                f"{where}.fields[{number}].reversed: {f.name!r} is {f.type_name}; only strings and lists of strings "
                f"have endings, so leave it out"
            )
        if f.reversed and not f.indexed:
            raise DefinitionError(f'{where}.fields[{number}].reversed: {f.name!r} is not indexed; add "indexed": true')
    time_field = definition["timestamp"]["field"]
    if time_field not in names:
        raise DefinitionError(f"{where}.timestamp.field: {time_field!r} is not among the fields; add it as a time")
    if fields[names.index(time_field)].type is not FieldType.TIME:
        raise DefinitionError(f"{where}.timestamp.field: {time_field!r} must be of type time")
    if fields[names.index(time_field)].indexed:
        raise DefinitionError(f"{where}.timestamp.field: {time_field!r} is the row's order already; it needs no index")
    if definition.get("unknown_fields") == "extra":
        extra = next((f for f in fields if f.name == EXTRA_FIELD), None)
        if extra is None or extra.type is not FieldType.STRING:
            raise DefinitionError(f"{where}.unknown_fields: 'extra' needs a string field named {EXTRA_FIELD!r}")


def _field_json(f: Field) -> dict[str, Any]:
    out: dict[str, Any] = {"name": f.name, "type": f.type.value}
    if f.items is not None:
        out["items"] = f.items.value
    if f.indexed:
        out["indexed"] = True
    if f.reversed:
        out["reversed"] = True
    if f.visibility:
        out["visibility"] = f.visibility
    if f.indexed_from:
        out["indexed_from"] = format_moment(from_micros(f.indexed_from))
    if f.reversed_from:
        out["reversed_from"] = format_moment(from_micros(f.reversed_from))
    return out


def _micros(text: str | None, where: str) -> int:
    """Returns the microseconds of a time in a definition; 0 for None. Raises ``DefinitionError`` if it is no time."""
    if text is None:
        return 0
    try:
        return to_micros(datetime.fromisoformat(text))
    except ValueError as error:
        raise DefinitionError(f"{where}: {text!r} is no time: {error}") from None
