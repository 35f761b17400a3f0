"""Recognises files that are no logs by their first bytes: other compressions, archives, text that is not UTF-8."""

from __future__ import annotations

MAGIC_BYTES = 16
"""The first bytes of a file that suffice to recognise its compression."""
_TAR_MARK, _TAR_PLACE = b"ustar", 257
_COMPRESSIONS: tuple[tuple[bytes, str, str], ...] = (
    (b"\x28\xb5\x2f\xfd", "zstd", "zstd -d"),
    (b"\xfd7zXZ\x00", "xz", "xz -d"),
    (b"\x04\x22\x4d\x18", "lz4", "lz4 -d"),
    (b"\x1f\x9d", "compress", "uncompress"),
    (b"PK\x03\x04", "zip", "unzip"),
    (b"PK\x05\x06", "zip", "unzip"),
    (b"7z\xbc\xaf\x27\x1c", "7-Zip", "7z x"),
)
_BZIP2_BLOCK = b"1AY&SY"


def explain_magic(magic: bytes) -> str:
    """Returns what a file with these first bytes is and what to do about it; empty if it may be a log."""
    for beginning, name, command in _COMPRESSIONS:
        if magic.startswith(beginning):
            return _explain_compression(name, command)
    # "BZh" alone may begin a line of text; the mark of the first block does not.
    if magic.startswith(b"BZh") and magic[4 : 4 + len(_BZIP2_BLOCK)] == _BZIP2_BLOCK:
        return _explain_compression("bzip2", "bzip2 -d")
    if magic.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "is text in UTF-16; turn it into UTF-8 (`iconv -f UTF-16 -t UTF-8`)"
    return ""


def explain_content(first_line: bytes) -> str:
    """Returns what a file whose uncompressed content begins so is and what to do about it; empty if it may be a log."""
    if first_line[_TAR_PLACE : _TAR_PLACE + len(_TAR_MARK)] == _TAR_MARK:
        return "is a tar archive; unpack it and load its files"
    return ""


def _explain_compression(name: str, command: str) -> str:
    return f"is compressed by {name}; plain and gzip files are read: unpack it (`{command}`)"
