"""Recognises files that are no logs by their first bytes: other compressions, text that is not UTF-8."""

from __future__ import annotations

_COMPRESSIONS: tuple[tuple[bytes, str, str], ...] = (
    (b"\x1f\x9d", "compress", "uncompress"),
    (b"7z\xbc\xaf\x27\x1c", "7-Zip", "7z x"),
    (b"Rar!\x1a\x07", "RAR", "unrar x"),
)


def explain_magic(magic: bytes) -> str:
    """Returns what a file with these first bytes is and what to do about it; empty if it may be a log."""
    for beginning, name, command in _COMPRESSIONS:
        if magic.startswith(beginning):
            return f"is packed by {name}, which is not read here: unpack it (`{command}`)"
    if magic.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "is text in UTF-16; turn it into UTF-8 (`iconv -f UTF-16 -t UTF-8`)"
    return ""
