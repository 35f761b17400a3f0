"""Typed bytes come back as they were written, and sort as their values do.

In `make test`: it needs no servers.
"""

from __future__ import annotations

from ipaddress import ip_address
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from value_strategies import VALUES, to_arrow

from watchfloor.schema.errors import InternalError
from watchfloor.schema.field import Field, FieldType
from watchfloor.store.encoding.index_values import MAX_INDEXED, decode_index_value, to_index_value, to_index_values
from watchfloor.store.encoding.values import decode_column, encode_column, encode_value


def sort_key(kind: FieldType, value: Any) -> Any:
    if kind is FieldType.STRING:
        return value.encode()
    if kind is FieldType.IP:
        return value.version, value.packed
    return value


@pytest.mark.parametrize("kind", VALUES)
@given(data=st.data())
def test_columns_come_back(kind: FieldType, data: st.DataObject) -> None:
    field = Field("f", kind)
    values = data.draw(st.lists(st.none() | VALUES[kind], max_size=20))
    column = pa.array([to_arrow(v) for v in values], field.arrow)
    start = data.draw(st.integers(0, len(values)))
    column = column.slice(start)
    encoded = encode_column(field, column)
    assert encoded.to_pylist() == [None if v is None else encode_value(kind, v) for v in values[start:]]
    assert decode_column(field, encoded).equals(column)
    many = pa.concat_arrays([encoded] * 70)
    assert decode_column(field, many).equals(pa.concat_arrays([column] * 70)), "many addresses are told otherwise"


@pytest.mark.parametrize("kind", VALUES)
@given(data=st.data())
def test_lists_come_back(kind: FieldType, data: st.DataObject) -> None:
    field = Field("f", FieldType.LIST, items=kind)
    values = data.draw(st.lists(st.none() | st.lists(st.none() | VALUES[kind], max_size=5), max_size=10))
    rows = [None if v is None else [None if e is None else to_arrow(e) for e in v] for v in values]
    column = pa.array(rows, field.arrow).slice(data.draw(st.integers(0, len(values))))
    assert decode_column(field, encode_column(field, column)).to_pylist() == column.to_pylist()


@pytest.mark.parametrize("kind", VALUES)
@given(data=st.data())
def test_bytes_sort_as_values(kind: FieldType, data: st.DataObject) -> None:
    one, other = data.draw(VALUES[kind]), data.draw(VALUES[kind])
    expected = sort_key(kind, one) < sort_key(kind, other)
    assert (encode_value(kind, one) < encode_value(kind, other)) == expected


def test_long_index_values_are_told_apart() -> None:
    whole = b"x" * MAX_INDEXED
    assert to_index_value(whole) == whole
    one, other = to_index_value(whole + b"a"), to_index_value(whole + b"b")
    assert one != other and len(one) == len(other) == 1016 and one[:1000] == other[:1000]
    assert decode_index_value(FieldType.STRING, one) == "x" * 1000 + "…"
    assert decode_index_value(FieldType.STRING, b"y" * 1016) == "y" * 1016
    assert to_index_values(pa.array([whole + b"a", None, b"y"], pa.binary())).to_pylist() == [one, None, b"y"]


def test_an_untyped_constant_is_refused() -> None:
    with pytest.raises(InternalError, match="type the tree first"):
        encode_value(FieldType.INT, "12")
    with pytest.raises(InternalError):
        encode_value(FieldType.IP, "10.0.0.1")
    assert encode_value(FieldType.IP, ip_address("10.0.0.1")) == b"\x04\x0a\x00\x00\x01"
