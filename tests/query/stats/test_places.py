"""Rows find the groups that have their keys, whatever the dictionaries of both, and are split by them.

In `make test`: it needs no servers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from watchfloor.query.stats.places import find_places, split_rows

KEYS = ["k0", "k1", "k2"]
Row = tuple[bytes, bytes, bytes]
ROWS = st.lists(st.tuples(*[st.sampled_from([b"", b"\x01", b"\x01a", b"\x01b", b"\x01\xff"])] * 3), max_size=40)


def make_table(rows: list[Row], unused: list[bytes], keys: list[str]) -> pa.Table:
    """Returns a table of keys, whose dictionaries have values in an order of their own, and some that no row has."""
    columns: dict[str, Any] = {}
    for place, key in enumerate(keys):
        known = list(dict.fromkeys([*unused, *reversed([row[place] for row in rows])]))
        numbers = pa.array([known.index(row[place]) for row in rows], pa.int32())
        columns[key] = pa.DictionaryArray.from_arrays(numbers, pa.array(known, pa.binary()))
    return pa.table(columns)


@given(ROWS, ROWS, st.lists(st.binary(max_size=2), max_size=3, unique=True), st.integers(1, 3))
def test_rows_find_their_groups(groups: list[Row], rows: list[Row], unused: list[bytes], count: int) -> None:
    keys = KEYS[:count]
    distinct = list({group[:count]: group for group in groups}.values())
    places = {group[:count]: place for place, group in enumerate(distinct)}
    found = find_places(make_table(rows, unused, keys), make_table(distinct, [], keys), keys)
    assert found.tolist() == [places.get(row[:count], -1) for row in rows]


@given(st.lists(st.integers(-1, 5), max_size=60))
def test_rows_are_split_by_their_groups(places: list[int]) -> None:
    rows = pa.table({"number": pa.array(range(len(places)), pa.int64())})
    found = [part.column("number").to_pylist() for part in split_rows(rows, np.array(places, np.int64), 6)]
    assert found == [[number for number, place in enumerate(places) if place == group] for group in range(6)]
