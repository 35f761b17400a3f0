"""Values as bytes that sort as the values do.

Cells, index rows and filter constants all use this encoding, so tablet servers compare bytes and never ask for a type:

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

import socket
import struct
from collections import Counter
from contextlib import suppress
from datetime import datetime
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from watchfloor.schema.errors import InternalError
from watchfloor.schema.field import ARROW_TYPES, Field, FieldType
from watchfloor.schema.filter.tree import Value
from watchfloor.schema.times import to_micros

_SIGN = np.uint64(1 << 63)
_NULL_ELEMENT = b"\xff\xff\xff\xff"
_OCTETS = pa.array([str(octet) for octet in range(256)])
# Typed, and made once: for a constant whose type it must guess Arrow looks for modules that are not there, each time.
_EMPTY, _DOT, _OLD_BYTES = pa.scalar(b"", pa.binary()), pa.scalar(".", pa.string()), pa.scalar(5, pa.int32())
_FEW_ADDRESSES = 512
"""So many are sooner made text one by one than together."""

MAX_INDEXED = 1024
"""Longest value, in bytes, that stands whole in an index row."""
CUT_BYTES, CUT_DIGEST = 1000, 16


def encode_value(kind: FieldType, value: Value) -> bytes:
    """One typed Python value as bytes; the constant of a filter."""
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
            return _float_bytes(np.array([value], dtype=np.float64)).tobytes()
        case FieldType.TIME, datetime():
            return encode_value(FieldType.INT, to_micros(value))
        case FieldType.IP, IPv4Address() | IPv6Address():
            return address_bytes(value)
    raise InternalError(f"a filter value {value!r} does not fit the type {kind.value}; type the tree first")


def address_bytes(address: IPv4Address | IPv6Address) -> bytes:
    return (b"\x04" if address.version == 4 else b"\x06") + address.packed


def network_bounds(network: IPv4Network | IPv6Network) -> tuple[bytes, bytes]:
    """The first and the last address of a network, as bytes, both within it."""
    return address_bytes(network.network_address), address_bytes(network.broadcast_address)


def encode_column(field: Field, column: pa.Array) -> pa.BinaryArray:
    """A column of a field's values as bytes; nulls stay null."""
    if not field.is_list:
        return _encode_scalars(field.scalar, column)
    elements = encode_elements(field, column.flatten())
    lengths = pc.binary_length(elements).fill_null(-1).to_numpy(zero_copy_only=False)
    frames = _fixed_width(lengths.astype(">i4").view(np.uint8), 4, None)
    framed = joined(frames, elements.fill_null(b""))
    offsets = list_offsets(column)
    lists = pc.binary_join(pa.ListArray.from_arrays(offsets, framed), _EMPTY)
    return pc.if_else(column.is_valid(), lists, pa.scalar(None, pa.binary())) if column.null_count else lists


def encode_elements(field: Field, elements: pa.Array) -> pa.BinaryArray:
    """The flattened elements of a list column as bytes."""
    return _encode_scalars(field.scalar, elements)


def decode_elements(field: Field, elements: pa.BinaryArray) -> pa.Array:
    """The inverse of ``encode_elements``; of a field that is not a list, its values."""
    return _decode_scalars(field.scalar, elements)


def decode_column(field: Field, column: pa.BinaryArray) -> pa.Array:
    """The inverse of ``encode_column``: bytes as a column of the field's Arrow type."""
    if not field.is_list:
        return _decode_scalars(field.scalar, column)
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
    elements = _decode_scalars(field.scalar, pa.array(flat, pa.binary()))
    distinct = pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), elements)
    return distinct.take(dictionary.indices)


def comes_as(field: Field) -> str:
    """What the bridge hands a field's column over as: its type, or ``bytes``, if it leaves the values encoded."""
    return "bytes" if field.is_list or field.scalar is FieldType.IP else field.scalar.value


def typed_column(field: Field, column: pa.Array) -> pa.Array:
    """A column as the field's Arrow type, of one that came as ``comes_as`` says."""
    return decode_column(field, column) if comes_as(field) == "bytes" else column


def index_values(column: pa.BinaryArray) -> pa.BinaryArray:
    """Encoded values as they stand in index rows: long ones are cut and told apart by a hash."""
    lengths = pc.binary_length(column)
    longest = pc.max(lengths).as_py()
    if longest is None or longest <= MAX_INDEXED:
        return column
    return pa.array([v if v is None else index_value(v) for v in column.to_pylist()], pa.binary())


def reversed_values(column: pa.BinaryArray) -> pa.BinaryArray:
    """Encoded values as they stand in index rows of reversed values: their bytes from the last to the first."""
    return index_values(pc.binary_reverse(column))


def index_value(value: bytes) -> bytes:
    """One encoded value as it stands in an index row."""
    from hashlib import blake2b

    if len(value) <= MAX_INDEXED:
        return value
    return value[:CUT_BYTES] + blake2b(value, digest_size=CUT_DIGEST).digest()


NUMBER_BYTES = {FieldType.INT: 8, FieldType.TIME: 8, FieldType.FLOAT: 8, FieldType.PORT: 2, FieldType.BOOL: 1}
"""How many bytes an encoded value of these types has: read as a big-endian number it sorts as the value does."""


def to_numbers(kind: FieldType, column: pa.Array) -> np.ndarray:
    """A column of a type of ``NUMBER_BYTES`` as uint64: its encoded bytes read as numbers. Nulls give any number."""
    match kind:
        case FieldType.INT:
            return _numbers(column, 0).astype(np.int64, copy=False).view(np.uint64) ^ _SIGN
        case FieldType.TIME:
            return _numbers(column.cast(pa.int64()), 0).view(np.uint64) ^ _SIGN
        case FieldType.FLOAT:
            return _float_bits(_numbers(column, 0.0))
        case FieldType.BOOL:
            return _numbers(column.cast(pa.uint8()), 0).astype(np.uint64)
        case FieldType.PORT:
            return _numbers(column, 0).astype(np.uint64)
    raise InternalError(f"{kind.value} is not a number")


def from_numbers(kind: FieldType, numbers: np.ndarray, nulls: np.ndarray | None = None) -> pa.Array:
    """The inverse of ``to_numbers``: null where ``nulls`` is true."""
    match kind:
        case FieldType.INT | FieldType.TIME:
            return pa.array((numbers ^ _SIGN).view(np.int64), mask=nulls).cast(ARROW_TYPES[kind])
        case FieldType.FLOAT:
            values = np.where(numbers & _SIGN != 0, numbers ^ _SIGN, ~numbers).view(np.float64)
            # Not from_pandas: a NaN stays what it is.
            return pa.array(values, mask=nulls)
        case FieldType.BOOL:
            return pa.array(numbers != 0, mask=nulls)
        case FieldType.PORT:
            return pa.array(numbers.astype(np.uint16), mask=nulls)
    raise InternalError(f"{kind.value} is not a number")


def number_bytes(kind: FieldType, numbers: np.ndarray) -> pa.BinaryArray:
    """What ``to_numbers`` gave as encoded values."""
    width = NUMBER_BYTES[kind]
    return fixed_binary(numbers.astype(">u8").view(np.uint8).reshape(-1, 8)[:, 8 - width :])


def count_values(field: Field, column: pa.Array, counts: Counter[bytes]) -> None:
    """Adds how many events of a column have each value, as it stands in index rows. A list's count once an event."""
    if field.is_list:
        values = index_values(encode_elements(field, column.flatten()))
        pairs = pa.table({"event": pc.list_parent_indices(column), "value": values})
        values = pairs.group_by(["event", "value"]).aggregate([])["value"]
    else:
        values = index_values(encode_column(field, column))
    for entry in values.drop_null().value_counts().to_pylist():
        counts[entry["values"]] += entry["counts"]


def decode_value(kind: FieldType, value: bytes) -> object:
    """One value of an index row as a Python value (addresses as text), for the few values of a top list.

    Of a long string there is only the beginning.
    """
    if kind is FieldType.STRING and len(value) == CUT_BYTES + CUT_DIGEST:
        with suppress(UnicodeDecodeError):
            return value.decode()
        return value[:CUT_BYTES].decode(errors="ignore") + "…"
    return _decode_scalars(kind, pa.array([value], pa.binary()))[0].as_py()


def _encode_scalars(kind: FieldType, column: pa.Array) -> pa.BinaryArray:
    match kind:
        case FieldType.STRING:
            return column.cast(pa.binary())
        case FieldType.INT | FieldType.TIME:
            return _fixed_width(to_numbers(kind, column).astype(">u8").view(np.uint8), 8, column)
        case FieldType.FLOAT:
            return _fixed_width(_float_bytes(_numbers(column, 0.0)), 8, column)
        case FieldType.BOOL:
            return _fixed_width(_numbers(column.cast(pa.uint8()), 0), 1, column)
        case FieldType.PORT:
            return _fixed_width(_numbers(column, 0).astype(">u2").view(np.uint8), 2, column)
        case FieldType.IP:
            dictionary = column.dictionary_encode()
            return _pack_addresses(dictionary.dictionary).take(dictionary.indices)
    raise InternalError(f"no encoding for {kind}")


def _decode_scalars(kind: FieldType, column: pa.BinaryArray) -> pa.Array:
    match kind:
        case FieldType.STRING:
            return column.cast(pa.string())
        case FieldType.INT | FieldType.TIME | FieldType.FLOAT:
            return _with_nulls(from_numbers(kind, _bytes_of(column, 8).view(">u8").astype(np.uint64)), column)
        case FieldType.BOOL:
            return _with_nulls(pa.array(_bytes_of(column, 1).astype(bool)), column)
        case FieldType.PORT:
            return _with_nulls(pa.array(_bytes_of(column, 2).view(">u2").astype(np.uint16)), column)
        case FieldType.IP if len(column) <= _FEW_ADDRESSES:
            return pa.array([value and _address_text(value) for value in column.to_pylist()], pa.string())
        case FieldType.IP:
            dictionary = column.dictionary_encode()
            return _address_texts(dictionary.dictionary).take(dictionary.indices)
    raise InternalError(f"no decoding for {kind}")


def _pack_address(text: str) -> bytes:
    if ":" in text:
        return b"\x06" + socket.inet_pton(socket.AF_INET6, text)
    return b"\x04" + socket.inet_pton(socket.AF_INET, text)


def _pack_addresses(texts: pa.StringArray) -> pa.BinaryArray:
    """``_pack_address`` of each of some texts, none of them null."""
    is_new = pc.match_substring(texts, ":").to_numpy(zero_copy_only=False)
    octets = pc.split_pattern(texts.filter(pa.array(~is_new)), ".").flatten().cast(pa.uint8()).to_numpy()
    rows = np.full((len(octets) // 4, 5), 4, np.uint8)
    rows[:, 1:] = octets.reshape(-1, 4)
    new = [_pack_address(text) for text in texts.filter(pa.array(is_new)).to_pylist()]
    return _alternating(fixed_binary(rows), pa.array(new, pa.binary()), ~is_new)


def _alternating(these: pa.Array, others: pa.Array, is_this: np.ndarray) -> pa.Array:
    """The values of two arrays in one: the next of ``these`` where ``is_this``, else the next of ``others``."""
    if not len(others):
        return these
    places = np.where(is_this, np.cumsum(is_this) - 1, len(these) + np.cumsum(~is_this) - 1)
    return pa.concat_arrays([these, others]).take(pa.array(places))


def _address_texts(values: pa.BinaryArray) -> pa.StringArray:
    """Packed addresses without nulls as text."""
    short = pc.equal(pc.binary_length(values), _OLD_BYTES)
    old = fixed_rows(values.filter(short), 5)
    if not (old[:, 0] == 4).all():
        raise InternalError("a stored address of 5 bytes is not of IPv4; was it written by another version?")
    texts = pc.binary_join_element_wise(*(_OCTETS.take(pa.array(old[:, i])) for i in range(1, 5)), _DOT)
    others = [_address_text(value) for value in values.filter(pc.invert(short)).to_pylist()]
    return _alternating(texts, pa.array(others, pa.string()), short.to_numpy(zero_copy_only=False))


def _address_text(value: bytes) -> str:
    if value[:1] == b"\x04" and len(value) == 5:
        return socket.inet_ntoa(value[1:])
    if value[:1] == b"\x06" and len(value) == 17:
        return str(IPv6Address(value[1:]))
    raise InternalError(f"a stored address is not one: {value.hex()}; was it written by another version?")


def _float_bytes(values: np.ndarray) -> np.ndarray:
    return _float_bits(values).astype(">u8").view(np.uint8)


def _float_bits(values: np.ndarray) -> np.ndarray:
    bits = (values + 0.0).view(np.uint64)  # -0.0 + 0.0 is 0.0
    return np.where(bits & _SIGN != 0, ~bits, bits ^ _SIGN)


def _numbers(column: pa.Array, filler: float) -> np.ndarray:
    if column.null_count:
        column = column.fill_null(filler)
    return column.to_numpy(zero_copy_only=False)


def _fixed_width(data: np.ndarray, width: int, like: pa.Array | None) -> pa.BinaryArray:
    """Rows of ``width`` bytes as a binary array that is null where ``like`` is."""
    rows = len(data) // width
    offsets = np.arange(0, (rows + 1) * width, width, dtype=np.int32)
    valid = None
    if like is not None and like.null_count:
        mask = like.is_valid().to_numpy(zero_copy_only=False)
        valid = pa.py_buffer(np.packbits(mask, bitorder="little").tobytes())
    buffers = [valid, pa.py_buffer(offsets), pa.py_buffer(np.ascontiguousarray(data))]
    return pa.Array.from_buffers(pa.binary(), rows, buffers)


def joined(*parts: pa.BinaryArray | pa.BinaryScalar) -> pa.BinaryArray:
    """The bytes of several columns, one after the other."""
    return pc.binary_join_element_wise(*parts, _EMPTY)


def fixed_binary(rows: np.ndarray) -> pa.BinaryArray:
    """A (rows, width) array of bytes as a binary array."""
    return _fixed_width(rows.reshape(-1), rows.shape[1], None)


def fixed_rows(column: pa.BinaryArray, width: int) -> np.ndarray:
    """A binary array without nulls, all of one width, as a (rows, width) array of bytes."""
    return _bytes_of(column, width).reshape(-1, width)


def packed_rows(column: pa.BinaryArray, width: int) -> np.ndarray:
    """The values of a binary array without nulls, each some rows of ``width`` bytes, as a (rows, width) array."""
    offsets = np.frombuffer(column.buffers()[1], np.int32, len(column) + 1, column.offset * 4)
    if (np.diff(offsets) % width).any():
        raise InternalError(f"stored values do not have {width} bytes each; were they written by another version?")
    size = int(offsets[-1] - offsets[0])
    data = np.frombuffer(column.buffers()[2], np.uint8, size, int(offsets[0])) if size else np.empty(0, np.uint8)
    return data.reshape(-1, width)


def _bytes_of(column: pa.BinaryArray, width: int) -> np.ndarray:
    if column.null_count:
        column = column.fill_null(b"\x00" * width)
    if len(column) == 0:
        return np.empty(0, np.uint8)
    offsets = np.frombuffer(column.buffers()[1], np.int32, len(column) + 1, column.offset * 4)
    if (np.diff(offsets) != width).any():
        raise InternalError(f"a stored value is not {width} bytes long; was it written by another version?")
    return np.frombuffer(column.buffers()[2], np.uint8, len(column) * width, int(offsets[0]))


def _with_nulls(values: pa.Array, like: pa.Array) -> pa.Array:
    if not like.null_count:
        return values
    return pc.if_else(like.is_valid(), values, pa.scalar(None, values.type))


def list_offsets(column: pa.ListArray) -> pa.Array:
    """Offsets into ``column.flatten()``, which leaves null lists and a slice's surroundings out."""
    lengths = pc.list_value_length(column).fill_null(0).to_numpy(zero_copy_only=False)
    return pa.array(np.concatenate(([0], np.cumsum(lengths))), pa.int32())
