"""Zones: what is known of a block's values beside their vector, so that scans pass blocks by (``docs/keys.md``).

Java reads zones (its ``Zone``), and makes the Bloom filters in them (``BloomFilter``).
"""

from __future__ import annotations

import struct
import zlib
from typing import Any

import jpype
import numpy as np
import pyarrow as pa

from watchfloor.store.bridge import jvm
from watchfloor.store.bridge.call import array_class, call_java, to_java_bytes
from watchfloor.store.encoding.byte_arrays import join_values

from .strings import find_lengths
from .symbols import find_ends
from .vector_header import find_bounds, has_all_rows

ZONE_FAMILY = "zone"
"""The column family of zones, and the name of their locality group. Vectors have none."""
_VERSION, _HEAD, _CRC = 1, struct.Struct("<2B2H"), struct.Struct("<I")
_BOUNDS, _MAX_CUT, _COMPLETE = 1, 2, 4
_MOST_BYTES = 1 << 24
"""Values of more bytes are long texts, which hardly anyone asks for as a whole."""


def make_zone(vector: bytes, complete: bool, bloom_filter: bytes) -> bytes:
    """Returns the zone of a vector; ``complete`` says that each of its events has exactly one value."""
    bounds = find_bounds(vector)
    low, high, cut = bounds or (b"", b"", False)
    flags = _BOUNDS * (bounds is not None) | _MAX_CUT * cut
    flags |= _COMPLETE * (complete or has_all_rows(vector))
    head, rest = _HEAD.pack(_VERSION, flags, len(low), len(high)), low + high + bloom_filter
    return head + _CRC.pack(zlib.crc32(rest, zlib.crc32(head))) + rest


class ValueHashes:
    """The hashes of values, which may be of many blocks; Bloom filters are made of them."""

    def __init__(self, values: pa.BinaryArray) -> None:
        """``values`` are not null. A process without a JVM, and one with very long values, makes no filters."""
        lengths = find_lengths(values)
        self._hashes: Any = None
        if jvm.is_running() and int(lengths.sum()) <= _MOST_BYTES:
            self._java = jvm.java_class("watchfloor.block.zone.BloomFilter")
            self._hashes = call_java(
                self._java.hashes, to_java_bytes(join_values(values).tobytes()), find_ends(lengths)
            )

    def make_filter(self, places: np.ndarray) -> bytes:
        """Returns a Bloom filter of the values at ``places``, which are distinct; nothing if this process makes none.

        Bounds tell a single value.
        """
        if self._hashes is None or len(places) < 2:
            return b""
        return bytes(call_java(self._java.of, self._hashes, array_class(jpype.JInt)(places.astype(np.int32))))
