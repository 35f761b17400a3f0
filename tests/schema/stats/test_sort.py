"""Orders of a query's events: text and list parse to the same, mistakes show their place, and sort keys tell values.

In `make test`: it needs no servers.
"""

from __future__ import annotations

from datetime import UTC, datetime
from ipaddress import ip_address
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from watchfloor.schema.definition import parse_definition
from watchfloor.schema.errors import FilterError
from watchfloor.schema.filter.tree import Compare
from watchfloor.schema.stats.print import format_orders
from watchfloor.schema.stats.sort import MAX_ORDERS, read_orders, type_sort
from watchfloor.schema.stats.tree import Order
from watchfloor.store.encoding.keys import KEY_COLUMN
from watchfloor.store.sorting.keys import make_bound_condition, make_sort_keys, read_times

FIELDS = [
    {"name": "ts", "type": "time"},
    {"name": "src_ip", "type": "ip", "ecs": "source.ip"},
    {"name": "dst_ip", "type": "ip", "ecs": "destination.ip"},
    {"name": "bytes", "type": "int"},
    {"name": "rate", "type": "float"},
    {"name": "user", "type": "string", "ecs": "user.name"},
    {"name": "is_ok", "type": "bool"},
    {"name": "port", "type": "port"},
    {"name": "tags", "type": "list", "items": "string"},
    {"name": "sort", "type": "string"},
]
SOURCE = parse_definition(
    {"name": "lab.events", "parser": {"format": "json"}, "timestamp": {"field": "ts"}, "fields": FIELDS}
)
KEY = (2**63 - 1 - 7).to_bytes(8, "big") + b"\x00\x01\x02\x03\x04\x05\x06\x07"

SORTS: list[tuple[str, list[str], list[Order]]] = [
    ("bytes", ["bytes"], [Order("bytes", False)]),
    ("-bytes, ts", ["-bytes", "ts"], [Order("bytes", True), Order("ts", False)]),
    (" - bytes ,-ts", ["-bytes", "-ts"], [Order("bytes", True), Order("ts", True)]),
    ("-`sort`", ["-sort"], [Order("sort", True)]),
    ("-source.ip", ["-source.ip"], [Order("src_ip", True)]),
    ("user", ["user.name"], [Order("user", False)]),
]


@pytest.mark.parametrize(("text", "listed", "orders"), SORTS, ids=[text for text, _, _ in SORTS])
def test_text_and_list_mean_the_same(text: str, listed: list[str], orders: list[Order]) -> None:
    for form in (text, listed, tuple(listed)):
        typed = type_sort(form, SOURCE)
        assert list(typed.orders) == orders
        assert type_sort(typed.to_text(), SOURCE).orders == typed.orders


def test_names_that_are_no_fields_have_their_meaning() -> None:
    typed = type_sort("-source.ip, ts", SOURCE)
    assert typed.meanings == {"source.ip": ("src_ip",)} and typed.to_text() == "-src_ip, ts"
    assert type_sort("-time", SOURCE, {"time": "ts"}).orders == (Order("ts", True),)


@given(st.lists(st.builds(Order, st.text(min_size=1, max_size=9), st.booleans()), min_size=1, max_size=MAX_ORDERS))
def test_orders_are_written_as_they_are_read(orders: list[Order]) -> None:
    drawn = [order for order in orders if order.column.isprintable() and not order.column.startswith("-")]
    if drawn:
        assert list(read_orders(format_orders(drawn)).tree.orders) == drawn


ERRORS: list[tuple[Any, str, int | None]] = [
    ("", "the sort is empty", 0),
    ("bytes,", "expected", 6),
    ("bytes ts", "expected", 6),
    ("-", "expected", 1),
    ("--bytes", "expected", 1),
    ("bytes desc", "descending order is written -FIELD", 6),
    ("bytes | limit 3", "limit and filter are given beside its sort", 6),
    ("ts, count()", "events are sorted by fields; a function is for the sort of stats", 4),
    ("ts, byts", "did you mean bytes", 4),
    ("tags", "tags is a list, and lists have no order", 0),
    ("ts, -ts", "ts comes twice in the sort; name it once", 5),
    ("ip", "ip stands for 2 fields of lab.events: src_ip, dst_ip; name one of them", 0),
    (", ".join(["ts"] * 9), "the sort has 9 fields; at most 8 are allowed", 32),
    ("a" * 70_000, "at most 65,536 are allowed", 65_536),
    ([], "sort: a list of one or more columns was expected", None),
    (["-"], r"sort[0]: a column was expected, found an empty string", None),
    (["ts", 3], r"sort[1]: a column was expected", None),
    (["zzz"], "has no field 'zzz'", None),
]


@pytest.mark.parametrize(("sort", "message", "position"), ERRORS, ids=[str(sort)[:20] for sort, _, _ in ERRORS])
def test_mistakes_show_their_place(sort: Any, message: str, position: int | None) -> None:
    with pytest.raises(FilterError) as told:
        type_sort(sort, SOURCE)
    assert message in str(told.value)
    if position is not None:
        assert told.value.position == position and told.value.text == sort


VALUES: dict[str, list[Any]] = {
    "ts": [datetime(1970, 1, 1, tzinfo=UTC), datetime(2026, 1, 8, 12, 0, 0, 256, tzinfo=UTC)],
    "src_ip": ["0.0.0.0", "9.255.0.1", "10.0.0.1", "::", "::ffff:10.0.0.1", "fe80::1"],
    "bytes": [-(2**63), -256, -1, 0, 1, 256, 2**63 - 1],
    "rate": [float("-inf"), -1.5, 0.0, 5e-324, 2.5, float("inf")],
    "user": ["", "\x00", "\x00\x00", "\x00\x01", "\x00ÿ", "a", "a\x00", "a\x00b", "ab", "b", "ÿ", "\uffff", "😀"],
    "is_ok": [False, True],
    "port": [0, 255, 256, 65_535],
}


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("name", VALUES)
def test_sort_keys_sort_as_their_values_do(name: str, descending: bool) -> None:
    values = VALUES[name]
    orders = [Order(name, descending), Order("port" if name != "port" else "bytes", True)]
    columns = {name: [*values, None], orders[1].column: [1] * (len(values) + 1), KEY_COLUMN: [KEY] * (len(values) + 1)}
    types = {f.name: f.arrow for f in SOURCE.fields} | {KEY_COLUMN: pa.binary()}
    batch = pa.RecordBatch.from_arrays([pa.array(c, types[n]) for n, c in columns.items()], names=list(columns))
    keys = make_sort_keys(orders, SOURCE, batch, b"name")
    places = [number for _, number in sorted(zip(keys.to_pylist(), range(len(keys)), strict=True))]
    ascending = list(range(len(values)))
    assert places == [*(reversed(ascending) if descending else ascending), len(values)]
    assert read_times(keys, b"name") == [7] * len(keys)
    for value, key in zip(values, keys.to_pylist(), strict=False):
        bound = make_bound_condition(orders, SOURCE, key)
        wanted = ip_address(value) if name == "src_ip" else value
        assert bound == Compare(name, ">=" if descending else "<=", wanted)
    assert make_bound_condition(orders, SOURCE, keys[-1].as_py()) is None
