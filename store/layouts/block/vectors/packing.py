"""Chooses how the values of a slab's column are compressed, by a sample of them, and compresses them by symbols."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from watchfloor.store.encoding.byte_arrays import join_values, make_binary_array

from .packed_values import FEWEST_BYTES
from .strings import fill_nulls, find_lengths
from .symbols import CompressedStrings, StringCompressor, can_compress
from .vector import Compression
from .vector_header import compress_bytes

_SAMPLE_BYTES = 1 << 14
_MOST_BYTES = 1 << 24
"""Values of more bytes are long texts, which are compressed all together: Java would need as much of its heap again."""
_WORTH = 0.6
"""Values are compressed all together if they then take at most this share of what they take by symbols: a row of them
is then read at the cost of all rows."""
_WORSE = 1.1
"""A table of symbols is made anew for values that take this much more of their bytes than those it was made for."""


@dataclass(frozen=True)
class Packing:
    """A way to compress vectors of a column's values. ``symbols``: the table, and all values compressed by it."""

    compression: Compression
    symbols: tuple[bytes, pa.BinaryArray] | None = None


class Packer:
    """Compresses the values of one field, slab after slab of a work item.

    What the first slab shows, the symbols or that its values are better compressed all together, holds for the next
    ones. A table of symbols is made anew when it serves a slab much worse than the one for which it was made. So the
    slabs of an item decide alone, and the same events make the same bytes.
    """

    def __init__(self, compression: Compression) -> None:
        self._compression = compression
        self._together = False
        self._compressor: StringCompressor | None = None
        self._share = 0.0

    def pack(self, values: pa.BinaryArray) -> Packing:
        """Returns how vectors of such values are compressed.

        The values are compressed here, all at once, because many of them are part of several vectors.
        """
        if self._compression != "packed" or not can_compress():
            return Packing(self._compression)
        lengths = pc.binary_length(values).fill_null(0).to_numpy()
        size = int(lengths.sum(dtype=np.int64))
        if size < FEWEST_BYTES:
            return Packing(self._compression)
        if size > _MOST_BYTES or self._together:
            return Packing("lz4_raw")
        whole = _split_some(values)
        if self._compressor is not None:
            compressed = self._compressor.compress(*whole)
            if len(compressed.data) <= _WORSE * self._share * size:
                return _make_packing(compressed)
        self._compressor = StringCompressor(*_split_some(values, np.arange(0, len(values), _find_step(size))))
        if self._compresses_worse(values, lengths):
            self._together = True
            return Packing("lz4_raw")
        compressed = self._compressor.compress(*whole)
        self._share = len(compressed.data) / size
        return _make_packing(compressed)

    def _compresses_worse(self, values: pa.BinaryArray, lengths: np.ndarray) -> bool:
        """Returns whether the first values take much less when they are compressed all together."""
        assert self._compressor is not None
        many = int(np.searchsorted(np.cumsum(lengths), _SAMPLE_BYTES)) + 1
        sample = _split_some(values, np.arange(min(many, len(values))))
        return len(compress_bytes(sample[0])) < _WORTH * len(self._compressor.compress(*sample).data)


def _find_step(size: int) -> int:
    """Returns of how many values one is part of the sample, if all have so many bytes."""
    return max(1, size // _SAMPLE_BYTES)


def _make_packing(compressed: CompressedStrings) -> Packing:
    return Packing("packed", (compressed.table, make_binary_array(compressed.lengths, compressed.data)))


def _split_some(values: pa.BinaryArray, places: np.ndarray | None = None) -> tuple[bytes, np.ndarray]:
    """Returns the bytes of some values, or of all, one after the other, and their lengths."""
    taken = fill_nulls(values if places is None else values.take(pa.array(places)))
    return join_values(taken).tobytes(), find_lengths(taken)
