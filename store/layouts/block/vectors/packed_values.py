"""The values of a packed dictionary or plain vector: bytes of any length, of which any is read alone.

They are written as: u8 kind (0 as they are, 1 compressed by symbols), u8 width of a length, u32 length of all values as
stored, the table of the symbols if there is one, for each 32nd value its start (u32), the packed lengths, the values.
"""

from __future__ import annotations

import struct

import numpy as np

from .packed_bits import find_bit_width, pack_bits
from .strings import TakenStrings
from .symbols import CompressedStrings, decompress, read_table
from .vector_header import U32, Buffer, PayloadReader, make_damage_error

_HEADER = struct.Struct("<BBI")
_RAW, _SYMBOLS = 0, 1
_ANCHORED = 32
FEWEST_BYTES = 1024
"""Values of fewer bytes in all are stored as they are: a table takes about as much."""
_WORTH = 0.9
"""Compressed values are stored if they, with their table, have at most this share of the bytes."""


def encode_values(strings: TakenStrings) -> list[Buffer]:
    """Returns strings one after the other as parts of a payload: as they are, or by symbols if that is worth it."""
    size = int(strings.lengths.sum())
    compressed = strings.compress() if size >= FEWEST_BYTES else None
    if compressed is not None and len(compressed.table) + len(compressed.data) <= _WORTH * size:
        return _write_values(_SYMBOLS, compressed)
    return _write_values(_RAW, CompressedStrings(b"", strings.lengths, strings.read()))


def _write_values(kind: int, values: CompressedStrings) -> list[Buffer]:
    lengths = values.lengths
    width = find_bit_width(int(lengths.max()) if len(lengths) else 0)
    starts = (np.cumsum(lengths) - lengths)[::_ANCHORED].astype(U32)
    head = _HEADER.pack(kind, width, len(values.data))
    return [head, values.table, starts.tobytes(), pack_bits(lengths, width), values.data]


def decode_values(payload: PayloadReader, count: int) -> tuple[np.ndarray, memoryview]:
    """Returns the lengths and the bytes of ``count`` values. Raises ``StoreError`` if they are damaged."""
    kind, width, size = _HEADER.unpack(payload.take(_HEADER.size))
    if kind not in (_RAW, _SYMBOLS) or width > 30:
        raise make_damage_error(f"values of kind {kind} with lengths of {width} bits")
    table = None
    if kind == _SYMBOLS:
        table = read_table(payload.peek())
        if table is None:
            raise make_damage_error("its symbols are damaged")
        payload.take(table[2])
    starts = payload.array(U32, -(-count // _ANCHORED))
    lengths = payload.packed(count, width).astype(np.int64)
    data = payload.take(size)
    ends = np.cumsum(lengths)
    if (int(ends[-1]) if count else 0) != size or (starts != (ends - lengths)[::_ANCHORED]).any():
        raise make_damage_error(f"the lengths of its values do not add up to {size}")
    if table is None:
        return lengths, data
    decoded = decompress(table, lengths, data)
    if decoded is None:
        raise make_damage_error("a value has a code without a symbol")
    return decoded[0], memoryview(decoded[1])
