"""Literals are found in the strings that have them: at the start, at the end or anywhere, in pieces of long strings.

In `make test`: it needs no servers.
"""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from watchfloor.query.rules import literals
from watchfloor.query.rules.literals import MAX_LITERAL, Literal, LiteralFinder

LETTERS = "abß\0"
TEXTS = st.text(LETTERS, min_size=1, max_size=MAX_LITERAL // 2)
LITERALS = st.lists(
    st.builds(Literal, st.one_of(st.text(LETTERS, min_size=1, max_size=3), TEXTS).map(str.encode), *[st.booleans()] * 2)
)
VALUES = st.lists(
    st.one_of(st.text(LETTERS), st.builds(lambda text, times: text * times, TEXTS, st.integers(0, 60))), max_size=20
)


def has_literal(value: bytes, literal: Literal) -> bool:
    if literal.at_start and literal.at_end:
        return value == literal.text
    if literal.at_start:
        return value.startswith(literal.text)
    return value.endswith(literal.text) if literal.at_end else literal.text in value


@pytest.mark.parametrize("most", [3, 1_000_000])
@settings(max_examples=200, deadline=None)
@given(LITERALS, VALUES)
def test_literals_are_found_where_they_are(most: int, wanted: list[Literal], values: list[str]) -> None:
    before, after = pa.array(["aß"]), pa.array(["b"])
    array = pa.concat_arrays([before, pa.array(values, pa.string()), after]).slice(1, len(values))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(literals, "_MAX_HITS", most)
        patch.setattr(literals, "_MAX_BYTES", most)
        patch.setattr(literals, "_PIECES", most)
        found = LiteralFinder(wanted).find(array)
    expected = {
        number: [place for place, value in enumerate(values) if has_literal(value.encode(), literal)]
        for number, literal in enumerate(wanted)
    }
    assert {number: places.tolist() for number, places in found.items()} == {n: p for n, p in expected.items() if p}


def test_a_string_of_ten_megabytes_is_read_in_pieces() -> None:
    value = "x" * 10_000_000 + "needle"
    found = LiteralFinder([Literal(b"needle", at_end=True), Literal(b"xn"), Literal(b"y")]).find(pa.array([value, "n"]))
    assert {number: places.tolist() for number, places in found.items()} == {0: [0], 1: [0]}
