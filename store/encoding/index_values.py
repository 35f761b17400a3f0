"""Encoded values as they stand in index and aggregate rows: long ones are cut and told apart by a hash."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress

import pyarrow as pa
import pyarrow.compute as pc

from watchfloor.schema.field import Field, FieldType

from .values import decode_scalars, encode_column, encode_elements

MAX_INDEXED = 1024
"""Longest encoded value, in bytes, that stands whole in an index row."""
CUT_BYTES, CUT_DIGEST = 1000, 16
"""Of a longer value, an index row has the first ``CUT_BYTES`` bytes and a hash of the whole, ``CUT_DIGEST`` bytes."""


def to_index_value(value: bytes) -> bytes:
    """Returns one encoded value as it stands in an index row."""
    # Imported here, because few processes meet a long value.
    from hashlib import blake2b

    if len(value) <= MAX_INDEXED:
        return value
    return value[:CUT_BYTES] + blake2b(value, digest_size=CUT_DIGEST).digest()


def may_be_cut(value: bytes) -> bool:
    """Returns whether a value of an index row may stand for a longer one."""
    return len(value) == CUT_BYTES + CUT_DIGEST


def to_index_values(column: pa.BinaryArray) -> pa.BinaryArray:
    """Returns encoded values as they stand in index rows."""
    longest = pc.max(pc.binary_length(column)).as_py()
    if longest is None or longest <= MAX_INDEXED:
        return column
    return pa.array([v if v is None else to_index_value(v) for v in column.to_pylist()], pa.binary())


def to_reversed_index_values(column: pa.BinaryArray) -> pa.BinaryArray:
    """Returns encoded values as they stand in index rows of reversed values: their bytes from the last to the first."""
    return to_index_values(pc.binary_reverse(column))


def count_index_values(field: Field, column: pa.Array, counts: Counter[bytes]) -> None:
    """Adds to ``counts`` how many events of a column have each value, by the value as it stands in index rows.

    A value that occurs several times in one event's list counts once.
    """
    if field.is_list:
        values = to_index_values(encode_elements(field, column.flatten()))
        pairs = pa.table({"event": pc.list_parent_indices(column), "value": values})
        values = pairs.group_by(["event", "value"]).aggregate([])["value"]
    else:
        values = to_index_values(encode_column(field, column))
    for entry in values.drop_null().value_counts().to_pylist():
        counts[entry["values"]] += entry["counts"]


def decode_index_value(kind: FieldType, value: bytes) -> object:
    """Returns one value of an index row as a Python value, an address as text.

    It decodes value by value, for lists of a few top values. A string that was cut becomes its first characters and an
    ellipsis.
    """
    if kind is FieldType.STRING and may_be_cut(value):
        # A whole value of this length decodes; a value that ends with a hash hardly ever does.
        with suppress(UnicodeDecodeError):
            return value.decode()
        return value[:CUT_BYTES].decode(errors="ignore") + "…"
    return decode_scalars(kind, pa.array([value], pa.binary()))[0].as_py()
