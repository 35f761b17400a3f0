"""Conditions with every modifier match the events that the specification says, by an oracle that shares no code.

In `make test`: it needs no servers.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sigma_samples import convert, list_expected, list_matches, make_rule, make_source

from watchfloor.schema.filter.sigma.log_sources import MeantSource

SOURCE = make_source(
    text="string", texts="list of string", number="int", port="port", ratio="float", ok="bool", ip="ip"
)
TEXTS = [
    "",
    "-",
    "a",
    "A",
    "abc",
    "ABC def",
    "c:\\x\\*y?",
    "x?y",
    "a*c",
    "-enc /k",
    "–enc",
    "ä Ä",
    "YWJj",
    "a\nb",
    "10.1.2.3",
    "7",
]
ROWS: list[dict[str, Any]] = [
    {
        "ts": number,
        "text": None if number % 7 == 3 else TEXTS[number % len(TEXTS)],
        "texts": [TEXTS[(number * k + k) % len(TEXTS)] for k in range(number % 3)] or None,
        "number": None if number % 4 == 1 else number * 3 - 7,
        "port": None if number % 3 == 1 else number % 9,
        "ratio": number / 4,
        "ok": (None, True, False)[number % 3],
        "ip": (None, "10.1.2.3", "10.1.20.3", "192.168.1.1", "fe80::1", "2001:db8::7")[number % 6],
    }
    for number in range(48)
]
TABLE = pa.table(
    [pa.array([row[field.name] for row in ROWS], field.type) for field in SOURCE.arrow_schema], SOURCE.arrow_schema
)
WORDS = st.text(alphabet="abcABCxyÄä0179*?\\-/ .:", max_size=7)
TEXT_MODIFIERS = st.sampled_from(
    ["", "|contains", "|startswith", "|endswith", "|cased", "|contains|cased", "|contains|all", "|endswith|all",
     "|windash", "|contains|windash", "|startswith|windash"]
)  # fmt: skip


def check(**searches: Any) -> None:
    """Asserts that a rule's filter and the oracle choose the same events."""
    rule = make_rule(**searches)
    (one,) = convert(rule, SOURCE).filters
    assert list_matches(one, TABLE) == list_expected(rule["detection"], MeantSource(SOURCE), ROWS), one.text


@settings(max_examples=400, deadline=None)
@given(TEXT_MODIFIERS, st.sampled_from(["text", "texts"]), st.lists(WORDS, min_size=1, max_size=3), st.booleans())
@example("", "text", ["*"], False)
@example("", "texts", [""], True)
@example("|contains", "text", ["\\"], False)
@example("", "text", ["c:\\x\\\\\\*y\\?"], False)
def test_texts_match_with_wildcards_and_without_regard_to_case(
    modifiers: str, field: str, words: list[str], negated: bool
) -> None:
    check(condition="not sel" if negated else "sel", sel={field + modifiers: words, "ratio|gte": 0})


@settings(max_examples=100, deadline=None)
@given(
    st.sampled_from(["|base64", "|base64offset|contains", "|wide|base64offset|contains", "|wide"]),
    st.sampled_from(["abc", "a", "hello"]),
)
def test_encoded_texts(modifiers: str, word: str) -> None:
    check(sel={"text" + modifiers: word, "ratio|gte": 0})


@pytest.mark.parametrize("text", ["foo", "Ünï", "a-b"])
@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("before", range(4))
def test_a_text_is_found_at_each_place_of_an_encoded_one(text: str, wide: bool, before: int) -> None:
    import base64

    if wide and not text.isascii():
        return
    inner = text.encode("utf-16le") if wide else text.encode()
    row = {**ROWS[0], "text": base64.b64encode(b"z" * before + inner + b"tail").decode()}
    table = pa.table([pa.array([row[f.name]], f.type) for f in SOURCE.arrow_schema], SOURCE.arrow_schema)
    modifiers = "|wide|base64offset|contains" if wide else "|base64offset|contains"
    (one,) = convert(make_rule(sel={"text" + modifiers: text}), SOURCE).filters
    assert list_matches(one, table) == [0]


@settings(max_examples=100, deadline=None)
@given(
    st.sampled_from(["number", "port", "ratio"]),
    st.sampled_from(["", "|lt", "|lte", "|gt", "|gte"]),
    st.integers(0, 9) | st.sampled_from(["0x10", "5"]),
)
def test_numbers(field: str, modifier: str, value: int | str) -> None:
    if isinstance(value, str) and (modifier or (field != "number" and value == "0x10")):
        return
    check(sel={field + modifier: value})


@pytest.mark.parametrize("value", [True, False, "true", "False"])
def test_truth_values(value: bool | str) -> None:
    check(sel={"ok": value})


@pytest.mark.parametrize("pattern", ["a.c", "^A", "b$", r"\d+", "(a|-)", r"x\?", "", "a.b"])
@pytest.mark.parametrize("flags", ["", "|i", "|m", "|s", "|i|m|s"])
def test_regular_expressions(pattern: str, flags: str) -> None:
    check(sel={f"text|re{flags}": pattern, "ratio|gte": 0})


@pytest.mark.parametrize("field", ["ip", "text"])
@pytest.mark.parametrize("network", ["10.1.0.0/16", "10.1.2.3/32", "192.168.0.0/17", "fe80::/10", "0.0.0.0/0"])
def test_networks_of_addresses_and_of_texts(field: str, network: str) -> None:
    check(sel={f"{field}|cidr": network})


@pytest.mark.parametrize(
    "start", ["10.1.2.", "10.1.2", "10.", "1", "192.168.", "fe80:", "20", "2001:db8", "2", "01.", "300."]
)
def test_beginnings_of_addresses(start: str) -> None:
    if "." not in start and ":" not in start:
        with pytest.raises(Exception, match="beginning"):
            check(sel={"ip|startswith": start})
    else:
        check(sel={"ip|startswith": start, "ratio|gte": 0}, other={"ratio|lt": 0}, condition="sel or other")


@pytest.mark.parametrize("field", ["text", "texts", "number", "ip", "ok"])
def test_null_and_exists(field: str) -> None:
    check(sel={field: None})
    check(sel={f"{field}|exists": True})
    check(sel={f"{field}|exists": False})
    check(sel={field: [None, "7"]} if field != "ip" else {field: [None, "10.1.2.3"]})


def test_fields_are_compared() -> None:
    check(sel={"text|fieldref": "texts"})
    check(sel={"number|fieldref": "port"})


@settings(max_examples=100, deadline=None)
@given(st.lists(WORDS.filter(lambda word: word.strip("*?\\")), min_size=1, max_size=4), st.booleans())
def test_keywords_stand_in_any_text(words: list[str], together: bool) -> None:
    check(sel={"|all": words} if together else words)


@settings(max_examples=150, deadline=None)
@given(
    st.recursive(
        st.sampled_from(["a1", "a2", "b", "1 of a*", "all of a*", "1 of them", "all of them", "any of b*"]),
        lambda parts: st.one_of(
            st.tuples(parts, st.sampled_from(["and", "or"]), parts).map(lambda p: f"({p[0]} {p[1]} {p[2]})"),
            parts.map(lambda part: f"not ({part})"),
        ),
        max_leaves=6,
    )
)
def test_conditions(condition: str) -> None:
    check(condition=condition, a1={"text|contains": "a"}, a2={"number|gt": 20}, b=[{"port": [1, 2]}, {"ok": True}])
