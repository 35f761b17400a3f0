"""Converts rules of tests and evaluates them on events, by the filter that they become and by the oracle."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

import pyarrow as pa
from sigma_oracle import rule_holds

from watchfloor.schema.definition import parse_definition
from watchfloor.schema.field import FieldType
from watchfloor.schema.filter.sigma.convert import ConvertedRule, SourceFilter, convert_rule
from watchfloor.schema.filter.sigma.field_names import find_meant_fields, keeps_unknown
from watchfloor.schema.filter.sigma.log_sources import MeantSource
from watchfloor.schema.filter.sigma.rule_file import ParsedRule, UnreadRule, parse_rules
from watchfloor.schema.source import Source
from watchfloor.schema.stats.having import find_rows


def make_source(name: str = "zeek.made", unknown_fields: str = "quarantine", **kinds: str) -> Source:
    """Returns a source with fields of these types; a type may be ``list of X``."""
    fields: list[dict[str, Any]] = [{"name": "ts", "type": "time"}]
    for field, kind in kinds.items():
        told = {"type": "list", "items": kind[8:]} if kind.startswith("list of ") else {"type": kind}
        fields.append({"name": field, **told})
    return parse_definition(
        {
            "name": name,
            "parser": {"format": "json"},
            "timestamp": {"field": "ts"},
            "unknown_fields": unknown_fields,
            "fields": fields,
        }
    )


def make_rule(condition: str = "sel", service: str = "made", **searches: Any) -> dict[str, Any]:
    """Returns a rule over the source ``zeek.made``."""
    return {
        "title": "A rule of a test",
        "id": "6f1c2b9e-9a55-4a7e-8a53-c2a7e8b7d0c1",
        "level": "high",
        "logsource": {"product": "zeek", "service": service},
        "detection": {**searches, "condition": condition},
    }


def convert(rule: Mapping[str, Any], *sources: Source) -> ConvertedRule:
    """Returns a rule as filters; JSON is YAML."""
    (entry,) = parse_rules(json.dumps(rule).encode(), "rule.yml")
    assert not isinstance(entry, UnreadRule), entry.reason
    assert isinstance(entry, ParsedRule)
    return convert_rule(entry, {source.name: source for source in sources})


def list_matches(one: SourceFilter, table: pa.Table) -> list[int]:
    """Returns the numbers of the rows for which the filter holds."""
    if one.tree is None:
        return list(range(len(table)))
    types: dict[str, FieldType] = one.source.scalar_types
    return [int(row) for row in find_rows(table, one.tree, types).nonzero()[0]]


def list_expected(detection: Mapping[str, Any], meant: MeantSource, rows: Sequence[Mapping[str, Any]]) -> list[int]:
    """Returns the numbers of the rows that match by the oracle."""
    strings = [field.name for field in meant.source.fields if field.scalar is FieldType.STRING]
    matching = []
    for number, row in enumerate(rows):

        def find(name: str, row: Mapping[str, Any] = row) -> list[Any]:
            if name == "c-uri-extension" and not find_meant_fields(meant, name):
                return [end for url in find("c-uri") if (end := read_extension(url))]
            if keeps_unknown(meant, name) and not find_meant_fields(meant, name):
                return list_values(json.loads(row["extra"] or "{}").get(name))
            return [value for field in find_meant_fields(meant, name) for value in list_values(row[field.name])]

        texts = [text for name in strings for text in list_values(row[name])]
        if rule_holds(detection, find, texts):
            matching.append(number)
    return matching


def read_extension(url: str) -> str:
    """Returns the ending of the last part of a URL's path, if it has one."""
    name = urlsplit(url).path.rpartition("/")[2]
    return name.rpartition(".")[2] if "." in name else ""


def list_values(value: Any) -> list[Any]:
    """Returns the values of a field of an event."""
    return [one for one in (value if isinstance(value, list) else [value]) if one is not None]
