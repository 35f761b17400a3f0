"""The source of each channel of Windows events: a known one that names the channel, or one like those that ship."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib.resources import files
from typing import Any

import orjson

from watchfloor.ingest.formats.json.json_columns import RecordColumns
from watchfloor.ingest.formats.json.json_values import Record
from watchfloor.schema.definition import EXTRA_FIELD, builtin_definitions, parse_definition
from watchfloor.schema.field import FieldType
from watchfloor.schema.source import Source

from .names import TIME_FIELD, rename_path

FAMILY = "windows"
_MODEL = f"{FAMILY}.application"
"""The source that ships whose first fields, up to ``_LAST_SHARED``, all Windows events have."""
_LAST_SHARED = "Message"
_MOST_FIELDS, _MOST_INDEXED = 500, 9
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,199}")
_ABSENT = ["", "-", "(NULL)"]


def name_source(channel: str) -> str:
    """Returns the name of a channel's source: ``windows.bits_client`` for Microsoft-Windows-Bits-Client/Operational."""
    short = channel.lower().removeprefix("microsoft-windows-").removesuffix("/operational")
    part = re.sub(r"[^a-z0-9]+", "_", short).strip("_")
    return f"{FAMILY}.{part or 'unnamed'}"[:100]


def write_channels(sources: Iterable[Source]) -> bytes:
    """Returns the names of the sources that name their channels, by channel in small letters, as JSON."""
    told = {
        channel.lower(): source.name
        for source in sources
        if source.parser["format"] == FAMILY
        for channel in source.parser.get("channels", ())
    }
    return orjson.dumps(told)


def add_rules(source: Source) -> Source:
    """Returns a source with the rules that hold for all Windows events, where its definition says nothing else.

    Integers may be written as 0x1f4, as Windows writes the numbers of processes.
    """
    numbers = {f.name: {"convert": ["number"]} for f in source.fields if f.scalar is FieldType.INT}
    named = {name: rule for name, rule in _load_rules().items() if name in source.fields_by_name}
    fields = {**numbers, **named, **source.parser.get("fields", {})}
    return replace(source, parser={"absent": _ABSENT, **source.parser, "fields": fields})


def bare_source(name: str, channel: str) -> Source:
    """Returns a source with the fields that all Windows events have."""
    return _make_source(name, channel, [], {})


def channel_source(name: str, channel: str, records: Sequence[Record]) -> Source:
    """Returns the source of a channel, with the data of its first events as fields.

    A field that a source that ships has, has the same type and meaning here. Others are strings.
    """
    gathered = RecordColumns({}, (), rename_path)
    gathered.gather(records)
    known, rules = _load_known()
    model = bare_source(name, channel)
    taken = {f.name for f in model.fields}
    room = _MOST_INDEXED - len(model.indexed_fields)
    fields: list[dict[str, Any]] = []
    for found in gathered.scalar_names[:_MOST_FIELDS]:
        if found in taken or not _NAME.fullmatch(found) or found.startswith(("winlog.", "Event.", "event.", "host.")):
            continue
        told = dict(known.get(found, {"name": found, "type": "string"}))
        if told.pop("indexed", False) and room:
            told["indexed"] = True
            room -= 1
        fields.append(told)
    return _make_source(name, channel, fields, {f["name"]: rules[f["name"]] for f in fields if f["name"] in rules})


def _make_source(name: str, channel: str, fields: list[dict[str, Any]], rules: Mapping[str, Any]) -> Source:
    model = builtin_definitions()[_MODEL].definition["fields"]
    shared = model[: [f["name"] for f in model].index(_LAST_SHARED) + 1]
    return parse_definition(
        {
            "name": name,
            "title": f"Windows events: {channel[:100]}",
            "parser": {"format": FAMILY, "channels": [channel], **({"fields": rules} if rules else {})},
            "timestamp": {"field": TIME_FIELD, "format": "iso8601"},
            "unknown_fields": "extra",
            "fields": [*shared, *fields, {"name": EXTRA_FIELD, "type": "string"}],
        },
        f"the fields of the Windows channel {channel[:100]!r}",
    )


@cache
def _load_known() -> tuple[dict[str, dict[str, Any]], dict[str, Any]]:
    """Returns the fields of all Windows sources that ship, by name, and their rules.

    Of several fields of one name the first counts, or the first with an ECS name.
    """
    fields: dict[str, dict[str, Any]] = {}
    rules: dict[str, Any] = {}
    for name, source in builtin_definitions().items():
        if name.startswith(f"{FAMILY}."):
            for told in source.definition["fields"]:
                known = fields.get(told["name"])
                if known is None or ("ecs" in told and "ecs" not in known):
                    fields[told["name"]] = told
                    rules.pop(told["name"], None)
                    if (rule := source.parser.get("fields", {}).get(told["name"])) is not None:
                        rules[told["name"]] = rule
    return fields, rules


@cache
def _load_rules() -> dict[str, Any]:
    rules: dict[str, Any] = json.loads((files(__package__) / "rules.json").read_text("utf-8"))
    return rules
