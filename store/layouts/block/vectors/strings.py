"""Strings of a slab, from which those of each vector are taken: as they are, or as symbols have compressed them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from watchfloor.store.encoding.byte_arrays import join_values

from .symbols import CompressedStrings


class TakenStrings:
    """Some of a slab's strings, in any order. Their bytes are copied only when they are asked for.

    ``lengths`` are those of the strings, int64.
    """

    def __init__(
        self,
        values: pa.BinaryArray,
        lengths: np.ndarray,
        places: np.ndarray | None = None,
        symbols: tuple[bytes, pa.BinaryArray] | None = None,
    ) -> None:
        """``places`` are their positions among ``values`` (None: all), ``lengths`` the lengths of all values.

        ``symbols``: a table of symbols, and all values compressed by it.
        """
        self._values, self._symbols = values, symbols
        self._places = None if places is None else pa.array(places)
        self.lengths: np.ndarray = lengths if places is None else lengths.take(places)

    def read(self) -> memoryview:
        """Returns the bytes of the strings, one after the other."""
        return join_values(self._take(self._values))

    def compress(self) -> CompressedStrings | None:
        """Returns the strings as they are compressed by symbols; None if they are not."""
        if self._symbols is None:
            return None
        table, compressed = self._symbols
        taken = self._take(compressed)
        return CompressedStrings(table, find_lengths(taken), join_values(taken))

    def _take(self, values: pa.BinaryArray) -> pa.BinaryArray:
        return values if self._places is None else values.take(self._places)


def take_all(values: pa.BinaryArray) -> TakenStrings:
    """Returns all strings of an array without nulls."""
    return TakenStrings(values, find_lengths(values))


def fill_nulls(values: pa.BinaryArray) -> pa.BinaryArray:
    """Returns the values with empty ones in the place of nulls."""
    return values.fill_null(b"") if values.null_count else values


def find_lengths(values: pa.BinaryArray) -> np.ndarray:
    """Returns the lengths of values without nulls, int64."""
    return np.diff(_read_offsets(values)).astype(np.int64)


def append_empty(values: pa.BinaryArray) -> pa.BinaryArray:
    """Returns values without nulls, and an empty one after the last. The bytes are shared."""
    offsets = _read_offsets(values)
    buffers = [None, pa.py_buffer(np.append(offsets, offsets[-1])), values.buffers()[2]]
    return pa.Array.from_buffers(pa.binary(), len(values) + 1, buffers)


def _read_offsets(values: pa.BinaryArray) -> np.ndarray:
    """Returns where each value begins, and where the last one ends."""
    buffer = values.buffers()[1]
    if not len(values) or buffer is None:
        return np.zeros(1, np.int32)
    return np.frombuffer(buffer, np.int32, len(values) + 1, values.offset * 4)
