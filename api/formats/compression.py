"""Compresses a stream chunk by chunk: what was given of it so far can always be decompressed."""

from __future__ import annotations

import zlib
from typing import Protocol

import pyarrow as pa

from .chunks import ChunkBuffer

ENCODINGS = ("zstd", "gzip")
"""Content codings by name, the better ones first."""
GZIP_LEVEL = 1
_GZIP_WINDOW = 31


class Compressor(Protocol):
    """Compresses chunks of one stream."""

    def compress(self, chunk: bytes) -> bytes:
        """Returns the chunk compressed, to its last byte."""

    def finish(self) -> bytes:
        """Returns the end of the compressed stream, without which it was cut off."""


def make_compressor(encoding: str) -> Compressor:
    """Returns a compressor of an encoding of ``ENCODINGS``."""
    return _Gzip() if encoding == "gzip" else _Zstd()


class _Gzip:
    def __init__(self) -> None:
        self._stream = zlib.compressobj(GZIP_LEVEL, wbits=_GZIP_WINDOW)

    def compress(self, chunk: bytes) -> bytes:
        return self._stream.compress(chunk) + self._stream.flush(zlib.Z_SYNC_FLUSH)

    def finish(self) -> bytes:
        return self._stream.flush()


class _Zstd:
    def __init__(self) -> None:
        self._buffer = ChunkBuffer()
        self._stream = pa.CompressedOutputStream(pa.PythonFile(self._buffer, "w"), "zstd")

    def compress(self, chunk: bytes) -> bytes:
        self._stream.write(chunk)
        self._stream.flush()
        return self._buffer.take()

    def finish(self) -> bytes:
        self._stream.close()
        return self._buffer.take()
