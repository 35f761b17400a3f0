"""Chooses how the values of a slab's column are compressed, by a sample of them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from .packed_values import split_bytes
from .symbols import StringCompressor, can_compress
from .vector import Compression
from .vector_header import compress_bytes

_SAMPLE_BYTES = 1 << 14
_FEWEST_BYTES = 1024
_WORTH = 0.6
"""Values are compressed all together if they then take at most this share of what they take by symbols: a row of them
is then read at the cost of all rows."""


def choose_packing(values: pa.BinaryArray, compression: Compression) -> tuple[Compression, StringCompressor | None]:
    """Returns how vectors of such values are compressed, and the compressor that is made for them, if there is one."""
    if compression != "packed" or not can_compress():
        return compression, None
    lengths, data = split_bytes(values.fill_null(b"") if values.null_count else values)
    if len(data) < _FEWEST_BYTES:
        return compression, None
    compressor = StringCompressor(data, lengths)
    many = max(1, int(np.searchsorted(np.cumsum(lengths), _SAMPLE_BYTES)))
    sample = data[: int(lengths[:many].sum())]
    if len(compress_bytes(sample)) < _WORTH * len(compressor.compress(sample, lengths[:many]).data):
        return "lz4_raw", None
    return compression, compressor
