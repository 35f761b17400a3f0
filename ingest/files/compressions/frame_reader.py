"""Unpacks files that consist of frames, one after another: bzip2, xz, zstd and lz4."""

from __future__ import annotations

import bz2
import lzma
from collections.abc import Callable, Iterator
from typing import Protocol

import lz4.frame
import zstandard

from .blocks import ReadBytes, regroup_blocks

_PIECE_BYTES = 1 << 10
"""Compressed bytes that are unpacked at once. Zstd makes at most 32 MB of them, as a block of 4 bytes is 128 KB."""
_OUTPUT_BYTES = 1 << 20
_MEMORY_BYTES = 256 << 20
_WINDOW_BYTES = 128 << 20
"""What `xz -9` and `zstd --ultra` use is less; a file that asks for more could take a worker's memory."""


class FrameUnpacker(Protocol):
    """Unpacks one frame, as the standard library's ``BZ2Decompressor`` does."""

    @property
    def eof(self) -> bool: ...
    @property
    def needs_input(self) -> bool: ...
    @property
    def unused_data(self) -> bytes | None: ...

    def decompress(self, data: bytes, max_length: int = -1) -> bytes: ...


class _ZstdUnpacker:
    """Unpacks a zstd frame. Its output is bounded by its input only."""

    needs_input = True

    def __init__(self) -> None:
        self._frame = zstandard.ZstdDecompressor(max_window_size=_WINDOW_BYTES).decompressobj()

    @property
    def eof(self) -> bool:
        return self._frame.eof

    @property
    def unused_data(self) -> bytes:
        return self._frame.unused_data

    def decompress(self, data: bytes, max_length: int = -1) -> bytes:
        return self._frame.decompress(data)


UNPACKERS: dict[str, Callable[[], FrameUnpacker]] = {
    "bzip2": bz2.BZ2Decompressor,
    "xz": lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_MEMORY_BYTES),
    "zstd": _ZstdUnpacker,
    "lz4": lz4.frame.LZ4FrameDecompressor,
}
_FAULTS = (OSError, EOFError, ValueError, RuntimeError, MemoryError, lzma.LZMAError, zstandard.ZstdError)


class FrameReader:
    """Iterates over the unpacked blocks of a file, frame after frame.

    Zero bytes may follow a frame; any other bytes between frames are damage. The iteration ends where the stream ends
    early or is damaged, and ``fault`` then holds the reason. What is yielded before a fault depends on the file's bytes
    alone. The file's last bytes are unpacked one by one, so that a wrong checksum at its end costs nothing.
    """

    breaks_off = True

    def __init__(self, name: str, read: ReadBytes, block_bytes: int) -> None:
        """``name`` is one of ``UNPACKERS``. Blocks have at most ``block_bytes`` bytes."""
        self._name, self._read, self._block_bytes = name, read, block_bytes
        self.fault = ""

    def __iter__(self) -> Iterator[bytes]:
        return regroup_blocks(self._unpack_pieces(), self._block_bytes)

    def _unpack_pieces(self) -> Iterator[bytes]:
        """Yields what each piece of compressed bytes becomes. Sets ``fault`` where the stream breaks off."""
        frame, between = UNPACKERS[self._name](), True
        for piece in _cut_pieces(self._read):
            while piece:
                if between:
                    piece = piece.lstrip(b"\0")
                    between = not piece
                    continue
                try:
                    yield frame.decompress(piece, _OUTPUT_BYTES)
                    while not frame.eof and not frame.needs_input:
                        yield frame.decompress(b"", _OUTPUT_BYTES)
                except _FAULTS as error:
                    self.fault = f"the {self._name} stream is damaged ({error})"
                    return
                piece = b""
                if frame.eof:
                    piece = frame.unused_data or b""
                    frame, between = UNPACKERS[self._name](), True
        if not between:
            self.fault = f"the {self._name} stream ends early"


def _cut_pieces(read: ReadBytes) -> Iterator[bytes]:
    """Yields a stream in pieces of one size, whatever the sizes in which it is read; its last bytes one by one."""
    rest = b""
    for block in iter(read, b""):
        data = memoryview(rest + block)
        whole = (len(data) - 1) // _PIECE_BYTES * _PIECE_BYTES
        for start in range(0, whole, _PIECE_BYTES):
            yield bytes(data[start : start + _PIECE_BYTES])
        rest = bytes(data[whole:])
    yield from (rest[at : at + 1] for at in range(len(rest)))
