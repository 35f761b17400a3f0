r"""Paths as text that can be shown anywhere and taken back: a path may hold any byte but zero.

A backslash is shown as ``\\``. Each byte that is not UTF-8, or belongs to a character that must not reach a terminal
(control characters, marks that change the direction of text, line ends), is shown as ``\x`` and two hex digits.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

# C0 controls, the backslash, DEL, C1 controls, direction marks, Unicode's line ends, and the surrogates by which Python
# represents the bytes of a path that are not UTF-8.
_SPECIAL = re.compile("[\x00-\x1f\\\\\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_ESCAPED = re.compile(rb"\\(?:\\|x([0-9a-f]{2}))?")


def show_path(path: str | os.PathLike[str]) -> str:
    """Returns a path as printable text, from which ``read_shown_path`` makes the path again."""
    return _SPECIAL.sub(_escape_match, os.fspath(path))


def read_shown_path(text: str) -> str:
    r"""Returns the path that ``show_path`` shows so. Raises ``ValueError`` for a backslash that it does not write."""
    return os.fsdecode(_ESCAPED.sub(_unescape_match, os.fsencode(text)))


def is_path_of(text: str, path: str) -> bool:
    """Returns whether ``text`` names a path: as it is, or as it is shown."""
    return text in (path, show_path(path))


def find_path(text: str) -> str:
    """Returns the path of a file that a user has named: ``text``, or the path that is shown so if only that exists."""
    if "\\" in text and not os.path.lexists(text):
        try:
            path = read_shown_path(text)
        except ValueError:
            return text
        if os.path.lexists(path):
            return path
    return text


def find_named_path(text: str) -> Path:
    """Returns what ``find_path`` returns, for options of commands that hold a ``Path``."""
    return Path(find_path(text))


def describe_error(error: Exception) -> str:
    """Returns why a file cannot be used, without the path that an ``OSError`` repeats in a form of its own."""
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def _escape_match(match: re.Match[str]) -> str:
    if match[0] == "\\":
        return "\\\\"
    return "".join(f"\\x{byte:02x}" for byte in match[0].encode("utf-8", "surrogateescape"))


def _unescape_match(match: re.Match[bytes]) -> bytes:
    if match[0] == b"\\":
        raise ValueError("a backslash that is neither doubled nor followed by x and two hex digits")
    return bytes([int(match[1], 16)]) if match[1] else b"\\"
