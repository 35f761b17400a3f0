"""Checks of regular expressions and wildcards, so that no pattern fails for the first time on a tablet server."""

from __future__ import annotations

import re
from functools import lru_cache

import pyarrow as pa
import pyarrow.compute as pc

MAX_PATTERN = 1_000
"""Characters in a regular expression or wildcard."""

_ONE_STRING = pa.array([""], pa.string())
# The tablet servers' RE2 knows the scripts of an older Unicode than ours; these both know.
_CATEGORIES = "C Cc Cf Co Cs L Ll Lm Lo Lt Lu M Mc Me Mn N Nd Nl No P Pc Pd Pe Pf Pi Po Ps S Sc Sk Sm So Z Zl Zp Zs"
_SCRIPTS = (
    "Any Arabic Armenian Bengali Common Cyrillic Devanagari Ethiopic Georgian Greek Han Hangul Hebrew Hiragana "
    "Inherited Katakana Khmer Latin Mongolian Tamil Thai Tibetan"
)
_CLASSES = frozenset(f"{_CATEGORIES} {_SCRIPTS}".split())
_ESCAPE = re.compile(r"\\(?:[pP](?:\{\^?(\w+)\}|(\w))|(.))", re.DOTALL)


@lru_cache(maxsize=256)
def check_regex(pattern: str, ignore_case: bool) -> str:
    """Why ``pattern`` cannot run as RE2 on the servers, or an empty string if it can."""
    if len(pattern) > MAX_PATTERN:
        return _too_long(pattern)
    try:
        pc.match_substring_regex(_ONE_STRING, pattern, ignore_case=ignore_case)
    except pa.ArrowInvalid as error:
        reason = str(error).removeprefix("Invalid regular expression: ")
        return f"the pattern does not fit RE2's syntax: {reason}"
    for name, letter, escaped in _ESCAPE.findall(pattern):
        if escaped == "C":
            return "\\C (one byte) is not available; . is any character"
        if (name or letter) and (name or letter) not in _CLASSES:
            return f"the character class {name or letter} is not available"
    return ""


def check_wildcard(pattern: str) -> str:
    """Why ``pattern`` is no wildcard, or an empty string if it is one."""
    if len(pattern) > MAX_PATTERN:
        return _too_long(pattern)
    rest = re.sub(r"\\[*?\\]", "", pattern)
    if "\\" in rest:
        return r"a backslash in a wildcard escapes *, ? or \ only (in quotes write it twice)"
    return ""


def _too_long(pattern: str) -> str:
    return f"the pattern has {len(pattern):,} characters; at most {MAX_PATTERN:,} are allowed"
