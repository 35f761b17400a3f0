"""Sort keys: bytes that sort as events do in the order of some fields (Java's ``SortKey``).

For each field: the byte 2 if the event lacks it, so that such events come last. Else the byte 1, the encoded value and
two bytes 0, with 0 in the value written as 0 and 255; if the order is descending, all bytes after the 1 are inverted.
Then the event's key, so that events of equal values come newest first and no two events have the same sort key; and a
suffix, the source's name, if events of several sources are sorted together.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

import pyarrow as pa

from watchfloor.schema.filter.tree import Compare, Value
from watchfloor.schema.source import Source
from watchfloor.schema.stats.tree import Order
from watchfloor.store.encoding.keys import KEY_BYTES, KEY_COLUMN, time_of_key
from watchfloor.store.encoding.program import encode_field
from watchfloor.store.encoding.values import decode_value, encode_column

_VALUE, _NULL, _END = b"\x01", b"\x02", b"\x00\x00"
_ESCAPED = b"\x00\xff"
_INVERTED = bytes(255 - byte for byte in range(256))


def compile_sort(orders: Sequence[Order], source: Source) -> bytes:
    """Returns the program of typed orders. ``docs/keys.md`` has the format."""
    parts = (struct.pack(">B", order.descending) + encode_field(order.column, source) for order in orders)
    return struct.pack(">B", len(orders)) + b"".join(parts)


def make_sort_keys(
    orders: Sequence[Order], source: Source, events: pa.RecordBatch, suffix: bytes = b""
) -> pa.BinaryArray:
    """Returns the sort keys of events, which have the columns of the orders and ``KEY_COLUMN``, with a suffix."""
    columns = [
        [_encode_part(value, order.descending) for value in _encode_values(order, source, events)] for order in orders
    ]
    parts = zip(*columns, events.column(KEY_COLUMN).to_pylist(), strict=True)
    return pa.array([b"".join(part) + suffix for part in parts], pa.binary())


def read_times(keys: pa.BinaryArray, suffix: bytes = b"") -> list[int]:
    """Returns the times (µs) of the events with these sort keys."""
    end = -len(suffix) or None
    return [time_of_key(key[:end][-KEY_BYTES:]) for key in keys.to_pylist()]


def make_bound_condition(orders: Sequence[Order], source: Source, bound: bytes) -> Compare | None:
    """Returns the condition of the first field that holds for all events up to a sort key; None if any value may."""
    value = _read_first_value(orders[0], source, bound)
    return None if value is None else Compare(orders[0].column, ">=" if orders[0].descending else "<=", value)


def _encode_values(order: Order, source: Source, events: pa.RecordBatch) -> list[bytes | None]:
    values: list[bytes | None] = encode_column(source.find_field(order.column), events.column(order.column)).to_pylist()
    return values


def _encode_part(value: bytes | None, descending: bool) -> bytes:
    if value is None:
        return _NULL
    written = value.replace(b"\x00", _ESCAPED) + _END
    return _VALUE + (written.translate(_INVERTED) if descending else written)


def _read_first_value(order: Order, source: Source, key: bytes) -> Value | None:
    """Returns the value of the first field in a sort key; None if the event lacks it."""
    if key[:1] == _NULL:
        return None
    written = key[1:].translate(_INVERTED) if order.descending else key[1:]
    value = written[: written.index(_END)].replace(_ESCAPED, b"\x00")
    return decode_value(source.find_field(order.column).scalar, value)
