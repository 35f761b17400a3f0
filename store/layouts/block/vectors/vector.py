"""Encodes and decodes *vectors*: a field's values in many events as one cell (``docs/keys.md``).

A vector is a header (form, codec, rows, a checksum, the smallest and the largest value) and a payload, which may be
compressed. The functions here know the format; ``column.py`` decides which form a column takes. Numbers are
little-endian.
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, Union

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from watchfloor.schema.errors import StoreError
from watchfloor.schema.field import Field
from watchfloor.store.encoding.byte_arrays import to_byte_rows
from watchfloor.store.encoding.numbers import NUMBER_BYTES, from_numbers
from watchfloor.store.encoding.values import decode_elements

Compression = Literal["none", "zstd", "lz4_raw"]
Buffer = Union[bytes, memoryview, pa.Buffer]

CODEC: Compression = "lz4_raw"
"""The codec of newly written blocks (``docs/decisions/0005-vectors-codecs-and-sizes.md``)."""
MAX_ROWS = 1 << 20
MAX_PLAIN = 1 << 30
_MAGIC, _VERSION = 0xB7, 1
_DICTIONARY, _PLAIN, _NUMBERS, _LIST = 1, 2, 3, 4
_NULLS, _BOUNDS, _MAX_CUT = 1, 2, 4
_HEADER = struct.Struct("<8B3I2H")
_ROWS_AT, _CRC_AT, _BOUNDS_AT = 8, 16, 24
_BOUND_BYTES = 64
_CODECS: dict[Compression, int] = {"none": 0, "zstd": 1, "lz4_raw": 2}
_WIDTHS: dict[int, np.dtype[Any]] = {1: np.dtype("<u1"), 2: np.dtype("<u2"), 4: np.dtype("<u4"), 8: np.dtype("<u8")}
_LEVEL = 1
_U32 = np.dtype("<u4")


@cache
def _find_codec(name: str) -> pa.Codec:
    return pa.Codec("zstd", compression_level=_LEVEL) if name == "zstd" else pa.Codec(name)


def find_unsigned_width(most: int) -> int:
    """Returns the smallest width, of 1, 2, 4 and 8 bytes, that holds ``most``."""
    return 1 if most < 1 << 8 else 2 if most < 1 << 16 else 4 if most < 1 << 32 else 8


def encode_dictionary(values: pa.BinaryArray, codes: np.ndarray, compression: Compression) -> bytes:
    """Returns a vector of codes and their dictionary.

    ``values`` are distinct and in ascending order. The code ``len(values)`` means null.
    """
    count = len(values)
    width = find_unsigned_width(count)
    lengths, data = _split_bytes(values)
    payload = [_U32.type(count).tobytes(), lengths.tobytes(), data, codes.astype(_WIDTHS[width]).tobytes()]
    bounds = (values[0].as_py(), values[count - 1].as_py()) if count else None
    return _pack_vector(_Shape(_DICTIONARY, len(codes), bounds, code_width=width), payload, compression)


def encode_plain(values: pa.BinaryArray, bounds: tuple[bytes, bytes] | None, compression: Compression) -> bytes:
    """Returns a vector of values one after the other. ``bounds`` are the smallest and the largest value."""
    valid = _find_validity(values)
    lengths, data = _split_bytes(values.fill_null(b"") if valid is not None else values)
    payload = [*_pack_validity(valid), lengths.tobytes(), data]
    return _pack_vector(_Shape(_PLAIN, len(values), bounds, valid is not None), payload, compression)


def encode_numbers(numbers: np.ndarray, valid: np.ndarray | None, value_bytes: int, compression: Compression) -> bytes:
    """Returns a vector of uint64 numbers, which are encoded values of ``value_bytes`` bytes.

    ``valid`` is false where the value is null; None if no value is null.
    """
    known = numbers if valid is None else numbers[valid]
    low, high = (int(known.min()), int(known.max())) if len(known) else (0, 0)
    bounds = (low.to_bytes(value_bytes, "big"), high.to_bytes(value_bytes, "big")) if len(known) else None
    width, transform = find_unsigned_width(high - low), 0
    if valid is None and width > 1 and len(numbers) > 1:
        # Numbers that hardly change from one event to the next, such as times, are stored as differences.
        steps = np.diff(numbers).view(np.int64)
        step = int(steps.min())
        narrow = find_unsigned_width(int(steps.max()) - step)
        if narrow < width:
            width, transform = narrow, 1
            offsets = np.zeros(len(numbers), np.uint64)
            np.subtract(steps, np.int64(step), out=offsets[1:].view(np.int64))
            head = struct.pack("<Qq", int(numbers[0]), step)
    if not transform:
        offsets = numbers - np.uint64(low)
        if valid is not None:
            offsets[~valid] = 0
        head = struct.pack("<Q", low)
    payload = [*_pack_validity(valid), head, offsets.astype(_WIDTHS[width]).tobytes()]
    shape = _Shape(_NUMBERS, len(numbers), bounds, valid is not None, value_bytes, width, transform)
    return _pack_vector(shape, payload, compression)


def encode_list(lengths: np.ndarray, valid: np.ndarray | None, elements: bytes, compression: Compression) -> bytes:
    """Returns a vector of lists: their ``lengths`` (0 where null), and ``elements``, a vector of all their elements."""
    width = find_unsigned_width(int(lengths.max()) if len(lengths) else 0)
    inner = _read_header(memoryview(elements))
    payload = [*_pack_validity(valid), lengths.astype(_WIDTHS[width]).tobytes(), elements]
    shape = _Shape(_LIST, len(lengths), inner.bounds, valid is not None, code_width=width, max_cut=inner.max_cut)
    return _pack_vector(shape, payload, compression)


@dataclass(frozen=True)
class _Shape:
    """The part of a vector's header that describes its values.

    ``bounds`` are the smallest and the largest value; ``max_cut`` is true if the largest was cut. ``nulls`` is true if
    a bitmap marks nulls. ``value_bytes`` is the width of encoded numbers, ``code_width`` the width of codes,
    differences or lengths in the payload. ``transform`` 1 means differences between successive numbers.
    """

    form: int
    rows: int
    bounds: tuple[bytes, bytes] | None
    nulls: bool = False
    value_bytes: int = 0
    code_width: int = 0
    transform: int = 0
    max_cut: bool = False


def _pack_vector(shape: _Shape, payload: list[bytes], compression: Compression) -> bytes:
    """Returns a vector: the header and the payload, compressed if that makes it smaller."""
    plain = b"".join(payload)
    stored, codec = plain, 0
    if compression != "none":
        packed = _find_codec(compression).compress(plain, asbytes=True)
        if len(packed) < len(plain):
            stored, codec = packed, _CODECS[compression]
    flags = _NULLS * shape.nulls
    low = high = b""
    if shape.bounds is not None:
        flags |= _BOUNDS | _MAX_CUT * (shape.max_cut or len(shape.bounds[1]) > _BOUND_BYTES)
        low, high = (bound[:_BOUND_BYTES] for bound in shape.bounds)
    widths = shape.value_bytes, shape.code_width, shape.transform
    fixed = (_MAGIC, _VERSION, shape.form, codec, flags, *widths, shape.rows, len(plain))
    rest = struct.pack("<2H", len(low), len(high)) + low + high
    start = struct.pack("<8B2I", *fixed)
    crc = zlib.crc32(stored, zlib.crc32(rest, zlib.crc32(start)))
    return b"".join((start, crc.to_bytes(4, "little"), rest, stored))


def _pack_validity(valid: np.ndarray | None) -> list[bytes]:
    """Returns the bitmap as part of a payload; nothing for None."""
    return [] if valid is None else [np.packbits(valid, bitorder="little").tobytes()]


def _find_validity(column: pa.Array) -> np.ndarray | None:
    """Returns a boolean per value that is false for nulls; None if there are none."""
    return column.is_valid().to_numpy(zero_copy_only=False) if column.null_count else None


def _split_bytes(values: pa.BinaryArray) -> tuple[np.ndarray, bytes]:
    """Returns the lengths and the concatenated bytes of values without nulls."""
    if not len(values):
        return np.empty(0, _U32), b""
    offsets = np.frombuffer(values.buffers()[1], np.int32, len(values) + 1, values.offset * 4)
    data = values.buffers()[2]
    first, last = int(offsets[0]), int(offsets[-1])
    return np.diff(offsets).astype(_U32), memoryview(data)[first:last].tobytes() if data is not None else b""


@dataclass(frozen=True, kw_only=True)
class _StoredVector(_Shape):
    """A vector whose header and checksum were checked.

    ``payload`` is as it is stored, and ``plain`` the number of its bytes when decompressed.
    """

    codec: int
    plain: int
    payload: memoryview


def decode_vector(field: Field, vector: Buffer) -> pa.Array:
    """Returns the values of a field as its Arrow type. Raises ``StoreError`` if the vector is damaged."""
    head = _read_header(memoryview(vector))
    if (head.form == _LIST) != field.is_list:
        raise _make_damage_error(
            f"it has form {head.form}, which does not fit the field {field.name}, a {field.type_name}"
        )
    return _decode_values(field, head, _decompress(head))


def decode_binary(vector: Buffer) -> pa.BinaryArray:
    """Returns the encoded values of a dictionary or plain vector."""
    head = _read_header(memoryview(vector))
    if head.form == _DICTIONARY:
        values, codes = _decode_dictionary(head, _decompress(head))
        return values.take(codes)
    if head.form == _PLAIN:
        return _decode_plain(head, _decompress(head))
    raise _make_damage_error(f"form {head.form} where bytes were expected")


def count_rows(vector: Buffer) -> int:
    """Returns the number of values of a vector."""
    return _read_header(memoryview(vector)).rows


def count_rows_of_each(vectors: pa.BinaryArray) -> np.ndarray:
    """Returns the number of values of each of many vectors, int64, from their headers, which are not checked."""
    return to_byte_rows(pc.binary_slice(vectors, _ROWS_AT, _ROWS_AT + 4), 4).view(_U32).reshape(-1).astype(np.int64)


def _make_damage_error(why: str) -> StoreError:
    return StoreError(f"a stored vector is damaged: {why}")


def _read_header(vector: memoryview) -> _StoredVector:
    """Returns a vector after checking its header and checksum. Raises ``StoreError`` if it is damaged."""
    if len(vector) < _BOUNDS_AT:
        raise _make_damage_error(f"{len(vector)} bytes are less than a header")
    magic, version, form, codec, flags, value_bytes, code_width, transform, rows, plain, crc, low, high = (
        _HEADER.unpack_from(vector)
    )
    if magic != _MAGIC or version != _VERSION:
        raise _make_damage_error(f"it begins with {magic:#x} and version {version}, not {_MAGIC:#x} and {_VERSION}")
    if crc != zlib.crc32(vector[_CRC_AT + 4 :], zlib.crc32(vector[:_CRC_AT])):
        raise _make_damage_error("its checksum is wrong")
    if rows > MAX_ROWS or plain > MAX_PLAIN:
        raise _make_damage_error(f"{rows} rows in {plain} bytes are more than a vector may have")
    if not 1 <= form <= 4 or codec > 2 or flags & ~7 or transform > (form == _NUMBERS):
        raise _make_damage_error(f"unknown form {form}, codec {codec}, flags {flags} or transform {transform}")
    start = _BOUNDS_AT + low + high
    if start > len(vector) or ((low or high) and not flags & _BOUNDS) or max(low, high) > _BOUND_BYTES:
        raise _make_damage_error(f"bounds of {low} and {high} bytes do not fit in its {len(vector)}")
    if (form == _PLAIN and code_width) or (form != _PLAIN and code_width not in _WIDTHS):
        raise _make_damage_error(f"codes of {code_width} bytes")
    if (value_bytes not in (1, 2, 8)) if form == _NUMBERS else value_bytes != 0:
        raise _make_damage_error(f"values of {value_bytes} bytes")
    bounds = None
    if flags & _BOUNDS:
        bounds = bytes(vector[_BOUNDS_AT : _BOUNDS_AT + low]), bytes(vector[_BOUNDS_AT + low : start])
    return _StoredVector(
        form,
        rows,
        bounds,
        nulls=bool(flags & _NULLS),
        value_bytes=value_bytes,
        code_width=code_width,
        transform=transform,
        max_cut=bool(flags & _MAX_CUT),
        codec=codec,
        plain=plain,
        payload=vector[start:],
    )


def _decompress(head: _StoredVector) -> _PayloadReader:
    """Returns a reader of the decompressed payload. Raises ``StoreError`` if it does not decompress."""
    if head.codec == 0:
        if len(head.payload) != head.plain:
            raise _make_damage_error(f"a payload of {len(head.payload)} bytes, not {head.plain}")
        return _PayloadReader(head.payload)
    name = next(name for name, number in _CODECS.items() if number == head.codec)
    if not head.plain:
        raise _make_damage_error("nothing, compressed")
    try:
        plain = _find_codec(name).decompress(head.payload, decompressed_size=head.plain)
    except (pa.ArrowException, OSError) as error:
        raise _make_damage_error(f"its payload does not decompress: {error}") from error
    if plain.size != head.plain:
        raise _make_damage_error(f"its payload decompresses to {plain.size} bytes, not {head.plain}")
    return _PayloadReader(memoryview(plain))


class _PayloadReader:
    """Takes a payload apart from its beginning. Raises ``StoreError`` if bytes are missing or left over."""

    def __init__(self, payload: memoryview) -> None:
        self._payload, self._at = payload, 0

    def take(self, size: int) -> memoryview:
        """Returns the next ``size`` bytes."""
        piece = self._payload[self._at : self._at + size]
        if len(piece) != size:
            raise _make_damage_error(f"its payload of {len(self._payload)} bytes is too short")
        self._at += size
        return piece

    def array(self, dtype: np.dtype[Any], count: int) -> np.ndarray:
        return np.frombuffer(self.take(count * dtype.itemsize), dtype)

    def nulls(self, head: _StoredVector) -> np.ndarray | None:
        """Returns a boolean per row that is true for nulls; None if the vector has no bitmap of nulls."""
        if not head.nulls:
            return None
        bits = np.unpackbits(self.array(np.dtype("u1"), -(-head.rows // 8)), count=head.rows, bitorder="little")
        return bits == 0

    def rest(self) -> memoryview:
        return self.take(len(self._payload) - self._at)

    def end(self) -> None:
        if self._at != len(self._payload):
            raise _make_damage_error(f"{len(self._payload) - self._at} bytes are left over")


def _decode_values(field: Field, head: _StoredVector, payload: _PayloadReader) -> pa.Array:
    """Returns the values of a field from a payload in any form."""
    try:
        if head.form == _DICTIONARY:
            values, codes = _decode_dictionary(head, payload)
            return decode_elements(field, values).take(codes)
        if head.form == _PLAIN:
            return decode_elements(field, _decode_plain(head, payload))
        if head.form == _NUMBERS:
            if NUMBER_BYTES.get(field.scalar) != head.value_bytes:
                raise _make_damage_error(f"numbers of {head.value_bytes} bytes for a {field.scalar.value}")
            return _decode_numbers(field, head, payload)
        return _decode_lists(field, head, payload)
    except pa.ArrowException as error:
        raise _make_damage_error(f"values of the field {field.name}: {error}") from error


def _decode_dictionary(head: _StoredVector, payload: _PayloadReader) -> tuple[pa.BinaryArray, pa.Array]:
    """Returns the distinct values and the codes; a code is null where the value is."""
    if head.nulls or head.code_width == 8:
        raise _make_damage_error("a dictionary with a bitmap, or codes of 8 bytes")
    count = int(payload.array(_U32, 1)[0])
    if count > MAX_ROWS:
        raise _make_damage_error(f"a dictionary of {count} values")
    lengths = payload.array(_U32, count)
    values = _make_binary(lengths, payload.take(int(lengths.sum(dtype=np.int64))), None)
    codes = payload.array(_WIDTHS[head.code_width], head.rows)
    payload.end()
    highest = int(codes.max()) if head.rows else 0
    if highest > count:
        raise _make_damage_error(f"a code {highest} in a dictionary of {count}")
    return values, pa.array(codes, mask=codes == count if highest == count else None)


def _decode_plain(head: _StoredVector, payload: _PayloadReader) -> pa.BinaryArray:
    """Returns the values of a plain vector."""
    nulls = payload.nulls(head)
    lengths = payload.array(_U32, head.rows)
    if nulls is not None and lengths[nulls].any():
        raise _make_damage_error("a null that has bytes")
    data = payload.rest()
    if int(lengths.sum(dtype=np.int64)) != len(data):
        raise _make_damage_error(f"its lengths do not add up to {len(data)}")
    return _make_binary(lengths, data, nulls)


def _make_binary(lengths: np.ndarray, data: memoryview, nulls: np.ndarray | None) -> pa.BinaryArray:
    """Returns an array of values that stand one after the other in ``data``."""
    offsets = np.zeros(len(lengths) + 1, np.int32)
    np.cumsum(lengths, out=offsets[1:])
    valid = None if nulls is None else pa.py_buffer(np.packbits(~nulls, bitorder="little"))
    return pa.Array.from_buffers(pa.binary(), len(lengths), [valid, pa.py_buffer(offsets), pa.py_buffer(data)])


def _decode_numbers(field: Field, head: _StoredVector, payload: _PayloadReader) -> pa.Array:
    """Returns numbers, which are stored as differences from a base or from the number before."""
    nulls = payload.nulls(head)
    base = payload.array(_WIDTHS[8], 1)[0]
    step = payload.array(_WIDTHS[8], 1)[0] if head.transform else None
    numbers = payload.array(_WIDTHS[head.code_width], head.rows).astype(np.uint64)
    payload.end()
    if step is not None:
        if nulls is not None or (head.rows and numbers[0]):
            raise _make_damage_error("differences with nulls, or from nothing")
        numbers[1:] += step
        numbers = np.cumsum(numbers, dtype=np.uint64)
    numbers += base
    if head.value_bytes < 8 and head.rows and int(numbers.max()) >> (8 * head.value_bytes):
        raise _make_damage_error(f"a number of more than {head.value_bytes} bytes")
    return from_numbers(field.scalar, numbers, nulls)


def _decode_lists(field: Field, head: _StoredVector, payload: _PayloadReader) -> pa.Array:
    """Returns lists, whose elements are a vector of their own."""
    nulls = payload.nulls(head)
    lengths = payload.array(_WIDTHS[head.code_width], head.rows)
    inner = _read_header(payload.rest())
    if inner.form == _LIST or inner.codec:
        raise _make_damage_error("a list of lists, or of compressed elements")
    elements = _decode_values(field, inner, _decompress(inner))
    if (nulls is not None and lengths[nulls].any()) or int(lengths.sum(dtype=np.uint64)) != len(elements):
        raise _make_damage_error(f"lists that do not share out {len(elements)} elements")
    offsets = np.zeros(len(lengths) + 1, np.int32)
    np.cumsum(lengths, out=offsets[1:])
    return pa.ListArray.from_arrays(pa.array(offsets), elements, mask=None if nulls is None else pa.array(nulls))
