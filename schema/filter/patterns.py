"""Checks of regular expressions and wildcards: a pattern that passes runs on the tablet servers."""

from __future__ import annotations

import re
from functools import lru_cache

import pyarrow as pa
import pyarrow.compute as pc

from .syntax.network_patterns import network_pattern
from .syntax.pattern_parts import read_parts
from .tree import Condition, Matches, Network, Wildcard

MAX_PATTERN = 1_000
"""The largest number of characters in a regular expression or wildcard, with counted repeats written out."""
MAX_PATTERNS = 10_000
"""The largest number of characters in all patterns of a filter together. Patterns of ``contains`` do not count."""
MAX_STARS = 100
"""The largest number of stars in a wildcard; several in a row count as one."""

_ONE_STRING = pa.array([""], pa.string())
# The tablet servers' RE2/J has an older Unicode than RE2 here. These categories and scripts are in both.
_CATEGORIES = "C Cc Cf Co Cs L Ll Lm Lo Lt Lu M Mc Me Mn N Nd Nl No P Pc Pd Pe Pf Pi Po Ps S Sc Sk Sm So Z Zl Zp Zs"
_SCRIPTS = (
    "Any Arabic Armenian Bengali Common Cyrillic Devanagari Ethiopic Georgian Greek Han Hangul Hebrew Hiragana "
    "Inherited Katakana Khmer Latin Mongolian Tamil Thai Tibetan"
)
_CLASSES = frozenset(f"{_CATEGORIES} {_SCRIPTS}".split())
# A wildcard that ``contains`` makes: literal text between two stars.
_CONTAINS = re.compile(r"\*(?:\\.|[^*?\\])*\*", re.DOTALL)
_GROUP_NAME = re.compile(r"\w+", re.ASCII)
# RE2/J loops for ever on these characters if case is ignored: each folds to a letter that does not fold back to it.
_ENDLESS = ("\u1c80", "\u1c8f")
_MOST_REPEATS = 1_000


@lru_cache(maxsize=256)
def check_regex(pattern: str, ignore_case: bool) -> str:
    """Returns the reason why ``pattern`` cannot run as RE2 on the servers; an empty string if it can."""
    if len(pattern) > MAX_PATTERN:
        return _too_long(pattern)
    try:
        pc.match_substring_regex(_ONE_STRING, pattern, ignore_case=ignore_case)
    except pa.ArrowInvalid as error:
        reason = str(error).removeprefix("Invalid regular expression: ")
        return f"the pattern does not fit RE2's syntax: {reason}"
    parts = read_parts(pattern)
    if parts.takes_bytes:
        return "\\C (one byte) is not available; . is any character"
    if parts.repeats_brace:
        return "a brace that is repeated needs a backslash: \\{"
    if parts.half_class:
        return "in brackets [: begins a class such as [:alpha:]; write \\[: for the characters"
    if any("\ud800" <= end <= "\udfff" for ends in parts.ranges for end in ends):
        return "half of a surrogate pair is no character"
    if unknown := sorted(parts.classes - _CLASSES):
        return f"the character class {unknown[0]} is not available"
    if any(not _GROUP_NAME.fullmatch(name) for name in parts.groups):
        return "the name of a group has letters from a to z, digits and _ only"
    if len(set(parts.groups)) < len(parts.groups):
        return "two groups have the same name"
    if parts.count > _MOST_REPEATS:
        return f"a part is repeated {parts.count:,} times; at most {_MOST_REPEATS:,} times are allowed"
    if parts.steps > MAX_PATTERN:
        return (
            f"the pattern has {parts.steps:,} characters with its counted repeats written out; "
            f"at most {MAX_PATTERN:,} are allowed"
        )
    if ignore_case or parts.ignores_case:
        for low, high in parts.ranges:
            if low <= _ENDLESS[1] and high >= _ENDLESS[0]:
                return "the characters U+1C80 to U+1C8F are not available where case is ignored"
    return ""


def match_network(field: str, network: Network) -> Matches:
    """Returns the condition that a text is an address within a network."""
    return Matches(field, network_pattern(network), ignore_case=True)


def measure_pattern(condition: Condition) -> int:
    """Returns the characters of a condition's pattern that count towards ``MAX_PATTERNS``; 0 for other conditions."""
    match condition:
        case Matches(_, pattern, _):
            return read_parts(pattern).steps
        case Wildcard(_, pattern):
            return 0 if _CONTAINS.fullmatch(pattern) else len(pattern)
    return 0


def check_wildcard(pattern: str) -> str:
    """Returns the reason why ``pattern`` is no wildcard; an empty string if it is one."""
    if len(pattern) > MAX_PATTERN:
        return _too_long(pattern)
    rest = re.sub(r"\\[*?\\]", "", pattern)
    if "\\" in rest:
        return r"a backslash in a wildcard escapes *, ? or \ only (in quotes write it twice)"
    stars = len(re.findall(r"\*+", rest))
    if stars > MAX_STARS:
        return f"the pattern has {stars:,} stars; at most {MAX_STARS:,} are allowed"
    return ""


def _too_long(pattern: str) -> str:
    return f"the pattern has {len(pattern):,} characters; at most {MAX_PATTERN:,} are allowed"
