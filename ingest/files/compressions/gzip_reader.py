"""Reads the content of gzip files, both for a file's identity and for its lines."""

from __future__ import annotations

import zlib
from collections.abc import Iterator

from .blocks import ReadBytes, regroup_blocks

GZIP_MAGIC = b"\x1f\x8b"
_PIECE_BYTES = 16 << 10
"""Compressed bytes that are inflated at once. They become at most 17 MB, as DEFLATE compresses to 1/1032 at best."""


class GzipReader:
    """Iterates over the uncompressed blocks of a gzip file (RFC 1952), member after member.

    Members may be empty, and zero bytes may follow them; any other bytes between members are damage. The iteration ends
    where the stream ends early or is damaged, and ``fault`` then holds the reason. ``fault`` is empty until then, and
    after a good end. The blocks hold all that the compressed bytes before the damaged one become, also if the damage is
    found in a member's checksum, whatever the sizes in which the file is read.
    """

    breaks_off = True

    def __init__(self, read: ReadBytes, block_bytes: int) -> None:
        """``read`` returns the next compressed bytes, empty at the end. Blocks have at most ``block_bytes`` bytes."""
        self._read, self._block_bytes = read, block_bytes
        self.fault = ""

    def __iter__(self) -> Iterator[bytes]:
        return regroup_blocks(self._inflate_pieces(), self._block_bytes)

    def _inflate_pieces(self) -> Iterator[bytes]:
        """Yields what each piece of compressed bytes becomes. Sets ``fault`` where the stream breaks off."""
        member = zlib.decompressobj(wbits=31)
        between = True  # at the beginning of the file, or after a member and before the next
        for read in iter(self._read, b""):
            pending = memoryview(read)
            while len(pending):
                piece = bytes(pending[:_PIECE_BYTES])
                pending = pending[len(piece) :]
                while piece:
                    if between:
                        piece = piece.lstrip(b"\0")
                        between = not piece
                        continue
                    before = member.copy()
                    try:
                        yield member.decompress(piece)
                    except zlib.error as error:
                        self.fault = f"the gzip stream is damaged ({error})"
                        yield _inflate_before_fault(before, piece)
                        return
                    piece = member.unused_data
                    if member.eof:
                        member, between = zlib.decompressobj(wbits=31), True
        if not between:
            self.fault = "the gzip stream ends early"


def _inflate_before_fault(member: zlib._Decompress, piece: bytes) -> bytes:
    """Returns what ``piece`` becomes up to its damaged byte; zlib gives nothing of a call in which it finds one.

    Bisects for the longest beginning without a fault.
    """
    good, bad, inflated = 0, len(piece), b""
    while bad - good > 1:
        middle = (good + bad) // 2
        try:
            inflated = member.copy().decompress(piece[:middle])
            good = middle
        except zlib.error:
            bad = middle
    return inflated
