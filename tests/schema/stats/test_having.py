"""Rows of an answer are kept as the tests' own evaluator says, for every operator and type, in chunks and slices.

In `make test`: it needs no servers.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from drawn_filters import filters, pools_of
from hypothesis import given, settings
from oracle import holds

from watchfloor.schema.definition import parse_definition
from watchfloor.schema.field import FieldType
from watchfloor.schema.filter.tree import Filter
from watchfloor.schema.filter.type_check import read_filter
from watchfloor.schema.stats.having import filter_rows
from watchfloor.schema.times import from_micros

KINDS = ("string", "int", "float", "bool", "ip", "port", "time")
SOURCE = parse_definition(
    {
        "name": "an.answer",
        "parser": {"format": "json"},
        "timestamp": {"field": "time"},
        "fields": [{"name": kind, "type": kind} for kind in KINDS]
        + [{"name": f"{kind}s", "type": "list", "items": kind} for kind in KINDS],
    }
)
POOLS: dict[str, list[Any]] = {
    "string": ["", "a", "/index.html", "größe\n", 'x"y\\*', "a.b?c", "\x00", "ÿ😀"],
    "int": [0, -1, 5, 2**63 - 1, -(2**63)],
    "float": [0.0, -0.0, 1.5, float("inf"), -7.25, float("nan")],
    "bool": [True, False],
    "ip": ["10.0.0.1", "10.9.0.1", "255.255.255.255", "::1", "2001:db8::1"],
    "port": [0, 80, 443, 65_535],
    "time": [from_micros(micros) for micros in (0, 1_456_833_600_000_000, 1_456_833_600_000_001)],
}


def make_row(number: int) -> dict[str, Any]:
    """Returns a row with nulls, empty lists and nulls in lists at different steps."""
    row: dict[str, Any] = {}
    for step, (kind, pool) in enumerate(POOLS.items(), 3):
        row[kind] = None if number % step == 2 else pool[number % len(pool)]
        many = [pool[(number + n) % len(pool)] if (number + n) % step else None for n in range(number % 4)]
        row[f"{kind}s"] = None if number % (step + 1) == 1 else many
    return row


ROWS = [make_row(number) for number in range(40)]
TABLE = pa.Table.from_pylist(ROWS, SOURCE.arrow_schema)
CHUNKED = pa.concat_tables([TABLE.slice(0, 7), TABLE.slice(7, 0), TABLE.slice(7, 20), TABLE.slice(27)])
ADDRESSES = {field.name for field in SOURCE.fields if field.scalar is FieldType.IP}
TYPES = SOURCE.scalar_types
DRAWN = filters(
    SOURCE,
    {name: [v for v in pool if v == v] for name, pool in pools_of(SOURCE, ROWS).items()},
)


def find_kept(table: pa.Table, where: Filter) -> list[int]:
    """The numbers of the rows that are kept."""
    numbered = table.append_column("number", pa.array(range(len(table))))
    return filter_rows(numbered, where, TYPES).column("number").to_pylist()


@given(DRAWN)
@settings(max_examples=400, deadline=None)
def test_rows_are_kept_as_the_oracle_says(where: Filter) -> None:
    expected = [number for number, row in enumerate(ROWS) if holds(where, row, ADDRESSES)]
    assert find_kept(TABLE, where) == expected
    assert find_kept(CHUNKED, where) == expected


@pytest.mark.parametrize(
    "where",
    [
        "string like \"*\"",
        'string like "x*\\\\*"',
        "string like gr???*",
        "string ~ /^GR/i",
        "ip in (10.0.0.0/8, ::1)",
        "ip in 10.0.0.1..::1",
        "ips > 10.9.0.1",
        "float in (0, 1.5)",
        "floats = 0",
        "float != 0",
        "float >= -7.25",
        "not exists ints",
        "exists ints",
        "times in (1970-01-01, 2016-03-01T12:00)",
        "bools = true and bools = false",
        "strings != a",
    ],
)  # fmt: skip
def test_single_filters_keep_some_rows(where: str) -> None:
    tree = read_filter(where, SOURCE)
    assert tree is not None
    expected = [number for number, row in enumerate(ROWS) if holds(tree, row, ADDRESSES)]
    assert find_kept(TABLE, tree) == find_kept(CHUNKED, tree) == expected
    assert 0 < len(expected) < len(ROWS)


@pytest.mark.parametrize("rows", [TABLE.slice(0, 0), SOURCE.arrow_schema.empty_table()])
@given(where=DRAWN)
@settings(max_examples=50, deadline=None)
def test_no_rows_stay_no_rows(rows: pa.Table, where: Filter) -> None:
    kept = filter_rows(rows, where, TYPES)
    assert kept.num_rows == 0 and kept.schema == rows.schema
