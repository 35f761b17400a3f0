"""Values as bytes that sort as the values do.

Cells, index rows and filter constants all use this encoding, so tablet servers compare bytes and need no types:

====== =====================================================================================================
type   bytes
====== =====================================================================================================
string UTF-8
int    8, big-endian, sign bit flipped
float  8, IEEE 754 big-endian; sign bit flipped if positive, all bits flipped if negative; -0.0 becomes 0.0
bool   1: 0 or 1
time   as int, microseconds since 1970 UTC
port   2, big-endian
ip     0x04 and 4 bytes, or 0x06 and 16 bytes: all of IPv4 before all of IPv6
list   per element a 4-byte big-endian length and the element's bytes; a null element has length 0xFFFFFFFF
====== =====================================================================================================
"""

from __future__ import annotations

import struct
from datetime import datetime
from ipaddress import IPv4Address, IPv6Address, ip_address

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from watchfloor.schema.errors import InternalError
from watchfloor.schema.field import Field, FieldType
from watchfloor.schema.filter.tree import Value
from watchfloor.schema.times import to_micros

from .addresses import decode_addresses, encode_address, encode_addresses
from .byte_arrays import EMPTY_BYTES, copy_nulls, join_bytes, list_offsets, read_bytes, split_bytes
from .numbers import NUMBER_BYTES, float_to_bits, from_numbers, to_numbers

_NULL_ELEMENT = b"\xff\xff\xff\xff"


def encode_value(kind: FieldType, value: Value) -> bytes:
    """Returns one typed Python value, such as the constant of a filter, as bytes."""
    match kind, value:
        case FieldType.STRING, str():
            return value.encode()
        case FieldType.BOOL, bool():
            return b"\x01" if value else b"\x00"
        case FieldType.INT, int():
            return struct.pack(">Q", (value + (1 << 63)) & 0xFFFFFFFFFFFFFFFF)
        case FieldType.PORT, int():
            return struct.pack(">H", value)
        case FieldType.FLOAT, int() | float():
            return float_to_bits(np.array([value], dtype=np.float64)).astype(">u8").tobytes()
        case FieldType.TIME, datetime():
            return encode_value(FieldType.INT, to_micros(value))
        case FieldType.IP, IPv4Address() | IPv6Address():
            return encode_address(value)
    raise InternalError(f"a filter value {value!r} does not fit the type {kind.value}; type the tree first")


def decode_value(kind: FieldType, encoded: bytes) -> Value:
    """Inverts ``encode_value``."""
    value: Value = decode_scalars(kind, pa.array([encoded], pa.binary()))[0].as_py()
    return ip_address(value) if kind is FieldType.IP and isinstance(value, str) else value


def encode_column(field: Field, column: pa.Array) -> pa.BinaryArray:
    """Returns a column of a field's values as bytes; nulls stay null."""
    if not field.is_list:
        return _encode_scalars(field.scalar, column)
    elements = encode_elements(field, column.flatten())
    lengths = pc.binary_length(elements).fill_null(-1).to_numpy(zero_copy_only=False)
    frames = split_bytes(lengths.astype(">i4").view(np.uint8), 4)
    framed = join_bytes(frames, elements.fill_null(b""))
    lists = pc.binary_join(pa.ListArray.from_arrays(list_offsets(column), framed), EMPTY_BYTES)
    return pc.if_else(column.is_valid(), lists, pa.scalar(None, pa.binary())) if column.null_count else lists


def encode_elements(field: Field, elements: pa.Array) -> pa.BinaryArray:
    """Returns the flattened elements of a list column as bytes."""
    return _encode_scalars(field.scalar, elements)


def decode_elements(field: Field, elements: pa.BinaryArray) -> pa.Array:
    """Inverts ``encode_elements``. Decodes the values of a field that is not a list too."""
    return decode_scalars(field.scalar, elements)


def decode_column(field: Field, column: pa.BinaryArray) -> pa.Array:
    """Inverts ``encode_column``: returns bytes as a column of the field's Arrow type."""
    if not field.is_list:
        return decode_scalars(field.scalar, column)
    dictionary = column.dictionary_encode()
    flat: list[bytes | None] = []
    offsets = [0]
    for value in dictionary.dictionary.to_pylist():
        at = 0
        while at < len(value):
            if value[at : at + 4] == _NULL_ELEMENT:
                flat.append(None)
                at += 4
                continue
            (length,) = struct.unpack_from(">I", value, at)
            flat.append(value[at + 4 : at + 4 + length])
            at += 4 + length
        offsets.append(len(flat))
    elements = decode_scalars(field.scalar, pa.array(flat, pa.binary()))
    distinct = pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), elements)
    return distinct.take(dictionary.indices)


def bridge_type(field: Field) -> str:
    """Returns the type in which the bridge hands over a field's column; ``bytes`` if the values stay encoded."""
    return "bytes" if field.is_list or field.scalar is FieldType.IP else field.scalar.value


def to_arrow_type(field: Field, column: pa.Array) -> pa.Array:
    """Returns a column of the bridge's type (``bridge_type``) as a column of the field's Arrow type."""
    return decode_column(field, column) if bridge_type(field) == "bytes" else column


def _encode_scalars(kind: FieldType, column: pa.Array) -> pa.BinaryArray:
    """Returns a column of scalar values as bytes; nulls stay null."""
    match kind:
        case FieldType.STRING:
            return column.cast(pa.binary())
        case FieldType.INT | FieldType.TIME | FieldType.FLOAT:
            return split_bytes(to_numbers(kind, column).astype(">u8").view(np.uint8), 8, column)
        case FieldType.BOOL:
            return split_bytes(to_numbers(kind, column).astype(np.uint8), 1, column)
        case FieldType.PORT:
            return split_bytes(to_numbers(kind, column).astype(">u2").view(np.uint8), 2, column)
        case FieldType.IP:
            return encode_addresses(column)
    raise InternalError(f"no encoding for {kind}")


def decode_scalars(kind: FieldType, column: pa.BinaryArray) -> pa.Array:
    """Returns encoded scalar values as a column of the Arrow type of ``kind``."""
    match kind:
        case FieldType.STRING:
            return column.cast(pa.string())
        case FieldType.INT | FieldType.TIME | FieldType.FLOAT:
            numbers = read_bytes(column, NUMBER_BYTES[kind]).view(">u8").astype(np.uint64)
            return copy_nulls(from_numbers(kind, numbers), column)
        case FieldType.BOOL:
            return copy_nulls(pa.array(read_bytes(column, 1).astype(bool)), column)
        case FieldType.PORT:
            return copy_nulls(pa.array(read_bytes(column, 2).view(">u2").astype(np.uint16)), column)
        case FieldType.IP:
            return decode_addresses(column)
    raise InternalError(f"no decoding for {kind}")
