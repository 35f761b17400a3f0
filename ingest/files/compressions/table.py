"""The compressions that files are read in, each told by a file's first bytes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from .blocks import BlockReader, ReadBytes
from .frame_reader import FrameReader
from .gzip_reader import GZIP_MAGIC, GzipReader

OpenReader = Callable[[ReadBytes, int], BlockReader]
MAGIC_BYTES = 16
"""The first bytes of a file that suffice to tell its compression."""
_BZIP2_MARKS = b"1AY&SY", b"\x17\x72\x45\x38\x50\x90"
"""What follows the first four bytes of a bzip2 file: the mark of a block, or of the end in an empty file."""
_MAGICS: tuple[tuple[bytes, str], ...] = (
    (b"\xfd7zXZ\x00", "xz"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
    (b"\x50\x2a\x4d\x18", "zstd"),  # a frame to skip, with which pzstd begins
    (b"\x04\x22\x4d\x18", "lz4"),
)


def find_compression(magic: bytes) -> tuple[str, OpenReader] | None:
    """Returns the name and the reader of the compression of a file that begins so; None if there is none."""
    if magic.startswith(GZIP_MAGIC):
        return "gzip", GzipReader
    # "BZh" alone may begin a line of text; the mark of the first block does not.
    if magic.startswith(b"BZh") and magic[4:10] in _BZIP2_MARKS:
        return "bzip2", partial(FrameReader, "bzip2")
    for beginning, name in _MAGICS:
        if magic.startswith(beginning):
            return name, partial(FrameReader, name)
    return None
