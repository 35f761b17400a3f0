"""The lower case of text: Unicode's simple mapping, in which each character has one lower-case letter.

It knows no languages and no context, unlike ``str.lower``: Σ is always σ, and İ is i. The mapping is that of this
Python's Unicode. A filter's program carries it to the tablet servers, whose Java may know another Unicode.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

_SURROGATES = range(0xD800, 0xE000)


@cache
def load_lower_case() -> Mapping[int, int]:
    """Returns the lower-case letter of each character that has another one, as code points in ascending order."""
    pairs = ((code, ord(chr(code).lower()[0])) for code in range(0x110000) if code not in _SURROGATES)
    return {code: lower for code, lower in pairs if code != lower}


def to_lower(text: str) -> str:
    """Returns ``text`` in lower case."""
    return text.lower() if text.isascii() else text.translate(load_lower_case())
