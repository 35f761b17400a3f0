"""A field's values of many events as one cell, the *vector* (``docs/keys.md``): read by ``decode_vector``.

A vector is a header (form, codec, rows, a checksum, the smallest and the largest value) and a payload, compressed. The
functions here know the format; ``column.py`` decides which form a column takes. Numbers are little-endian.
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
"""What blocks are written with (``docs/decisions/0005-vectors-codecs-and-sizes.md``)."""
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
def _codec(name: str) -> pa.Codec:
    return pa.Codec("zstd", compression_level=_LEVEL) if name == "zstd" else pa.Codec(name)


def unsigned_width(most: int) -> int:
    """The fewest bytes, of 1, 2, 4 and 8, that hold ``most``."""
    return 1 if most < 1 << 8 else 2 if most < 1 << 16 else 4 if most < 1 << 32 else 8


def dictionary_vector(values: pa.BinaryArray, codes: np.ndarray, compression: Compression) -> bytes:
    """``values`` are distinct and ascend; ``codes`` point into them, ``len(values)`` means null."""
    count = len(values)
    width = unsigned_width(count)
    lengths, data = _bytes_of(values)
    payload = [_U32.type(count).tobytes(), lengths.tobytes(), data, codes.astype(_WIDTHS[width]).tobytes()]
    bounds = (values[0].as_py(), values[count - 1].as_py()) if count else None
    return _vector(_DICTIONARY, len(codes), payload, compression, bounds, code_width=width)


def plain_vector(values: pa.BinaryArray, bounds: tuple[bytes, bytes] | None, compression: Compression) -> bytes:
    """Values one after the other; ``bounds`` are the smallest and the largest."""
    valid = _validity(values)
    lengths, data = _bytes_of(values.fill_null(b"") if valid is not None else values)
    return _vector(
        _PLAIN, len(values), [*_bitmap(valid), lengths.tobytes(), data], compression, bounds, nulls=valid is not None
    )


def numbers_vector(numbers: np.ndarray, valid: np.ndarray | None, value_bytes: int, compression: Compression) -> bytes:
    """``numbers`` (uint64) are encoded values of ``value_bytes`` read as numbers; ``valid`` None: none is null."""
    known = numbers if valid is None else numbers[valid]
    low, high = (int(known.min()), int(known.max())) if len(known) else (0, 0)
    bounds = (low.to_bytes(value_bytes, "big"), high.to_bytes(value_bytes, "big")) if len(known) else None
    width, transform = unsigned_width(high - low), 0
    if valid is None and width > 1 and len(numbers) > 1:
        # Numbers that hardly change from one event to the next, as times do, are told by their differences.
        steps = np.diff(numbers).view(np.int64)
        step = int(steps.min())
        narrow = unsigned_width(int(steps.max()) - step)
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
    payload = [*_bitmap(valid), head, offsets.astype(_WIDTHS[width]).tobytes()]
    return _vector(
        _NUMBERS,
        len(numbers),
        payload,
        compression,
        bounds,
        nulls=valid is not None,
        value_bytes=value_bytes,
        code_width=width,
        transform=transform,
    )


def list_vector(lengths: np.ndarray, valid: np.ndarray | None, elements: bytes, compression: Compression) -> bytes:
    """``lengths`` (0 where null) of the lists whose elements all together are the vector ``elements``."""
    width = unsigned_width(int(lengths.max()) if len(lengths) else 0)
    inner = _head(memoryview(elements))
    payload = [*_bitmap(valid), lengths.astype(_WIDTHS[width]).tobytes(), elements]
    return _vector(
        _LIST,
        len(lengths),
        payload,
        compression,
        inner.bounds,
        nulls=valid is not None,
        code_width=width,
        max_cut=inner.max_cut,
    )


def _vector(
    form: int,
    rows: int,
    payload: list[bytes],
    compression: Compression,
    bounds: tuple[bytes, bytes] | None,
    nulls: bool = False,
    value_bytes: int = 0,
    code_width: int = 0,
    transform: int = 0,
    max_cut: bool = False,
) -> bytes:
    """``max_cut``: the upper of the ``bounds`` has been cut before."""
    plain = b"".join(payload)
    stored, codec = plain, 0
    if compression != "none":
        packed = _codec(compression).compress(plain, asbytes=True)
        if len(packed) < len(plain):
            stored, codec = packed, _CODECS[compression]
    flags = _NULLS * nulls
    low = high = b""
    if bounds is not None:
        flags |= _BOUNDS | _MAX_CUT * (max_cut or len(bounds[1]) > _BOUND_BYTES)
        low, high = (bound[:_BOUND_BYTES] for bound in bounds)
    fixed = (_MAGIC, _VERSION, form, codec, flags, value_bytes, code_width, transform, rows, len(plain))
    rest = struct.pack("<2H", len(low), len(high)) + low + high
    start = struct.pack("<8B2I", *fixed)
    crc = zlib.crc32(stored, zlib.crc32(rest, zlib.crc32(start)))
    return b"".join((start, crc.to_bytes(4, "little"), rest, stored))


def _bitmap(valid: np.ndarray | None) -> list[bytes]:
    return [] if valid is None else [np.packbits(valid, bitorder="little").tobytes()]


def _validity(column: pa.Array) -> np.ndarray | None:
    return column.is_valid().to_numpy(zero_copy_only=False) if column.null_count else None


def _bytes_of(values: pa.BinaryArray) -> tuple[np.ndarray, bytes]:
    """The lengths and the bytes of values without nulls."""
    if not len(values):
        return np.empty(0, _U32), b""
    offsets = np.frombuffer(values.buffers()[1], np.int32, len(values) + 1, values.offset * 4)
    data = values.buffers()[2]
    first, last = int(offsets[0]), int(offsets[-1])
    return np.diff(offsets).astype(_U32), memoryview(data)[first:last].tobytes() if data is not None else b""


@dataclass(frozen=True)
class _Head:
    """A vector that has been checked as far as its header goes, and its payload as it is stored."""

    form: int
    codec: int
    nulls: bool
    value_bytes: int
    code_width: int
    transform: int
    rows: int
    plain: int
    bounds: tuple[bytes, bytes] | None
    max_cut: bool
    payload: memoryview


def decode_vector(field: Field, vector: Buffer) -> pa.Array:
    """The values of a field as its Arrow type. ``StoreError`` if anything about the vector is not right."""
    head = _head(memoryview(vector))
    if (head.form == _LIST) != field.is_list:
        raise _damaged(f"it has form {head.form}, which does not fit the field {field.name}, a {field.type_name}")
    return _values(field, head, _plain(head))


def decode_binary(vector: Buffer) -> pa.BinaryArray:
    """The encoded values of a dictionary or plain vector."""
    head = _head(memoryview(vector))
    if head.form == _DICTIONARY:
        values, codes = _dictionary(head, _plain(head))
        return values.take(codes)
    if head.form == _PLAIN:
        return _plain_values(head, _plain(head))
    raise _damaged(f"form {head.form} where bytes were expected")


def rows_of(vector: Buffer) -> int:
    """How many values a vector has."""
    return _head(memoryview(vector)).rows


def rows_of_each(vectors: pa.BinaryArray) -> np.ndarray:
    """How many values each of many vectors has, int64, by what they say without a check."""
    return to_byte_rows(pc.binary_slice(vectors, _ROWS_AT, _ROWS_AT + 4), 4).view(_U32).reshape(-1).astype(np.int64)


def _damaged(why: str) -> StoreError:
    return StoreError(f"a stored vector is damaged: {why}")


def _head(vector: memoryview) -> _Head:
    if len(vector) < _BOUNDS_AT:
        raise _damaged(f"{len(vector)} bytes are less than a header")
    magic, version, form, codec, flags, value_bytes, code_width, transform, rows, plain, crc, low, high = (
        _HEADER.unpack_from(vector)
    )
    if magic != _MAGIC or version != _VERSION:
        raise _damaged(f"it begins with {magic:#x} and version {version}, not {_MAGIC:#x} and {_VERSION}")
    if crc != zlib.crc32(vector[_CRC_AT + 4 :], zlib.crc32(vector[:_CRC_AT])):
        raise _damaged("its checksum is wrong")
    if rows > MAX_ROWS or plain > MAX_PLAIN:
        raise _damaged(f"{rows} rows in {plain} bytes are more than a vector may have")
    if not 1 <= form <= 4 or codec > 2 or flags & ~7 or transform > (form == _NUMBERS):
        raise _damaged(f"unknown form {form}, codec {codec}, flags {flags} or transform {transform}")
    start = _BOUNDS_AT + low + high
    if start > len(vector) or ((low or high) and not flags & _BOUNDS) or max(low, high) > _BOUND_BYTES:
        raise _damaged(f"bounds of {low} and {high} bytes do not fit in its {len(vector)}")
    if (form == _PLAIN and code_width) or (form != _PLAIN and code_width not in _WIDTHS):
        raise _damaged(f"codes of {code_width} bytes")
    if (value_bytes not in (1, 2, 8)) if form == _NUMBERS else value_bytes != 0:
        raise _damaged(f"values of {value_bytes} bytes")
    bounds = None
    if flags & _BOUNDS:
        bounds = bytes(vector[_BOUNDS_AT : _BOUNDS_AT + low]), bytes(vector[_BOUNDS_AT + low : start])
    return _Head(
        form,
        codec,
        bool(flags & _NULLS),
        value_bytes,
        code_width,
        transform,
        rows,
        plain,
        bounds,
        bool(flags & _MAX_CUT),
        vector[start:],
    )


def _plain(head: _Head) -> _Reader:
    """The payload, decompressed."""
    if head.codec == 0:
        if len(head.payload) != head.plain:
            raise _damaged(f"a payload of {len(head.payload)} bytes, not {head.plain}")
        return _Reader(head.payload)
    name = next(name for name, number in _CODECS.items() if number == head.codec)
    if not head.plain:
        raise _damaged("nothing, compressed")
    try:
        plain = _codec(name).decompress(head.payload, decompressed_size=head.plain)
    except (pa.ArrowException, OSError) as error:
        raise _damaged(f"its payload does not decompress: {error}") from error
    if plain.size != head.plain:
        raise _damaged(f"its payload decompresses to {plain.size} bytes, not {head.plain}")
    return _Reader(memoryview(plain))


class _Reader:
    """Pieces of a payload, each checked to be there."""

    def __init__(self, payload: memoryview) -> None:
        self._payload, self._at = payload, 0

    def take(self, size: int) -> memoryview:
        piece = self._payload[self._at : self._at + size]
        if len(piece) != size:
            raise _damaged(f"its payload of {len(self._payload)} bytes is too short")
        self._at += size
        return piece

    def array(self, dtype: np.dtype[Any], count: int) -> np.ndarray:
        return np.frombuffer(self.take(count * dtype.itemsize), dtype)

    def nulls(self, head: _Head) -> np.ndarray | None:
        """Which rows are null."""
        if not head.nulls:
            return None
        bits = np.unpackbits(self.array(np.dtype("u1"), -(-head.rows // 8)), count=head.rows, bitorder="little")
        return bits == 0

    def rest(self) -> memoryview:
        return self.take(len(self._payload) - self._at)

    def end(self) -> None:
        if self._at != len(self._payload):
            raise _damaged(f"{len(self._payload) - self._at} bytes are left over")


def _values(field: Field, head: _Head, payload: _Reader) -> pa.Array:
    try:
        if head.form == _DICTIONARY:
            values, codes = _dictionary(head, payload)
            return decode_elements(field, values).take(codes)
        if head.form == _PLAIN:
            return decode_elements(field, _plain_values(head, payload))
        if head.form == _NUMBERS:
            if NUMBER_BYTES.get(field.scalar) != head.value_bytes:
                raise _damaged(f"numbers of {head.value_bytes} bytes for a {field.scalar.value}")
            return _numbers(field, head, payload)
        return _lists(field, head, payload)
    except pa.ArrowException as error:
        raise _damaged(f"values of the field {field.name}: {error}") from error


def _dictionary(head: _Head, payload: _Reader) -> tuple[pa.BinaryArray, pa.Array]:
    if head.nulls or head.code_width == 8:
        raise _damaged("a dictionary with a bitmap, or codes of 8 bytes")
    count = int(payload.array(_U32, 1)[0])
    if count > MAX_ROWS:
        raise _damaged(f"a dictionary of {count} values")
    lengths = payload.array(_U32, count)
    values = _binary(lengths, payload.take(int(lengths.sum(dtype=np.int64))), None)
    codes = payload.array(_WIDTHS[head.code_width], head.rows)
    payload.end()
    highest = int(codes.max()) if head.rows else 0
    if highest > count:
        raise _damaged(f"a code {highest} in a dictionary of {count}")
    return values, pa.array(codes, mask=codes == count if highest == count else None)


def _plain_values(head: _Head, payload: _Reader) -> pa.BinaryArray:
    nulls = payload.nulls(head)
    lengths = payload.array(_U32, head.rows)
    if nulls is not None and lengths[nulls].any():
        raise _damaged("a null that has bytes")
    data = payload.rest()
    if int(lengths.sum(dtype=np.int64)) != len(data):
        raise _damaged(f"its lengths do not add up to {len(data)}")
    return _binary(lengths, data, nulls)


def _binary(lengths: np.ndarray, data: memoryview, nulls: np.ndarray | None) -> pa.BinaryArray:
    offsets = np.zeros(len(lengths) + 1, np.int32)
    np.cumsum(lengths, out=offsets[1:])
    valid = None if nulls is None else pa.py_buffer(np.packbits(~nulls, bitorder="little"))
    return pa.Array.from_buffers(pa.binary(), len(lengths), [valid, pa.py_buffer(offsets), pa.py_buffer(data)])


def _numbers(field: Field, head: _Head, payload: _Reader) -> pa.Array:
    nulls = payload.nulls(head)
    base = payload.array(_WIDTHS[8], 1)[0]
    step = payload.array(_WIDTHS[8], 1)[0] if head.transform else None
    numbers = payload.array(_WIDTHS[head.code_width], head.rows).astype(np.uint64)
    payload.end()
    if step is not None:
        if nulls is not None or (head.rows and numbers[0]):
            raise _damaged("differences with nulls, or from nothing")
        numbers[1:] += step
        numbers = np.cumsum(numbers, dtype=np.uint64)
    numbers += base
    if head.value_bytes < 8 and head.rows and int(numbers.max()) >> (8 * head.value_bytes):
        raise _damaged(f"a number of more than {head.value_bytes} bytes")
    return from_numbers(field.scalar, numbers, nulls)


def _lists(field: Field, head: _Head, payload: _Reader) -> pa.Array:
    nulls = payload.nulls(head)
    lengths = payload.array(_WIDTHS[head.code_width], head.rows)
    inner = _head(payload.rest())
    if inner.form == _LIST or inner.codec:
        raise _damaged("a list of lists, or of compressed elements")
    elements = _values(field, inner, _plain(inner))
    if (nulls is not None and lengths[nulls].any()) or int(lengths.sum(dtype=np.uint64)) != len(elements):
        raise _damaged(f"lists that do not share out {len(elements)} elements")
    offsets = np.zeros(len(lengths) + 1, np.int32)
    np.cumsum(lengths, out=offsets[1:])
    return pa.ListArray.from_arrays(pa.array(offsets), elements, mask=None if nulls is None else pa.array(nulls))
