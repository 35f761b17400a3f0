"""Chooses how the values of a slab's column are compressed, by a sample of them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from .packed_values import FEWEST_BYTES, split_bytes
from .symbols import StringCompressor, can_compress
from .vector import Compression
from .vector_header import compress_bytes

_SAMPLE_BYTES = 1 << 14
_MOST_BYTES = 1 << 24
"""Values of more bytes are long texts, which are compressed all together: Java would need as much of its heap again."""
_WORTH = 0.6
"""Values are compressed all together if they then take at most this share of what they take by symbols: a row of them
is then read at the cost of all rows."""


def choose_packing(values: pa.BinaryArray, compression: Compression) -> tuple[Compression, StringCompressor | None]:
    """Returns how vectors of such values are compressed, and the compressor that is made for them, if there is one."""
    if compression != "packed" or not can_compress():
        return compression, None
    lengths = pc.binary_length(values).fill_null(0).to_numpy()
    size = int(lengths.sum(dtype=np.int64))
    if size < FEWEST_BYTES:
        return compression, None
    if size > _MOST_BYTES:
        return "lz4_raw", None
    compressor = StringCompressor(*_split_some(values, np.arange(0, len(values), max(1, size // _SAMPLE_BYTES))))
    many = int(np.searchsorted(np.cumsum(lengths), _SAMPLE_BYTES)) + 1
    sample = _split_some(values, np.arange(min(many, len(values))))
    if len(compress_bytes(sample[0])) < _WORTH * len(compressor.compress(*sample).data):
        return "lz4_raw", None
    return compression, compressor


def _split_some(values: pa.BinaryArray, places: np.ndarray) -> tuple[bytes, np.ndarray]:
    """Returns the bytes of some values, one after the other, and their lengths."""
    some = values.take(pa.array(places))
    lengths, data = split_bytes(some.fill_null(b"") if some.null_count else some)
    return data, lengths
