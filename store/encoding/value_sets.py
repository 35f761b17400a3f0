"""Many encoded values and ranges of values, as tablet servers get them in a filter (Java's ``ValueSet``)."""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from watchfloor.schema.errors import InternalError
from watchfloor.schema.filter.value_list import ValueList

from .byte_arrays import join_values

DIGEST_BYTES = 16
_FASTEST = 1
"""The compression level of zlib that takes the least time."""


@dataclass(frozen=True, eq=False)
class ValueSet:
    """The content of a ``ValueList``: encoded ``values``, and ranges from ``lows`` to ``highs``, both included.

    The values ascend, each is there once. The ranges ascend and do not overlap.
    """

    values: pa.BinaryArray
    lows: pa.BinaryArray
    highs: pa.BinaryArray

    @cached_property
    def packed(self) -> bytes:
        """The set as a filter program has it."""
        parts = (self.values, self.lows, self.highs)
        lengths = b"".join(_list_lengths(part).astype(">u4").tobytes() for part in parts)
        body = struct.pack(">II", len(self.values), len(self.lows)) + lengths + b"".join(map(join_values, parts))
        return struct.pack(">I", len(body)) + zlib.compress(body, _FASTEST)

    @cached_property
    def digest(self) -> bytes:
        """The digest by which filter programs name the set: 16 bytes of a SHA-256 of ``packed``."""
        return sha256(self.packed).digest()[:DIGEST_BYTES]

    @property
    def nbytes(self) -> int:
        """The bytes that the set takes in memory, about."""
        return sum(part.nbytes for part in (self.values, self.lows, self.highs))

    @property
    def bounds(self) -> tuple[bytes, bytes] | None:
        """The least and the greatest encoded value that is in the set; None if it is empty."""
        firsts = [part[0].as_py() for part in (self.values, self.lows) if len(part)]
        lasts = [part[len(part) - 1].as_py() for part in (self.values, self.highs) if len(part)]
        return (min(firsts), max(lasts)) if firsts else None


def make_value_set(values: pa.BinaryArray, ranges: list[tuple[bytes, bytes]] | None = None) -> ValueSet:
    """Returns the set of encoded values in any order, none of them null, and of ranges, which may overlap."""
    distinct = pc.unique(values)
    merged: list[tuple[bytes, bytes]] = []
    for low, high in sorted(ranges or ()):
        if merged and low <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(merged[-1][1], high)
        else:
            merged.append((low, high))
    lows, highs = (pa.array([one[i] for one in merged], pa.binary()) for i in (0, 1))
    return ValueSet(distinct.take(pc.sort_indices(distinct)), lows, highs)


def unpack_value_set(packed: bytes) -> ValueSet:
    """Returns the set of ``ValueSet.packed``."""
    body = zlib.decompress(packed[4:])
    values, ranges = struct.unpack_from(">II", body)
    counts = (values, ranges, ranges)
    at = 8 + 4 * sum(counts)
    lengths = np.frombuffer(body, ">u4", sum(counts), 8).astype(np.int64)
    parts = []
    for first, count in zip(np.cumsum((0, *counts)).tolist(), counts, strict=False):
        offsets = np.concatenate(([0], np.cumsum(lengths[first : first + count]))).astype(np.int32)
        data = pa.py_buffer(body[at : at + int(offsets[-1])])
        parts.append(pa.Array.from_buffers(pa.binary(), count, [None, pa.py_buffer(offsets), data]))
        at += int(offsets[-1])
    unpacked = ValueSet(*parts)
    vars(unpacked)["packed"] = packed  # which need not be made again
    return unpacked


def read_content(values: ValueList) -> ValueSet:
    """Returns the set that a list of the store has as its content."""
    content: Any = values.content
    if not isinstance(content, ValueSet):
        raise InternalError(f"the list {values.name} has no values of the store")
    return content


def _list_lengths(column: pa.BinaryArray) -> np.ndarray:
    lengths: np.ndarray = pc.binary_length(column).to_numpy(zero_copy_only=False)
    return lengths
