"""Text that is safe on a terminal: log values may hold escape sequences that somebody else chose."""

from __future__ import annotations

import re
from typing import BinaryIO

# C0 (ESC and line ends among them), DEL, C1 (U+009B alone begins a sequence on some terminals), the marks that turn
# the direction of text round, and the line ends of Unicode.
_CONTROLS = "\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069"
_ALL_BUT_LINES = re.compile(f"[{_CONTROLS}]")
_ALL = re.compile(f"[\n{_CONTROLS}]")
_SHORT = {"\t": "\\t", "\n": "\\n", "\r": "\\r"}


def visible(text: str) -> str:
    """``text`` with every control character written out: ``\\n``, ``\\x1b``, ``\\u202e``."""
    return text if text.isascii() and text.isprintable() else _ALL.sub(_escape, text)


def visible_lines(text: str) -> str:
    """``visible``, but line ends stay."""
    return _ALL_BUT_LINES.sub(_escape, text)


def visible_bytes(raw: bytes) -> str:
    """A raw log line: its UTF-8 made visible, other bytes written as ``\\xff``."""
    return visible(raw.decode("utf-8", "backslashreplace"))


class VisibleStream:
    """A binary stream in front of a terminal: UTF-8 goes through with its control characters made visible."""

    def __init__(self, out: BinaryIO) -> None:
        self.out = out

    def write(self, data: bytes) -> int:
        self.out.write(visible_lines(bytes(data).decode("utf-8", "backslashreplace")).encode())
        return len(data)

    def flush(self) -> None:
        self.out.flush()


def _escape(match: re.Match[str]) -> str:
    char = match[0]
    code = ord(char)
    return _SHORT.get(char) or (f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}")
