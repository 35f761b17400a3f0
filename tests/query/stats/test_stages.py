"""The stages of a pipe give the rows that plain Python gives, in its order.

In `make test`: pure functions.
"""

from __future__ import annotations

from collections.abc import Callable
from ipaddress import ip_address
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from watchfloor.query.stats.stages import apply_stages
from watchfloor.schema.definition import parse_definition
from watchfloor.schema.errors import FilterError
from watchfloor.schema.stats.type_check import read_stats

SOURCE = parse_definition(
    {
        "name": "web.access",
        "parser": {"format": "json"},
        "timestamp": {"field": "ts"},
        "fields": [
            {"name": "ts", "type": "time"},
            {"name": "client", "type": "ip"},
            {"name": "path", "type": "string"},
            {"name": "bytes", "type": "int"},
        ],
    }
)
ADDRESSES = ("10.0.0.2", "10.0.0.10", "9.255.0.1", "::1", "2001:db8::1", None)
ROWS = st.lists(
    st.tuples(st.sampled_from(ADDRESSES), st.none() | st.sampled_from(["a", "b", "B", "ö"]), st.integers(0, 4)),
    unique_by=lambda row: row[:2],
)


def order_values(rank: Callable[[Any], Any], descending: bool) -> Callable[[list[dict[str, Any]], str], Any]:
    """Returns a stable sort by a column in which null comes last."""

    def order(rows: list[dict[str, Any]], column: str) -> list[dict[str, Any]]:
        known = [row for row in rows if row[column] is not None]
        missing = [row for row in rows if row[column] is None]
        return sorted(known, key=lambda row: rank(row[column]), reverse=descending) + missing

    return order


RANKS: dict[str, Callable[[Any], Any]] = {
    "client": lambda text: (ip_address(text).version, ip_address(text).packed),
    "path": str.encode,
    "count": int,
}


@given(
    ROWS,
    st.lists(st.tuples(st.sampled_from(list(RANKS)), st.booleans()), min_size=1, max_size=3, unique_by=lambda o: o[0]),
)
def test_rows_are_sorted_stably_by_values(rows: list[tuple[Any, ...]], orders: list[tuple[str, bool]]) -> None:
    text = ", ".join(("-" if descending else "") + column for column, descending in orders)
    typed = read_stats(f"count() by client, path | sort {text} | limit 7", SOURCE)
    table = pa.Table.from_pylist([dict(zip(typed.schema.names, row, strict=True)) for row in rows], typed.schema)
    wanted = table.to_pylist()
    for column, descending in reversed(orders):
        wanted = order_values(RANKS[column], descending)(wanted, column)
    assert apply_stages(table, typed.stats, SOURCE).to_pylist() == wanted[:7]


@given(ROWS, st.integers(0, 4))
def test_stages_apply_in_their_order(rows: list[tuple[Any, ...]], least: int) -> None:
    typed = read_stats(
        f"count() by client, path | limit 5 | having count >= {least} and exists path | sort -count", SOURCE
    )
    table = pa.Table.from_pylist([dict(zip(typed.schema.names, row, strict=True)) for row in rows], typed.schema)
    kept = [row for row in table.to_pylist()[:5] if row["count"] >= least and row["path"] is not None]
    found = apply_stages(table, typed.stats, SOURCE).to_pylist()
    assert found == sorted(kept, key=lambda row: row["count"], reverse=True)


def test_lists_have_no_order() -> None:
    text = "values(path) by client | sort values_path"
    with pytest.raises(FilterError, match="values_path is a list, and lists have no order") as caught:
        read_stats(text, SOURCE)
    assert str(caught.value).endswith(f"{text}\n  {' ' * text.rindex('values_path')}^")
