"""Patterns have bounded costs, and the servers' RE2/J means the same by them as RE2.

In `make test`: it needs no servers.
"""

from __future__ import annotations

from collections.abc import Sequence

import jpype
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from watchfloor.schema.filter.patterns import MAX_PATTERN, MAX_STARS, check_regex, check_wildcard, measure_pattern
from watchfloor.schema.filter.syntax.pattern_parts import read_parts
from watchfloor.schema.filter.tree import Exists, Matches, Wildcard
from watchfloor.schema.settings.load import load_settings
from watchfloor.store.bridge import jvm
from watchfloor.store.encoding.program import wildcard_regex

STEPS = [
    ("", 0),
    ("abc", 3),
    ("a.c", 3),
    (r"\Qa*c\E", 3),
    (r"\x{1F600}\x41\101\d\pL\p{Greek}\.", 7),
    ("[a-z]+", 2),
    ("[]a][^]b]", 2),
    (r"[[:alpha:]\]\d-]x", 2),
    ("a{3}", 3),
    ("a{3,}", 4),
    ("a{3,5}", 5),
    ("a{0}b", 1),
    ("a{,5}", 5),
    ("a{01}", 5),
    ("(ab){3}", 9),
    ("(?:ab){3}?c", 10),
    ("((a{2}){3}b){4}", 4 * (3 * (2 + 1) + 1 + 1)),
    ("(?P<n>a){2}|(?<m>b)", 4 + 1 + 2),
    ("(?i)a(?-i:b)", 3),
    ("^a|b$", 5),
]


@pytest.mark.parametrize(("pattern", "steps"), STEPS)
def test_steps_of_patterns(pattern: str, steps: int) -> None:
    assert read_parts(pattern).steps == steps


def test_what_is_found_in_patterns() -> None:
    found = read_parts(r"(?P<n>\pL\p{^Greek}[\PN\x{e9}-\x{ea}a-c-e\]])(?is:x)\C{7,9}")
    assert (found.groups, found.classes, found.count) == (["n"], {"L", "Greek", "N"}, 9)
    assert found.ignores_case and found.takes_bytes
    assert {("\xe9", "\xea"), ("a", "c"), ("-", "-"), ("]", "]"), ("x", "x")} <= set(found.ranges)
    assert not read_parts("(?-i)a(?s)").ignores_case and not read_parts(r"\QC\E\\C").takes_bytes


REFUSED = [
    (f"(?:ab){{{MAX_PATTERN}}}", "3,000 characters with its counted repeats written out; at most 1,000"),
    ("a{500}b{501}", "1,001 characters with its counted repeats"),
    ("((a{10}){10}){10}", "1,110 characters"),
    ("(a{1000}){1000}", "RE2's syntax: invalid repetition size"),
    (r"\pL{1000}", "RE2's syntax: pattern too large"),
    ("a{1000000000}", "at most 1,000 times"),
    ("(?P<größe>a)", "the name of a group"),
    ("(?P<n>a)|(?P<n>b)", "the same name"),
    (r"\p{Kawi}", "class Kawi is not available"),
    (r"\C", "is not available"),
    ("a{*", r"needs a backslash: \{"),
    ("[[:]", r"write \[: for the characters"),
    (r"\x{d800}", "half of a surrogate pair"),
    (r"[\x{e9}-\x{dfff}]", "half of a surrogate pair"),
]


@pytest.mark.parametrize(("pattern", "reason"), REFUSED)
def test_patterns_that_are_refused(pattern: str, reason: str) -> None:
    assert reason in check_regex(pattern, False)


@pytest.mark.parametrize("pattern", ["\u1c80", r"\x{1c88}", "[a-\u2000]", r"[\x{100}-\x{10ffff}]", "\\Q\u1c85\\E"])
def test_letters_whose_cases_have_no_end(pattern: str) -> None:
    assert check_regex(pattern, False) == ""
    assert "U+1C80" in check_regex(pattern, True)
    assert "U+1C80" in check_regex(f"x(?i:{pattern})", False)


def test_costs_of_conditions() -> None:
    assert measure_pattern(Exists("a")) == 0
    assert measure_pattern(Matches("a", "(?:ab){3}")) == 9
    wildcards = (r"*a\*b*", "*ab", "*a*b*", "*a?*")
    assert [measure_pattern(Wildcard("a", wildcard)) for wildcard in wildcards] == [0, 3, 5, 4]


def test_stars_of_wildcards() -> None:
    assert check_wildcard("*a" * MAX_STARS) == "" and check_wildcard("*" * MAX_PATTERN) == ""
    assert check_wildcard("*a" * (MAX_STARS + 1)) == "the pattern has 101 stars; at most 100 are allowed"
    assert wildcard_regex(r"**a\****?*?") == r"(?s)\A.*a\*.*..*.\z"


# The servers' engine


class Servers:
    """The condition that tablet servers evaluate, out of our jar."""

    def __init__(self) -> None:
        jvm.start_jvm(load_settings().jars)
        self._pattern = jvm.java_class("watchfloor.shaded.re2j.Pattern")
        self._match = jvm.java_class("watchfloor.iterators.filter.Condition$Match")

    def find(self, pattern: str, ignore_case: bool, texts: Sequence[str]) -> list[bool]:
        """In which of ``texts`` the pattern is found."""
        flags = self._pattern.CASE_INSENSITIVE if ignore_case else 0
        condition = self._match(self._pattern.compile(pattern, flags))
        values = [text.encode() for text in texts]
        return [bool(condition.test(jpype.JArray(jpype.JByte)(value), 0, len(value))) for value in values]


@pytest.fixture(scope="module")
def servers() -> Servers:
    return Servers()


_PARTS = r"""
a b c A B k K s S é É ß ẞ ſ K İ ı i I Σ ς σ ǅ Ω Ω 😀 日 é ᲀ в
] } { , - : = ! < > # & ~ _ 0 1
\. \[ \) \\ \{ \} \- \_ \/ \~ \@ \a \f \n \r \t \v \d \D \s \S \w \W \b \B \A \z \Z \C \Q \E \Qa|b\E
\1 \7 \8 \0 \07 \141 \18 \x \x4 \x61 \x{61} \x{1c80} \x{10ffff} \x{110000} \x{d800} \x{}
\pL \PL \pN \p{L} \p{^L} \P{Greek} \p{Latin} \p{Any} \p{Lu} \p{greek} \p{Kawi} \p{} \pZ \p
^ $ . | || ( ) () (|) (?: (?i: (?i) (?-i) (?s) (?m) (?U) (?im-s: (?x) (?) (?-)
(?P<n> (?<m> (?P<ö> (?P<n1> (?= (?! (?#
[ab] [^a] []a] [^]b] [a-c] [c-a] [a-] [-a] [a-b-c] [\]] [\w-] [a-\d] [^\n] [\d\s] [] [^] [
[[:alpha:]] [[:^digit:]] [[:word:]] [[:x:]] [[:] [\pL] [^\PL] [\x{41}-\x{5a}] [\Q]
[é-ö] [ſ] [À-ſ] [\x{1c80}] [^\x{1c80}] [😀-😂]
* + ? *? +? ?? ** {0} {1} {2} {0,1} {1,} {,2} {2,1} {01} {1,2}? {3}{2} {a} {-1}
{1000} {1001} {99999999} {100000000} {1000000000} {99999999999999999999}
"""
PARTS = _PARTS.split()
TEXTS = (
    "", "a", "b", "A", "B", "ab", "ba", "abc", "k", "K", "K", "s", "S", "ſ", "ß", "ẞ", "ss", "é", "É", "é",
    "i", "I", "İ", "ı", "Σ", "ς", "σ", "ǅ", "ǆ", "Ω", "Ω", "😀", "日", "éa", "😀b", "a日 a",
    "\n", "\r\n", "\t", " ", "\x00", "\uffff", "\x07", "\U0010ffff", "a\nb", "é\nb", "a b", "aa bb", "a1_b",
    "]", "}", "{", "{,2}", "{01}", "-", "_", "0", "1", "\\", "/", ".", "[", ")", "~", "@", "a|b", "1c80", "Q", "E", "x",
)  # fmt: skip


@given(st.lists(st.sampled_from(PARTS), max_size=8).map("".join), st.booleans())
@settings(max_examples=2000)
def test_what_is_let_through_means_the_same_on_the_servers(servers: Servers, pattern: str, ignore_case: bool) -> None:
    if check_regex(pattern, ignore_case) == "":
        here = pc.match_substring_regex(pa.array(TEXTS), pattern, ignore_case=ignore_case).to_pylist()
        there = servers.find(pattern, ignore_case, TEXTS)
        assert dict(zip(TEXTS, there, strict=True)) == dict(zip(TEXTS, here, strict=True))


@given(st.text("ab*?\\.[]()^$|+{}\n\x00é😀", max_size=12))
@settings(max_examples=300)
def test_wildcards_are_patterns_to_both(servers: Servers, wildcard: str) -> None:
    pattern = wildcard_regex(wildcard)
    here = pc.match_substring_regex(pa.array(TEXTS), pattern).to_pylist()
    assert servers.find(pattern, False, TEXTS) == here


def test_cases_of_letters_end(servers: Servers) -> None:
    """Every character that has another case, and that is let through, compiles; a search without end would hang."""
    for code in range(0x110000):
        letter = chr(code)
        if (letter.lower() != letter or letter.upper() != letter) and not check_regex(letter, True):
            assert servers.find(letter, True, [letter]) == [True]
