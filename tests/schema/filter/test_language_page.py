"""Everything that the page of the filter language shows is true.

In `make test`: it needs no servers.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from watchfloor.schema.definition import parse_definition
from watchfloor.schema.errors import FilterError
from watchfloor.schema.field import FieldType
from watchfloor.schema.filter.expressions.functions import FIELD_FUNCTION, FUNCTIONS
from watchfloor.schema.filter.expressions.nodes import OPERATORS as ARITHMETIC
from watchfloor.schema.filter.json_form import OPERATORS, from_json, to_json
from watchfloor.schema.filter.names import ANY
from watchfloor.schema.filter.parse import parse_filter
from watchfloor.schema.filter.patterns import MAX_PATTERN, MAX_PATTERNS, MAX_STARS
from watchfloor.schema.filter.syntax.limits import MAX_DEPTH, MAX_LENGTH, MAX_TERMS
from watchfloor.schema.filter.type_check import read_filter, read_typed_filter
from watchfloor.schema.filter.type_tree import MAX_VALUES
from watchfloor.schema.filter.value_list import ValueList
from watchfloor.schema.source import Source
from watchfloor.schema.times import parse_time

PAGE = (Path(__file__).parents[3] / "docs/using/query-language.md").read_text("utf-8")
KEYWORDS = ("and", "or", "not", "in", "like", "startswith", "endswith", "contains", "exists")
TYPES = {
    **dict.fromkeys(("ts", "seen"), "time"), **dict.fromkeys(("orig_bytes", "resp_bytes", "status"), "int"),
    "duration": "float", "bytes": "int", "in": "int", "src": "ip", "id.orig_h": "ip", "tags": "list",
    **dict.fromkeys(("method", "uri", "user", "domain", "agent", "host", "@version", "owner", "sni"), "string"),
}  # fmt: skip
SOURCE = parse_definition(
    {
        "name": "zeek.http",
        "parser": {"format": "json"},
        "timestamp": {"field": "ts"},
        "fields": [{"name": name, "type": kind} for name, kind in TYPES.items()],
    }
)


def tables() -> dict[str, list[list[str]]]:
    """By the last title of their heads, the rows of the page's tables."""
    found: dict[str, list[list[str]]] = {}
    for table in re.findall(r"(?:^\|.*\n)+", PAGE, re.MULTILINE):
        head, _, *rows = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in table.splitlines()]
        found.setdefault(head[-1], []).extend(rows)
    return found


def examples() -> list[str]:
    blocks = re.findall(r"```filter\n(.*?)```", PAGE, re.DOTALL)
    return [line for block in blocks for line in block.splitlines()] + [
        row[-1].strip("`").replace("\\|", "|") for row in tables()["example"]
    ]


class Shown:
    """A catalog with the one source, and a list of any name."""

    def find_list(self, name: str) -> ValueList:
        return ValueList(name, 1, FieldType.IP, 1, None)

    def find_source(self, name: str) -> Source:
        assert name == SOURCE.name
        return SOURCE


@pytest.mark.parametrize("text", examples())
def test_examples_fit_a_source(text: str) -> None:
    assert read_typed_filter(text, SOURCE, catalog=Shown()) is not None


def test_every_form_has_an_example() -> None:
    shown = " ".join(examples())
    assert len(examples()) >= 28
    for word in (*OPERATORS, *ARITHMETIC, *KEYWORDS, ANY):
        assert f" {word} " in f" {shown} ", word
    for function in (*FUNCTIONS, FIELD_FUNCTION):
        assert f"{function}(" in shown, function
    assert f"`{' '.join(KEYWORDS)}`" in PAGE
    assert {kind.value for kind in FieldType} <= set(re.findall(r"\w+", PAGE))


def test_limits_are_those_of_the_code() -> None:
    limits = (MAX_LENGTH, MAX_DEPTH, MAX_TERMS, MAX_PATTERN, MAX_PATTERNS, MAX_STARS, MAX_VALUES)
    assert [row[0] for row in tables()["of"]] == [f"{limit:,}" for limit in limits]


def test_times_are_times() -> None:
    words = [word for row in tables()["means"] for word in re.findall(r"`([^`]+)`", row[0])]
    assert len(words) >= 8
    for word in words:
        parse_time(word, 1_456_833_600_000_000)


def test_errors_are_said_so() -> None:
    block = PAGE[PAGE.index("## Errors") : PAGE.index("## JSON form")]
    lines = [line[4:] for line in block.splitlines() if line.startswith("    ")]
    assert len(lines) == 15
    for message, text, caret in zip(lines[::3], lines[1::3], lines[2::3], strict=True):
        with pytest.raises(FilterError) as caught:
            read_filter(text.strip(), SOURCE)
        assert str(caught.value).splitlines() == [message, text, caret]


def test_the_json_form_is_so() -> None:
    block = PAGE[PAGE.index("## JSON form") : PAGE.index("## Inside")]
    forms = [line.strip() for line in block.splitlines() if line.startswith('    {"field"')]
    trees = [from_json(json.JSONDecoder().raw_decode(form)[0]) for form in forms]
    assert len(set(map(type, trees))) == 8
    (computed,) = (line.strip() for line in block.splitlines() if line.startswith('    {"left": {'))
    (text,) = re.findall(r"So `(.*)` is", block)
    assert from_json(json.loads(computed)) == parse_filter(text)
    assert to_json(from_json(json.loads(computed))) == json.loads(computed)
