"""Converts quoted strings and patterns of the filter language to plain text and back."""

from __future__ import annotations

import re

from watchfloor.schema.errors import FilterError

_ESCAPES = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f", '"': '"', "'": "'", "\\": "\\", "/": "/", "*": "*"}
_WRITTEN = {"\n": "\\n", "\r": "\\r", "\t": "\\t", '"': '\\"', "\\": "\\\\"}
_ESCAPE = re.compile(r"\\(?:x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|(.))", re.DOTALL)
# Characters that are escaped in a quoted string: the quote, the backslash, and those that a terminal does not show.
_UNSAFE = re.compile(r'["\\\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]')
_PLAIN_PATTERN = re.compile(r"(?:[^/\\\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]|\\[^/\x00-\x1f])*")


def unquote_text(written: str, position: int = 0) -> str:
    """Returns the text that a quoted string stands for; ``written`` includes the quotes.

    Raises ``FilterError`` at an unknown escape; ``position`` is the position of ``written`` in its filter.
    """

    def plain(match: re.Match[str]) -> str:
        code = match[1] or match[2]
        if code:
            return chr(int(code, 16))
        if match[3] not in _ESCAPES:
            raise FilterError(
                f"unknown escape \\{match[3]} in a quoted string; write a backslash as \\\\",
                "",
                position + 1 + match.start(),
            )
        return _ESCAPES[match[3]]

    text = _ESCAPE.sub(plain, written[1:-1]) if "\\" in written else written[1:-1]
    try:
        # Two \u escapes may be the two halves (surrogates) of a character beyond U+FFFF, as in JSON.
        return text.encode("utf-16", "surrogatepass").decode("utf-16")
    except UnicodeDecodeError:
        raise FilterError("half of a surrogate pair is no character", "", position) from None


def quote_text(text: str) -> str:
    """Returns ``text`` in double quotes; ``unquote_text`` is the inverse."""
    return f'"{_UNSAFE.sub(_escape_character, text)}"'


def unquote_starred(written: str, position: int = 0) -> list[str]:
    """Returns the texts before, between and after the stars of a quoted string; an escaped star belongs to its text.

    Raises ``FilterError`` as ``unquote_text`` does.
    """
    ends = [match.start() for match in re.finditer(r"\\.|\*", written, re.DOTALL) if match[0] == "*"]
    starts = [1, *(end + 1 for end in ends)]
    parts = zip(starts, [*ends, len(written) - 1], strict=True)
    return [unquote_text(f'"{written[start:end]}"', position + start - 1) for start, end in parts]


def unquote_pattern(written: str, position: int = 0) -> tuple[str, bool]:
    """Returns the pattern and the ignore-case flag of ``/pattern/i`` or ``"pattern"i``; raises ``FilterError``."""
    end = written.rindex(written[0])
    flags = written[end + 1 :]
    if flags not in ("", "i"):
        raise FilterError(f"unknown flag {flags!r}; a pattern's only flag is i", "", position + end + 1)
    if written[0] != "/":
        return unquote_text(written[: end + 1], position), bool(flags)
    # Only the slash needs an escape between slashes; every other backslash belongs to the pattern.
    return re.sub(r"\\(.)", lambda m: "/" if m[1] == "/" else m[0], written[1:end]), bool(flags)


def quote_pattern(pattern: str, ignore_case: bool) -> str:
    """Returns a pattern between slashes, or in quotes if it would not read back between slashes."""
    flag = "i" if ignore_case else ""
    if not _PLAIN_PATTERN.fullmatch(pattern.replace("/", "")) or "\\/" in pattern:
        return quote_text(pattern) + flag
    return f"/{pattern.replace('/', chr(92) + '/')}/{flag}"


def _escape_character(match: re.Match[str]) -> str:
    character = match[0]
    return _WRITTEN.get(character) or (f"\\x{ord(character):02x}" if character < "\x80" else f"\\u{ord(character):04x}")
