"""Arrow arrays of byte strings to and from NumPy arrays of bytes, without a step per value."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from watchfloor.schema.errors import InternalError

# Typed and made once: to guess the type of a constant, Arrow looks for modules that are not installed, every time.
EMPTY_BYTES = pa.scalar(b"", pa.binary())


def join_bytes(*parts: pa.BinaryArray | pa.BinaryScalar) -> pa.BinaryArray:
    """Returns the byte strings of several columns joined row by row."""
    return pc.binary_join_element_wise(*parts, EMPTY_BYTES)


def to_binary_array(rows: np.ndarray) -> pa.BinaryArray:
    """Returns a (rows, width) array of bytes as a binary array."""
    return split_bytes(rows.reshape(-1), rows.shape[1])


def split_bytes(data: np.ndarray, width: int, nulls_of: pa.Array | None = None) -> pa.BinaryArray:
    """Returns bytes as a binary array of values of ``width`` bytes each, null where ``nulls_of`` is null."""
    rows = len(data) // width
    offsets = np.arange(0, (rows + 1) * width, width, dtype=np.int32)
    valid = None
    if nulls_of is not None and nulls_of.null_count:
        mask = nulls_of.is_valid().to_numpy(zero_copy_only=False)
        valid = pa.py_buffer(np.packbits(mask, bitorder="little").tobytes())
    buffers = [valid, pa.py_buffer(offsets), pa.py_buffer(np.ascontiguousarray(data))]
    return pa.Array.from_buffers(pa.binary(), rows, buffers)


def make_binary_array(lengths: np.ndarray, data: bytes | memoryview, nulls: np.ndarray | None = None) -> pa.BinaryArray:
    """Returns an array of values that stand one after the other in ``data``. Where ``nulls`` is true it is null."""
    offsets = np.zeros(len(lengths) + 1, np.int32)
    np.cumsum(lengths, out=offsets[1:])
    valid = None if nulls is None else pa.py_buffer(np.packbits(~nulls, bitorder="little"))
    return pa.Array.from_buffers(pa.binary(), len(lengths), [valid, pa.py_buffer(offsets), pa.py_buffer(data)])


def to_byte_rows(column: pa.BinaryArray, width: int) -> np.ndarray:
    """Returns values of ``width`` bytes each, none of them null, as a (rows, width) array of bytes."""
    return read_bytes(column, width).reshape(-1, width)


def unpack_byte_rows(column: pa.BinaryArray, width: int) -> np.ndarray:
    """Returns the bytes of a binary array without nulls as a (rows, width) array; a value may hold several rows.

    Raises ``InternalError`` if a value is not a whole number of rows.
    """
    offsets = np.frombuffer(column.buffers()[1], np.int32, len(column) + 1, column.offset * 4)
    if (np.diff(offsets) % width).any():
        raise InternalError(f"stored values do not have {width} bytes each; were they written by another version?")
    size = int(offsets[-1] - offsets[0])
    data = np.frombuffer(column.buffers()[2], np.uint8, size, int(offsets[0])) if size else np.empty(0, np.uint8)
    return data.reshape(-1, width)


def join_values(column: pa.BinaryArray) -> memoryview:
    """Returns the bytes of all values one after the other, uncopied; a null has none, if its array was made so."""
    _, offsets, data = column.buffers()
    if data is None or not len(column):
        return memoryview(b"")
    ends = memoryview(offsets).cast("i")
    return memoryview(data)[ends[column.offset] : ends[column.offset + len(column)]]


def read_bytes(column: pa.BinaryArray, width: int) -> np.ndarray:
    """Returns the bytes of all values one after the other; a null becomes zeros.

    Raises ``InternalError`` if a value does not have ``width`` bytes.
    """
    if column.null_count:
        column = column.fill_null(b"\x00" * width)
    if len(column) == 0:
        return np.empty(0, np.uint8)
    offsets = np.frombuffer(column.buffers()[1], np.int32, len(column) + 1, column.offset * 4)
    if (np.diff(offsets) != width).any():
        raise InternalError(f"a stored value is not {width} bytes long; was it written by another version?")
    return np.frombuffer(column.buffers()[2], np.uint8, len(column) * width, int(offsets[0]))


def copy_nulls(values: pa.Array, nulls_of: pa.Array) -> pa.Array:
    """Returns ``values`` with null where ``nulls_of`` is null."""
    if not nulls_of.null_count:
        return values
    return pc.if_else(nulls_of.is_valid(), values, pa.scalar(None, values.type))


def list_offsets(column: pa.ListArray) -> pa.Array:
    """Returns the lists' offsets into ``column.flatten()``, which omits null lists and elements outside a slice."""
    lengths = pc.list_value_length(column).fill_null(0).to_numpy(zero_copy_only=False)
    return pa.array(np.concatenate(([0], np.cumsum(lengths))), pa.int32())
