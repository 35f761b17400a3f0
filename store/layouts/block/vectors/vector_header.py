"""The header of a vector, and how its payload is compressed and taken apart (``docs/keys.md``).

Numbers are little-endian.

In version 1 a payload may be compressed as a whole. In version 2, which is called *packed*, it never is: numbers have a
width in bits, and any row is read alone.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, Union

import numpy as np
import pyarrow as pa

from watchfloor.schema.errors import StoreError

from .packed_bits import count_packed_bytes, unpack_bits

Codec = Literal["none", "zstd", "lz4_raw"]
Buffer = Union[bytes, memoryview, pa.Buffer]

MAX_ROWS = 1 << 20
MAX_PLAIN = 1 << 30
DICTIONARY, PLAIN, NUMBERS, LIST = 1, 2, 3, 4
WHOLE, PACKED = 1, 2
ROWS_AT = 8
_MAGIC = 0xB7
_NULLS, _BOUNDS, _MAX_CUT = 1, 2, 4
_HEADER = struct.Struct("<8B3I2H")
_CRC_AT, _BOUNDS_AT = 16, 24
_BOUND_BYTES = 64
_CODECS: dict[Codec, int] = {"none": 0, "zstd": 1, "lz4_raw": 2}
WIDTHS: dict[int, np.dtype[Any]] = {1: np.dtype("<u1"), 2: np.dtype("<u2"), 4: np.dtype("<u4"), 8: np.dtype("<u8")}
U32 = np.dtype("<u4")
_LEVEL = 1


@cache
def _find_codec(name: str) -> pa.Codec:
    return pa.Codec("zstd", compression_level=_LEVEL) if name == "zstd" else pa.Codec(name)


def compress_bytes(data: bytes) -> bytes:
    """Returns bytes compressed as a payload is by default if it is not packed."""
    compressed: bytes = _find_codec("lz4_raw").compress(data, asbytes=True)
    return compressed


@dataclass(frozen=True)
class Shape:
    """The part of a vector's header that describes its values.

    ``bounds`` are the smallest and the largest value; ``max_cut`` is true if the largest was cut. ``nulls`` is true if
    a bitmap marks nulls. ``value_bytes`` is the width of encoded numbers, ``code_width`` the width of codes,
    differences or lengths in the payload: in bytes, or in bits if ``version`` is ``PACKED``. ``transform`` 1 means
    differences between successive numbers.
    """

    form: int
    rows: int
    bounds: tuple[bytes, bytes] | None
    nulls: bool = False
    value_bytes: int = 0
    code_width: int = 0
    transform: int = 0
    max_cut: bool = False
    version: int = WHOLE

    @property
    def is_packed(self) -> bool:
        return self.version == PACKED


@dataclass(frozen=True, kw_only=True)
class StoredVector(Shape):
    """A vector whose header and checksum were checked.

    ``payload`` is as it is stored, and ``plain`` the number of its bytes when decompressed.
    """

    codec: int
    plain: int
    payload: memoryview


def pack_vector(shape: Shape, payload: Sequence[Buffer], codec: Codec) -> bytes:
    """Returns a vector: the header and the payload, compressed if that makes it smaller."""
    plain = b"".join(payload)
    stored, number = plain, 0
    if codec != "none":
        packed = _find_codec(codec).compress(plain, asbytes=True)
        if len(packed) < len(plain):
            stored, number = packed, _CODECS[codec]
    flags = _NULLS * shape.nulls
    low = high = b""
    if shape.bounds is not None:
        flags |= _BOUNDS | _MAX_CUT * (shape.max_cut or len(shape.bounds[1]) > _BOUND_BYTES)
        low, high = (bound[:_BOUND_BYTES] for bound in shape.bounds)
    widths = shape.value_bytes, shape.code_width, shape.transform
    fixed = (_MAGIC, shape.version, shape.form, number, flags, *widths, shape.rows, len(plain))
    rest = struct.pack("<2H", len(low), len(high)) + low + high
    start = struct.pack("<8B2I", *fixed)
    crc = zlib.crc32(stored, zlib.crc32(rest, zlib.crc32(start)))
    return b"".join((start, crc.to_bytes(4, "little"), rest, stored))


def find_bounds(vector: bytes) -> tuple[bytes, bytes, bool] | None:
    """Returns the bounds in a header, which is not checked, and whether the greater one is cut; None if it has none."""
    *_, flags, _, _, _, _, _, _, low, high = _HEADER.unpack_from(vector)
    if not flags & _BOUNDS:
        return None
    end = _BOUNDS_AT + low
    return vector[_BOUNDS_AT:end], vector[end : end + high], bool(flags & _MAX_CUT)


def has_all_rows(vector: bytes) -> bool:
    """Returns whether a header, which is not checked, says that no value is null. That of a dictionary never does."""
    _, _, form, _, flags, *_ = _HEADER.unpack_from(vector)
    return form in (PLAIN, NUMBERS) and not flags & _NULLS


def make_damage_error(why: str) -> StoreError:
    return StoreError(f"a stored vector is damaged: {why}")


def read_header(vector: memoryview) -> StoredVector:
    """Returns a vector after checking its header and checksum. Raises ``StoreError`` if it is damaged."""
    if len(vector) < _BOUNDS_AT:
        raise make_damage_error(f"{len(vector)} bytes are less than a header")
    magic, version, form, codec, flags, value_bytes, code_width, transform, rows, plain, crc, low, high = (
        _HEADER.unpack_from(vector)
    )
    if magic != _MAGIC or version not in (WHOLE, PACKED):
        raise make_damage_error(f"it begins with {magic:#x} and version {version}, not {_MAGIC:#x} and 1 or 2")
    if crc != zlib.crc32(vector[_CRC_AT + 4 :], zlib.crc32(vector[:_CRC_AT])):
        raise make_damage_error("its checksum is wrong")
    if rows > MAX_ROWS or plain > MAX_PLAIN:
        raise make_damage_error(f"{rows} rows in {plain} bytes are more than a vector may have")
    if not 1 <= form <= 4 or codec > 2 or flags & ~7 or transform > (form == NUMBERS):
        raise make_damage_error(f"unknown form {form}, codec {codec}, flags {flags} or transform {transform}")
    start = _BOUNDS_AT + low + high
    if start > len(vector) or ((low or high) and not flags & _BOUNDS) or max(low, high) > _BOUND_BYTES:
        raise make_damage_error(f"bounds of {low} and {high} bytes do not fit in its {len(vector)}")
    if version == PACKED and codec:
        raise make_damage_error("a packed payload is compressed")
    _check_widths(form, version, value_bytes, code_width)
    bounds = None
    if flags & _BOUNDS:
        bounds = bytes(vector[_BOUNDS_AT : _BOUNDS_AT + low]), bytes(vector[_BOUNDS_AT + low : start])
    return StoredVector(
        form,
        rows,
        bounds,
        nulls=bool(flags & _NULLS),
        value_bytes=value_bytes,
        code_width=code_width,
        transform=transform,
        max_cut=bool(flags & _MAX_CUT),
        version=version,
        codec=codec,
        plain=plain,
        payload=vector[start:],
    )


def _check_widths(form: int, version: int, value_bytes: int, code_width: int) -> None:
    known = code_width <= 64 if version == PACKED else code_width in WIDTHS
    if code_width if form == PLAIN else not known:
        raise make_damage_error(f"codes of width {code_width}")
    if (value_bytes not in (1, 2, 8)) if form == NUMBERS else value_bytes != 0:
        raise make_damage_error(f"values of {value_bytes} bytes")


def decompress(head: StoredVector) -> PayloadReader:
    """Returns a reader of the decompressed payload. Raises ``StoreError`` if it does not decompress."""
    if head.codec == 0:
        if len(head.payload) != head.plain:
            raise make_damage_error(f"a payload of {len(head.payload)} bytes, not {head.plain}")
        return PayloadReader(head.payload)
    name = next(name for name, number in _CODECS.items() if number == head.codec)
    if not head.plain:
        raise make_damage_error("nothing, compressed")
    try:
        plain = _find_codec(name).decompress(head.payload, decompressed_size=head.plain)
    except (pa.ArrowException, OSError) as error:
        raise make_damage_error(f"its payload does not decompress: {error}") from error
    if plain.size != head.plain:
        raise make_damage_error(f"its payload decompresses to {plain.size} bytes, not {head.plain}")
    return PayloadReader(memoryview(plain))


class PayloadReader:
    """Takes a payload apart from its beginning. Raises ``StoreError`` if bytes are missing or left over."""

    def __init__(self, payload: memoryview) -> None:
        self._payload, self._at = payload, 0

    def take(self, size: int) -> memoryview:
        """Returns the next ``size`` bytes."""
        piece = self._payload[self._at : self._at + size]
        if len(piece) != size:
            raise make_damage_error(f"its payload of {len(self._payload)} bytes is too short")
        self._at += size
        return piece

    def peek(self) -> memoryview:
        """Returns the bytes that are left, without taking them."""
        return self._payload[self._at :]

    def array(self, dtype: np.dtype[Any], count: int) -> np.ndarray:
        return np.frombuffer(self.take(count * dtype.itemsize), dtype)

    def packed(self, count: int, width: int) -> np.ndarray:
        """Returns the next ``count`` packed numbers, uint64."""
        return unpack_bits(self.take(count_packed_bytes(count, width)), count, width)

    def numbers(self, head: StoredVector, count: int) -> np.ndarray:
        """Returns the next ``count`` numbers of the width that the header tells."""
        if head.is_packed:
            return self.packed(count, head.code_width)
        return self.array(WIDTHS[head.code_width], count)

    def nulls(self, head: StoredVector) -> np.ndarray | None:
        """Returns a boolean per row that is true for nulls; None if the vector has no bitmap of nulls."""
        if not head.nulls:
            return None
        bits = np.unpackbits(self.array(np.dtype("u1"), -(-head.rows // 8)), count=head.rows, bitorder="little")
        return bits == 0

    def rest(self) -> memoryview:
        return self.take(len(self._payload) - self._at)

    def end(self) -> None:
        if self._at != len(self._payload):
            raise make_damage_error(f"{len(self._payload) - self._at} bytes are left over")
