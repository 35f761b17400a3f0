"""Checks a definition's ``parser`` by the JSON Schema of its format, and its regular expressions by RE2."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any

import jsonschema
import pyarrow as pa
import pyarrow.compute as pc
from referencing import Registry, Resource

from watchfloor.schema.definition import describe_schema_error
from watchfloor.schema.errors import DefinitionError, suggest_names
from watchfloor.schema.source import Source

FORMATS = "watchfloor.ingest.formats"
_NONE: dict[str, Any] = {"type": "object", "properties": {"format": {}}, "additionalProperties": False}
"""The schema of a format that has no file of its own: it understands nothing but its name."""


def check_parser(source: Source, format_name: str, where: str) -> None:
    """Raises ``DefinitionError`` with the place if a source's ``parser`` says what its format does not know."""
    errors = sorted(_load_validator(format_name).iter_errors(dict(source.parser)), key=lambda e: list(map(str, e.path)))
    if errors:
        worst = jsonschema.exceptions.best_match(errors)
        place = "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in worst.absolute_path)
        raise DefinitionError(f"{where}.parser{place}: {describe_schema_error(worst)}")
    fields = source.fields_by_name
    for name, rule in source.parser.get("fields", {}).items():
        place = f"{where}.parser.fields.{name}"
        if name not in fields:
            raise DefinitionError(f"{place}: {name!r} is not among the fields{suggest_names(name, fields)}")
        if "pattern" in rule:
            _check_pattern(rule["pattern"], f"{place}.pattern")


def _check_pattern(pattern: str, where: str) -> None:
    try:
        pc.extract_regex(pa.array([""]), pattern)
    except pa.ArrowInvalid as error:
        raise DefinitionError(f"{where}: {pattern!r} is no regular expression that RE2 takes: {error}") from None


@cache
def _load_validator(format_name: str) -> jsonschema.Draft202012Validator:
    shared = Resource.from_contents(json.loads((files(__package__) / "mapping.schema.json").read_text("utf-8")))
    path = files(FORMATS) / format_name / "parser.schema.json"
    schema = json.loads(path.read_text("utf-8")) if path.is_file() else _NONE
    return jsonschema.Draft202012Validator(schema, registry=Registry().with_resource("watchfloor:mapping", shared))
