"""Encodes and decodes *vectors*: a field's values in many events as one cell (``docs/keys.md``).

A vector is a header (``vector_header.py``) and a payload. The functions here know the payloads; ``column.py`` decides
which form a column takes. Numbers are little-endian.
"""

from __future__ import annotations

import struct
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from watchfloor.schema.field import Field
from watchfloor.store.encoding.byte_arrays import make_binary_array, to_byte_rows
from watchfloor.store.encoding.numbers import NUMBER_BYTES, from_numbers
from watchfloor.store.encoding.values import decode_elements

from .packed_bits import find_bit_width, pack_bits
from .packed_values import decode_values, encode_values
from .strings import TakenStrings
from .vector_header import (
    DICTIONARY,
    LIST,
    MAX_ROWS,
    NUMBERS,
    PACKED,
    PLAIN,
    ROWS_AT,
    U32,
    WHOLE,
    WIDTHS,
    Buffer,
    Codec,
    PayloadReader,
    Shape,
    StoredVector,
    decompress,
    make_damage_error,
    pack_vector,
    read_header,
)

Compression = Codec | Literal["packed"]

CODEC: Compression = "packed"
"""How newly written blocks are compressed (``docs/decisions/blocks/0017-any-row-alone.md``)."""
_ANCHORED = 128
"""In packed differences each of so many numbers is written down whole."""


def find_unsigned_width(most: int) -> int:
    """Returns the smallest width, of 1, 2, 4 and 8 bytes, that holds ``most``."""
    return 1 if most < 1 << 8 else 2 if most < 1 << 16 else 4 if most < 1 << 32 else 8


def encode_dictionary(
    strings: TakenStrings, bounds: tuple[bytes, bytes] | None, codes: np.ndarray, compression: Compression
) -> bytes:
    """Returns a vector of codes and their dictionary.

    ``strings`` are distinct and in ascending order; ``bounds`` are the first and the last of them. The code
    ``len(strings)`` means null.
    """
    count = len(strings.lengths)
    head = U32.type(count).tobytes()
    if compression == "packed":
        width = find_bit_width(count)
        payload = [head, *encode_values(strings), pack_bits(codes, width)]
        return pack_vector(Shape(DICTIONARY, len(codes), bounds, code_width=width, version=PACKED), payload, "none")
    width = find_unsigned_width(count)
    payload = [head, strings.lengths.astype(U32).tobytes(), strings.read(), codes.astype(WIDTHS[width]).tobytes()]
    return pack_vector(Shape(DICTIONARY, len(codes), bounds, code_width=width), payload, compression)


def encode_plain(
    strings: TakenStrings, valid: np.ndarray | None, bounds: tuple[bytes, bytes] | None, compression: Compression
) -> bytes:
    """Returns a vector of strings one after the other.

    ``valid`` is false where one is null, and stands there as an empty one; None if none is null. ``bounds`` are the
    smallest and the largest string.
    """
    rows, bitmap = len(strings.lengths), _pack_validity(valid)
    if compression == "packed":
        shape = Shape(PLAIN, rows, bounds, valid is not None, version=PACKED)
        return pack_vector(shape, [*bitmap, *encode_values(strings)], "none")
    payload = [*bitmap, strings.lengths.astype(U32).tobytes(), strings.read()]
    return pack_vector(Shape(PLAIN, rows, bounds, valid is not None), payload, compression)


def encode_numbers(numbers: np.ndarray, valid: np.ndarray | None, value_bytes: int, compression: Compression) -> bytes:
    """Returns a vector of uint64 numbers, which are encoded values of ``value_bytes`` bytes.

    ``valid`` is false where the value is null; None if no value is null.
    """
    packed = compression == "packed"
    find_width = find_bit_width if packed else find_unsigned_width
    known = numbers if valid is None else numbers[valid]
    low, high = (int(known.min()), int(known.max())) if len(known) else (0, 0)
    bounds = (low.to_bytes(value_bytes, "big"), high.to_bytes(value_bytes, "big")) if len(known) else None
    width, transform = find_width(high - low), 0
    if valid is None and width > 1 and len(numbers) > 1:
        # Numbers that hardly change from one event to the next, such as times, are stored as differences.
        steps = np.diff(numbers).view(np.int64)
        step = int(steps.min())
        narrow = find_width(int(steps.max()) - step)
        if narrow < (width * (1 - 1 / _ANCHORED) - 1 if packed else width):
            width, transform = narrow, 1
            offsets = np.zeros(len(numbers), np.uint64)
            np.subtract(steps, np.int64(step), out=offsets[1:].view(np.int64))
            anchors = numbers[::_ANCHORED].astype("<u8").tobytes() if packed else b""
            head = struct.pack("<q", step) + anchors if packed else struct.pack("<Qq", int(numbers[0]), step)
    if not transform:
        offsets = numbers - np.uint64(low)
        if valid is not None:
            offsets[~valid] = 0
        head = struct.pack("<Q", low)
    body = pack_bits(offsets, width) if packed else offsets.astype(WIDTHS[width]).tobytes()
    version = PACKED if packed else WHOLE
    shape = Shape(NUMBERS, len(numbers), bounds, valid is not None, value_bytes, width, transform, version=version)
    return pack_vector(shape, [*_pack_validity(valid), head, body], "none" if compression == "packed" else compression)


def encode_list(lengths: np.ndarray, valid: np.ndarray | None, elements: bytes, compression: Compression) -> bytes:
    """Returns a vector of lists: their ``lengths`` (0 where null), and ``elements``, a vector of all their elements."""
    inner = read_header(memoryview(elements))
    most = int(lengths.max()) if len(lengths) else 0
    if compression == "packed":
        width, version = find_bit_width(most), PACKED
        body = pack_bits(lengths, width)
    else:
        width, version = find_unsigned_width(most), WHOLE
        body = lengths.astype(WIDTHS[width]).tobytes()
    shape = Shape(
        LIST,
        len(lengths),
        inner.bounds,
        valid is not None,
        code_width=width,
        max_cut=inner.max_cut,
        version=version,
    )
    payload = [*_pack_validity(valid), body, elements]
    return pack_vector(shape, payload, "none" if compression == "packed" else compression)


def _pack_validity(valid: np.ndarray | None) -> list[bytes]:
    """Returns the bitmap as part of a payload; nothing for None."""
    return [] if valid is None else [np.packbits(valid, bitorder="little").tobytes()]


def decode_vector(field: Field, vector: Buffer) -> pa.Array:
    """Returns the values of a field as its Arrow type. Raises ``StoreError`` if the vector is damaged."""
    head = read_header(memoryview(vector))
    if (head.form == LIST) != field.is_list:
        raise make_damage_error(
            f"it has form {head.form}, which does not fit the field {field.name}, a {field.type_name}"
        )
    return _decode_values(field, head, decompress(head))


def decode_binary(vector: Buffer) -> pa.BinaryArray:
    """Returns the encoded values of a dictionary or plain vector."""
    head = read_header(memoryview(vector))
    if head.form == DICTIONARY:
        values, codes = _decode_dictionary(head, decompress(head))
        return values.take(codes)
    if head.form == PLAIN:
        return _decode_plain(head, decompress(head))
    raise make_damage_error(f"form {head.form} where bytes were expected")


def is_readable_alone(vector: Buffer) -> bool:
    """Returns whether a vector is not compressed as a whole, as the elements of lists must be."""
    return read_header(memoryview(vector)).codec == 0


def count_rows(vector: Buffer) -> int:
    """Returns the number of values of a vector."""
    return read_header(memoryview(vector)).rows


def count_rows_of_each(vectors: pa.BinaryArray) -> np.ndarray:
    """Returns the number of values of each of many vectors, int64, from their headers, which are not checked."""
    return to_byte_rows(pc.binary_slice(vectors, ROWS_AT, ROWS_AT + 4), 4).view(U32).reshape(-1).astype(np.int64)


def _decode_values(field: Field, head: StoredVector, payload: PayloadReader) -> pa.Array:
    """Returns the values of a field from a payload in any form."""
    try:
        if head.form == DICTIONARY:
            values, codes = _decode_dictionary(head, payload)
            return decode_elements(field, values).take(codes)
        if head.form == PLAIN:
            return decode_elements(field, _decode_plain(head, payload))
        if head.form == NUMBERS:
            if NUMBER_BYTES.get(field.scalar) != head.value_bytes:
                raise make_damage_error(f"numbers of {head.value_bytes} bytes for a {field.scalar.value}")
            return _decode_numbers(field, head, payload)
        return _decode_lists(field, head, payload)
    except pa.ArrowException as error:
        raise make_damage_error(f"values of the field {field.name}: {error}") from error


def _decode_dictionary(head: StoredVector, payload: PayloadReader) -> tuple[pa.BinaryArray, pa.Array]:
    """Returns the distinct values and the codes; a code is null where the value is."""
    if head.nulls or head.code_width == (64 if head.is_packed else 8):
        raise make_damage_error("a dictionary with a bitmap, or codes of 8 bytes")
    count = int(payload.array(U32, 1)[0])
    if count > MAX_ROWS:
        raise make_damage_error(f"a dictionary of {count} values")
    if head.is_packed:
        lengths, data = decode_values(payload, count)
    else:
        lengths = payload.array(U32, count)
        data = payload.take(int(lengths.sum(dtype=np.int64)))
    values = make_binary_array(lengths, data)
    codes = payload.numbers(head, head.rows)
    payload.end()
    highest = int(codes.max()) if head.rows else 0
    if highest > count:
        raise make_damage_error(f"a code {highest} in a dictionary of {count}")
    return values, pa.array(codes, mask=codes == count if highest == count else None)


def _decode_plain(head: StoredVector, payload: PayloadReader) -> pa.BinaryArray:
    """Returns the values of a plain vector."""
    nulls = payload.nulls(head)
    if head.is_packed:
        lengths, data = decode_values(payload, head.rows)
        payload.end()
    else:
        lengths, data = payload.array(U32, head.rows), payload.rest()
    if nulls is not None and lengths[nulls].any():
        raise make_damage_error("a null that has bytes")
    if int(lengths.sum(dtype=np.int64)) != len(data):
        raise make_damage_error(f"its lengths do not add up to {len(data)}")
    return make_binary_array(lengths, data, nulls)


def _decode_numbers(field: Field, head: StoredVector, payload: PayloadReader) -> pa.Array:
    """Returns numbers, which are stored as differences from a base or from the number before."""
    nulls = payload.nulls(head)
    if head.transform and nulls is not None:
        raise make_damage_error("differences with nulls")
    base = payload.array(WIDTHS[8], 1)[0]
    if head.transform and head.is_packed:
        numbers = _add_up_from_anchors(payload.array(WIDTHS[8], -(-head.rows // _ANCHORED)), base, payload, head)
    elif head.transform:
        numbers = _add_up(base, payload.array(WIDTHS[8], 1)[0], payload.numbers(head, head.rows))
    else:
        numbers = payload.numbers(head, head.rows).astype(np.uint64) + base
    payload.end()
    if head.value_bytes < 8 and head.rows and int(numbers.max()) >> (8 * head.value_bytes):
        raise make_damage_error(f"a number of more than {head.value_bytes} bytes")
    return from_numbers(field.scalar, numbers, nulls)


def _add_up(first: np.uint64, step: np.uint64, differences: np.ndarray) -> np.ndarray:
    """Returns the numbers of which the first one is given, and from each to the next the difference, less the step."""
    numbers = differences.astype(np.uint64)
    if len(numbers) and numbers[0]:
        raise make_damage_error("differences from nothing")
    numbers[1:] += step
    return np.cumsum(numbers, dtype=np.uint64) + first


def _add_up_from_anchors(
    anchors: np.ndarray, step: np.uint64, payload: PayloadReader, head: StoredVector
) -> np.ndarray:
    """Returns the numbers of which each 128th one is given, and from each to the next the difference, less the step."""
    numbers = np.zeros(len(anchors) * _ANCHORED, np.uint64)
    numbers[: head.rows] = payload.numbers(head, head.rows) + step
    parts = numbers.reshape(-1, _ANCHORED)
    parts[:, 0] = anchors
    return np.cumsum(parts, axis=1, dtype=np.uint64).reshape(-1)[: head.rows]


def _decode_lists(field: Field, head: StoredVector, payload: PayloadReader) -> pa.Array:
    """Returns lists, whose elements are a vector of their own."""
    nulls = payload.nulls(head)
    lengths = payload.numbers(head, head.rows)
    inner = read_header(payload.rest())
    if inner.form == LIST or inner.codec:
        raise make_damage_error("a list of lists, or of compressed elements")
    elements = _decode_values(field, inner, decompress(inner))
    if (nulls is not None and lengths[nulls].any()) or int(lengths.sum(dtype=np.uint64)) != len(elements):
        raise make_damage_error(f"lists that do not share out {len(elements)} elements")
    offsets = np.zeros(len(lengths) + 1, np.int32)
    np.cumsum(lengths, out=offsets[1:])
    return pa.ListArray.from_arrays(pa.array(offsets), elements, mask=None if nulls is None else pa.array(nulls))
