"""Numbers, times and truth values as unsigned numbers of the same order, and these unsigned numbers as bytes."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from watchfloor.schema.errors import InternalError
from watchfloor.schema.field import ARROW_TYPES, FieldType

from .byte_arrays import to_binary_array

_SIGN = np.uint64(1 << 63)

NUMBER_BYTES = {FieldType.INT: 8, FieldType.TIME: 8, FieldType.FLOAT: 8, FieldType.PORT: 2, FieldType.BOOL: 1}
"""Number of bytes of an encoded value, by type. These bytes, read as a big-endian number, sort as the values do."""


def to_numbers(kind: FieldType, column: pa.Array) -> np.ndarray:
    """Returns a column of a type of ``NUMBER_BYTES`` as uint64: its encoded bytes as numbers.

    A null becomes an arbitrary number.
    """
    match kind:
        case FieldType.INT:
            return _fill_nulls(column, 0).astype(np.int64, copy=False).view(np.uint64) ^ _SIGN
        case FieldType.TIME:
            return _fill_nulls(column.cast(pa.int64()), 0).view(np.uint64) ^ _SIGN
        case FieldType.FLOAT:
            return float_to_bits(_fill_nulls(column, 0.0))
        case FieldType.BOOL:
            return _fill_nulls(column.cast(pa.uint8()), 0).astype(np.uint64)
        case FieldType.PORT:
            return _fill_nulls(column, 0).astype(np.uint64)
    raise InternalError(f"{kind.value} is not a number")


def from_numbers(kind: FieldType, numbers: np.ndarray, nulls: np.ndarray | None = None) -> pa.Array:
    """Returns the column that ``to_numbers`` turned into ``numbers``, with null where ``nulls`` is true."""
    match kind:
        case FieldType.INT | FieldType.TIME:
            return pa.array((numbers ^ _SIGN).view(np.int64), mask=nulls).cast(ARROW_TYPES[kind])
        case FieldType.FLOAT:
            values = np.where(numbers & _SIGN != 0, numbers ^ _SIGN, ~numbers).view(np.float64)
            # ``from_pandas`` is not set, so that a NaN does not become null.
            return pa.array(values, mask=nulls)
        case FieldType.BOOL:
            return pa.array(numbers != 0, mask=nulls)
        case FieldType.PORT:
            return pa.array(numbers.astype(np.uint16), mask=nulls)
    raise InternalError(f"{kind.value} is not a number")


def numbers_to_bytes(kind: FieldType, numbers: np.ndarray) -> pa.BinaryArray:
    """Returns numbers that ``to_numbers`` gave as encoded values."""
    width = NUMBER_BYTES[kind]
    return to_binary_array(numbers.astype(">u8").view(np.uint8).reshape(-1, 8)[:, 8 - width :])


def float_to_bits(values: np.ndarray) -> np.ndarray:
    """Returns float64 values as uint64 of the same order: their IEEE 754 bits, with all or only the sign flipped."""
    bits = (values + 0.0).view(np.uint64)  # -0.0 + 0.0 is 0.0
    return np.where(bits & _SIGN != 0, ~bits, bits ^ _SIGN)


def _fill_nulls(column: pa.Array, filler: float) -> np.ndarray:
    if column.null_count:
        column = column.fill_null(filler)
    return column.to_numpy(zero_copy_only=False)
