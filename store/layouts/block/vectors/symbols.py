"""Strings compressed by symbols, as FSST does (Boncz, Neumann and Leis, PVLDB 2020), so that any string is read alone.

A code of one byte stands for a symbol of 1 to 8 bytes; the code 255 says that the next byte stands for itself. Java
compresses (``StringCompressor``), because that goes byte by byte.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jpype
import numpy as np

from watchfloor.store.bridge import jvm
from watchfloor.store.bridge.call import array_class, call_java, to_java_bytes

ESCAPE = 255
_LONGEST = 8


@dataclass(frozen=True)
class CompressedStrings:
    """Strings one after the other, compressed: the table of their symbols, lengths (int64), and the bytes."""

    table: bytes
    lengths: np.ndarray
    data: bytes | memoryview


class StringCompressor:
    """Compresses strings like those for which it was made."""

    def __init__(self, data: bytes, lengths: np.ndarray) -> None:
        """``data`` are strings one after the other, and ``lengths`` the length of each."""
        make = jvm.java_class("watchfloor.block.vector.packing.StringCompressor")
        self._java: Any = call_java(make, to_java_bytes(data), find_ends(lengths))
        self._table = bytes(call_java(self._java.table))

    def compress(self, data: bytes, lengths: np.ndarray) -> CompressedStrings:
        ends = find_ends(lengths)
        compressed = call_java(self._java.compress, to_java_bytes(data), ends)
        stored = np.diff(np.asarray(ends).astype(np.int64), prepend=0)
        return CompressedStrings(self._table, stored, bytes(compressed))


def can_compress() -> bool:
    """Returns whether this process can compress; one that runs no JVM writes to no store."""
    return jvm.is_running()


def find_ends(lengths: np.ndarray) -> Any:
    """Returns where each of some strings ends, which stand one after the other, as an array of Java."""
    return array_class(jpype.JInt)(np.cumsum(lengths).astype(np.int32))


def read_table(data: memoryview) -> tuple[np.ndarray, np.ndarray, int] | None:
    """Returns a table's lengths, its symbols ((n, 8) bytes) and its size in bytes; None if it is damaged."""
    if not len(data):
        return None
    count = data[0]
    lengths = np.frombuffer(data[1 : 1 + count], np.uint8).astype(np.int64)
    size = 1 + count + int(lengths.sum())
    if len(lengths) < count or size > len(data) or (count and not 1 <= lengths.min() <= lengths.max() <= _LONGEST):
        return None
    symbols = np.zeros((count, _LONGEST), np.uint8)
    inside = np.arange(_LONGEST) < lengths[:, None]
    symbols[inside] = np.frombuffer(data[1 + count : size], np.uint8)
    return lengths, symbols, size


def decompress(table: tuple[np.ndarray, np.ndarray, int], lengths: np.ndarray, data: memoryview) -> Any:
    """Returns the lengths (int64) and the bytes of compressed strings; None if a code has no symbol."""
    known, symbols, _ = table
    codes = np.frombuffer(data, np.uint8)
    literal = _find_literals(codes)
    escape = (codes == ESCAPE) & ~literal
    if (~literal & ~escape & (codes >= len(known))).any() or (len(codes) and escape[-1]):
        return None
    all_lengths = np.concatenate((known, np.zeros(256 - len(known), np.int64)))
    sizes = np.where(literal, 1, np.where(escape, 0, all_lengths[codes]))
    ends = np.cumsum(sizes)
    starts = ends - sizes
    total = int(ends[-1]) if len(ends) else 0
    out = np.empty(total, np.uint8)
    out[starts[literal]] = codes[literal]
    coded = np.flatnonzero(~literal & ~escape)
    for i in range(_LONGEST):
        coded = coded[sizes[coded] > i]
        out[starts[coded] + i] = symbols[codes[coded], i]
    borders = np.concatenate(([0], ends))[np.concatenate(([0], np.cumsum(lengths)))]
    return np.diff(borders), out


def _find_literals(codes: np.ndarray) -> np.ndarray:
    """Returns a boolean per byte that is true where it stands for itself: behind an escape, which does not."""
    is_escape = codes == ESCAPE
    literal = np.zeros(len(codes), bool)
    if not is_escape.any():
        return literal
    # In a run of bytes 255 every second one stands for itself; so does the byte behind a run of odd length.
    places = np.flatnonzero(is_escape)
    begins = np.concatenate(([True], np.diff(places) > 1))
    first = places[np.flatnonzero(begins)][np.cumsum(begins) - 1]
    odd = (places - first) % 2 == 1
    literal[places[odd]] = True
    last = np.concatenate((begins[1:], [True]))
    behind = places[last & ~odd] + 1
    literal[behind[behind < len(codes)]] = True
    return literal
