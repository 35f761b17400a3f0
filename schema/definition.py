"""Reads source definitions: checks their JSON by a JSON Schema, and loads those that ship with Watchfloor."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

import jsonschema

from .errors import DefinitionError, UnknownSourceError, suggest_names
from .field import Field, FieldType, read_field
from .meaning.ecs import ECS_NAMES, ECS_VERSION, KINDS, can_have_type, is_ecs_name
from .source import Source
from .text import shorten, shorten_value

EXTRA_FIELD = "extra"
"""The name of the field that keeps unknown fields, if the definition's ``unknown_fields`` is ``extra``."""
DEFAULT_LAYOUT = "block"
"""The layout of a new source whose definition does not name one."""


def parse_definition(definition: Mapping[str, Any] | str | bytes, where: str = "definition") -> Source:
    """Returns the source that a definition describes.

    ``where`` is the definition's name in errors. Raises ``DefinitionError``, which names the place and the fault.
    """
    if isinstance(definition, (str, bytes)):
        try:
            definition = json.loads(definition)
        except ValueError as error:
            raise DefinitionError(f"{where}: not JSON: {error}") from None
    errors = sorted(_load_validator().iter_errors(definition), key=lambda e: list(map(str, e.absolute_path)))
    if errors:
        worst = jsonschema.exceptions.best_match(errors)
        place = "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in worst.absolute_path)
        raise DefinitionError(f"{where}{place or ' (top level)'}: {describe_schema_error(worst)}")
    assert isinstance(definition, Mapping)
    return _make_source(definition, where)


def _make_source(definition: Mapping[str, Any], where: str) -> Source:
    """Returns the source of a definition that the JSON Schema accepts."""
    fields = tuple(read_field(f, f"{where}.fields[{number}]") for number, f in enumerate(definition["fields"]))
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


def describe_schema_error(error: jsonschema.ValidationError) -> str:
    """Returns the message of a JSON Schema's error, with the value that it quotes shortened."""
    quoted = repr(error.instance)
    if error.message.startswith(quoted):
        return f"{shorten_value(error.instance, 200)}{error.message[len(quoted) :]}"
    return shorten(error.message, 400)


def add_fields(source: Source, fields: Sequence[Field]) -> Source:
    """Returns a source with further fields at its end, and with the ECS names of ``fields`` where it has none.

    Raises ``DefinitionError`` if the fields do not fit the source.
    """
    wider = source.append_fields(fields).adopt_ecs_names(fields)
    return source if wider is source else parse_definition(wider.definition)


def builtin_definitions() -> dict[str, Source]:
    """Returns the sources whose definitions ship with Watchfloor (``schema/definitions``), by name."""
    return dict(_load_builtin())


def find_builtin(name: str) -> Source:
    """Returns the source of a name whose definition ships. Raises ``UnknownSourceError`` if there is none."""
    shipped = _load_builtin()
    if name not in shipped:
        raise UnknownSourceError(name, shipped)
    return shipped[name]


@cache
def _load_builtin() -> dict[str, Source]:
    """Reads what ships without the JSON Schema, which a test applies to it: it would take half a second."""
    found = _list_files(files(__package__) / "definitions")
    sources = [_make_source(json.loads(path.read_text("utf-8")), path.name) for path in found]
    return {source.name: source for source in sorted(sources, key=lambda source: f"{source.name}.json")}


def _list_files(folder: Traversable) -> list[Traversable]:
    """Returns the JSON files in a folder and its subfolders."""
    found: list[Traversable] = []
    for path in folder.iterdir():
        if path.is_dir():
            found += _list_files(path)
        elif path.name.endswith(".json"):
            found.append(path)
    return found


@cache
def _load_validator() -> jsonschema.Draft202012Validator:
    schema = json.loads((files(__package__) / "definition.schema.json").read_text("utf-8"))
    return jsonschema.Draft202012Validator(schema)


def _check_fields(definition: Mapping[str, Any], fields: tuple[Field, ...], where: str) -> None:
    """Raises ``DefinitionError`` for faults that a JSON Schema cannot express, or not with a helpful message."""
    names = [f.name for f in fields]
    for name in names:
        if names.count(name) > 1:
            raise DefinitionError(f"{where}.fields: {name!r} is defined twice; remove one")
    for number, f in enumerate(fields):
        if f.is_reversed and f.scalar is not FieldType.STRING:
            raise DefinitionError(
                f"{where}.fields[{number}].reversed: {f.name!r} is {f.type_name}; only strings and lists of strings "
                f"have endings, so leave it out"
            )
        if f.is_reversed and not f.is_indexed:
            raise DefinitionError(f'{where}.fields[{number}].reversed: {f.name!r} is not indexed; add "indexed": true')
        if f.is_sighted and not f.is_indexed:
            raise DefinitionError(f'{where}.fields[{number}].sighted: {f.name!r} is not indexed; add "indexed": true')
        _check_ecs_name(f, f"{where}.fields[{number}].ecs")
    time_field = definition["timestamp"]["field"]
    if time_field not in names:
        raise DefinitionError(f"{where}.timestamp.field: {time_field!r} is not among the fields; add it as a time")
    if fields[names.index(time_field)].type is not FieldType.TIME:
        raise DefinitionError(f"{where}.timestamp.field: {time_field!r} must be of type time")
    if fields[names.index(time_field)].is_indexed:
        raise DefinitionError(f"{where}.timestamp.field: {time_field!r} is the row's order already; it needs no index")
    if definition.get("unknown_fields") == "extra":
        extra = next((f for f in fields if f.name == EXTRA_FIELD), None)
        if extra is None or extra.type is not FieldType.STRING:
            raise DefinitionError(f"{where}.unknown_fields: 'extra' needs a string field named {EXTRA_FIELD!r}")


def _check_ecs_name(f: Field, where: str) -> None:
    """Raises ``DefinitionError`` if a field's ECS name is not known, or names values that its type cannot hold."""
    if f.ecs and not is_ecs_name(f.ecs):
        raise DefinitionError(
            f"{where}: {shorten_value(f.ecs)} is no known name of ECS {ECS_VERSION}{suggest_names(f.ecs, ECS_NAMES)}"
        )
    if not can_have_type(f.ecs, f.scalar.value):
        raise DefinitionError(
            f"{where}: {f.ecs} is of kind {f.kind}, whose values are {' or '.join(KINDS[f.kind])}; "
            f"{f.name!r} is {f.type_name}"
        )
