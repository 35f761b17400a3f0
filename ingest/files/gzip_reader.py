"""Reads the content of gzip files, both for a file's identity and for its lines."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from typing import BinaryIO

GZIP_MAGIC = b"\x1f\x8b"


def is_gzip_file(file: BinaryIO) -> bool:
    """Returns true if an open file begins as gzip files do. Its position must be 0, and is 0 afterwards."""
    magic = file.read(len(GZIP_MAGIC))
    file.seek(0)
    return magic == GZIP_MAGIC


class GzipReader:
    """Iterates over the uncompressed blocks of a gzip file (RFC 1952), member after member.

    Members may be empty, and zero bytes may follow them; any other bytes between members are damage. The iteration ends
    where the stream ends early or is damaged, and ``fault`` then holds the reason. ``fault`` is empty until then, and
    after a good end.
    """

    def __init__(self, read: Callable[[], bytes], block_bytes: int) -> None:
        """``read`` returns the next compressed bytes, empty at the end. Blocks have at most ``block_bytes`` bytes."""
        self._read, self._block_bytes = read, block_bytes
        self.fault = ""

    def __iter__(self) -> Iterator[bytes]:
        pending = b""
        member = zlib.decompressobj(wbits=31)
        between = True  # at the beginning of the file, or after a member and before the next
        while True:
            pending = pending or self._read()
            if not pending:
                if not between:
                    self.fault = "the gzip stream ends early"
                return
            if between:
                pending = pending.lstrip(b"\0")
                if not pending:
                    continue
                between = False
            try:
                block = member.decompress(pending, self._block_bytes)
            except zlib.error as error:
                self.fault = f"the gzip stream is damaged ({error})"
                return
            if block:
                yield block
            pending = member.unconsumed_tail
            if member.eof:
                pending = member.unused_data
                member = zlib.decompressobj(wbits=31)
                between = True
