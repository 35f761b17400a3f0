"""Makes text safe for a terminal, because log values may hold escape sequences that an attacker chose."""

from __future__ import annotations

import re
from typing import BinaryIO

# C0 controls but the newline, DEL, C1 controls (U+009B alone begins a sequence on some terminals), the marks that
# change the direction of text, the line ends of Unicode, and surrogates, which stand for bytes that are not UTF-8.
_CONTROLS = "\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff"
_ALL_BUT_LINE_ENDS = re.compile(f"[{_CONTROLS}]")
_ALL = re.compile(f"[\n{_CONTROLS}]")
_SHORT = {"\t": "\\t", "\n": "\\n", "\r": "\\r"}


def escape_controls(text: str) -> str:
    """Returns ``text`` with every control character written out: ``\\n``, ``\\x1b``, ``\\u202e``."""
    return text if text.isascii() and text.isprintable() else _ALL.sub(_escape_match, text)


def escape_line_controls(text: str) -> str:
    """Returns ``text`` with every control character except newlines written out."""
    return _ALL_BUT_LINE_ENDS.sub(_escape_match, text)


def escape_raw_line(raw: bytes) -> str:
    """Returns a raw log line as visible text; bytes that are not UTF-8 become ``\\xff``."""
    return escape_controls(raw.decode("utf-8", "backslashreplace"))


class VisibleStream:
    """Wraps a terminal's binary stream, and writes out the control characters, except newlines, of UTF-8 text."""

    def __init__(self, out: BinaryIO) -> None:
        self.out = out

    def write(self, data: bytes) -> int:
        self.out.write(escape_line_controls(bytes(data).decode("utf-8", "backslashreplace")).encode())
        return len(data)

    def flush(self) -> None:
        self.out.flush()


def _escape_match(match: re.Match[str]) -> str:
    char = match[0]
    code = ord(char)
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02x}"
    return _SHORT.get(char) or (f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}")
