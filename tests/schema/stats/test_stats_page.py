"""Everything that the page of stats shows is true.

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
from watchfloor.schema.stats import names
from watchfloor.schema.stats.json_form import from_json
from watchfloor.schema.stats.parse import parse_stats
from watchfloor.schema.stats.type_check import TAKEN_TYPES, read_stats

PAGE = (Path(__file__).parents[3] / "docs/using/stats.md").read_text("utf-8")
TYPES = {
    "ts": "time",
    "f": "int",
    "bytes_out": "int",
    "status": "int",
    "duration_ms": "float",
    "src_ip": "ip",
    "domain": "string",
    "user": "string",
    "tags": "list",
}
SOURCE = parse_definition(
    {
        "name": "lab.web",
        "parser": {"format": "json"},
        "timestamp": {"field": "ts"},
        "fields": [{"name": name, "type": kind} for name, kind in TYPES.items()],
    }
)


def section(title: str) -> str:
    return PAGE.partition(f"## {title}\n")[2].partition("\n## ")[0]


def rows(title: str) -> list[list[str]]:
    """The rows of the table in a section."""
    table = re.findall(r"^\|.*\n", section(title), re.MULTILINE)[2:]
    return [
        [cell.strip().strip("`").replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", row)[1:-1]] for row in table
    ]


EXAMPLES = re.findall(r"```stats\n(.*?)```", PAGE, re.DOTALL)[0].splitlines()


@pytest.mark.parametrize("text", EXAMPLES)
def test_examples_fit_a_source(text: str) -> None:
    assert read_stats(text, SOURCE)


def test_functions_are_those_of_the_code() -> None:
    found = set()
    for call, column, _, takes, _ in rows("Aggregates"):
        text = call.replace("FILTER", "status = 500")
        aggregate = parse_stats(text).aggregates[0]
        assert aggregate.name == column
        found.add(aggregate.function)
        taken = TAKEN_TYPES.get(aggregate.function, tuple(FieldType))
        assert takes == ("" if aggregate.field is None else "all" if len(taken) > 3 else "int, float, port")
        assert set(takes.split(", ")) <= {"", "all", *(scalar.value for scalar in taken)}
    assert found == set(names.FUNCTIONS)


def test_keys_stages_and_short_forms_are_those_of_the_code() -> None:
    for key, column, *_ in rows("Keys"):
        assert parse_stats(f"count() by {key}").keys[0].name == column
    for stage, _, example in rows("Stages"):
        assert example.startswith(f"{stage} ")
        assert read_stats(f"count(), sum(bytes_out) by domain | {example}", SOURCE)
    for short, whole in rows("Short forms"):
        assert parse_stats(short) == parse_stats(whole)
    assert parse_stats("top 5 prefix(src_ip, 24), domain")


def test_limits_are_those_of_the_code() -> None:
    limits = (
        names.MAX_LENGTH,
        names.MAX_AGGREGATES,
        names.MAX_KEYS,
        names.MAX_STAGES,
        names.MAX_ROWS,
        names.MAX_NAME,
    )
    assert [row[0] for row in rows("Limits")] == [f"{limit:,}" for limit in limits]


def test_errors_are_said_so() -> None:
    lines = [line[4:] for line in section("Errors").splitlines() if line.startswith("    ")]
    assert len(lines) == 9
    for message, text, caret in zip(lines[::3], lines[1::3], lines[2::3], strict=True):
        with pytest.raises(FilterError) as caught:
            read_stats(text.strip(), SOURCE)
        assert str(caught.value).splitlines() == [message, text, caret]


def test_the_json_form_is_so() -> None:
    form = json.loads(re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)[0])
    assert read_stats(form, SOURCE).stats.stages
    with pytest.raises(FilterError) as caught:
        from_json({**form, "by": [{"field": "f"}, {"bucket": "1h", "width": 5}]})
    assert f"`{caught.value.message}`" in PAGE
