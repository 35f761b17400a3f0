"""Pairs of keys and values: what is found in whole columns is what `split_slowly` finds in each text.

In `make test`: it needs no servers.
"""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from watchfloor.ingest.mapping.pairs import MOST_KEYS, PairStyle, split_pairs, split_slowly

WORDS, LONG, COMMAS = PairStyle(), PairStyle(is_long=True), PairStyle(separator=",")
COLONS = PairStyle(separator=";", sign=":")
PIECE = st.sampled_from(
    [
        "a=",
        "b.c=",
        'd="',
        '"',
        " ",
        "x",
        "é",
        "\\",
        "=",
        ",",
        "1",
        ";",
        "a:",
        'b:"',
        '"; c:',
        '", a=',
        " a=2",
        ' e="f g"',
        "|",
    ]
)
TEXT = st.lists(PIECE, max_size=10).map("".join)


@given(texts=st.lists(TEXT | st.none(), min_size=1, max_size=4), style=st.sampled_from([WORDS, LONG, COMMAS, COLONS]))
@example(texts=['a="1 2" b=3', 'a=5" b=6', None, "=x a=b=c"], style=WORDS)
@example(texts=["a=1 2 b=3 = 4 c=", "x a=1"], style=LONG)
@example(texts=["a=1", "a=2 3"], style=LONG)
@example(texts=['a=d=" a=2d="', 'a="1"'], style=WORDS)
@example(texts=['a="\\\\" b=1', 'a="\\"" b=1'], style=WORDS)
def test_columns_have_the_pairs_of_each_text(texts: list[str | None], style: PairStyle) -> None:
    columns = split_pairs(pa.array(texts, pa.string()), style)
    found = [
        {key: value for key, column in columns.items() if (value := column[row].as_py()) is not None}
        for row in range(len(texts))
    ]
    assert found == [split_slowly(text or "", style) for text in texts]


@given(pairs=st.dictionaries(st.sampled_from(["a", "b_1", "c.d", "e-f"]), st.text(max_size=5)))
def test_quoted_values_are_read_back(pairs: dict[str, str]) -> None:
    text = " ".join(f'{key}="' + value.replace("\\", "\\\\").replace('"', '\\"') + '"' for key, value in pairs.items())
    columns = split_pairs(pa.array([text]), WORDS)
    assert {key: column[0].as_py() for key, column in columns.items()} == pairs


@pytest.mark.parametrize(
    ("text", "style", "pairs"),
    [
        ('date=2024-03-05 devname="gate 7" msg="a=\\"b\\"" policyid=0', WORDS,
         {"date": "2024-03-05", "devname": "gate 7", "msg": 'a="b"', "policyid": "0"}),
        ("IN=eth0 OUT= SRC=192.0.2.1 DF PROTO=TCP SYN URGP=0", WORDS,
         {"IN": "eth0", "OUT": "", "SRC": "192.0.2.1", "PROTO": "TCP", "URGP": "0"}),
        ("src=192.0.2.1 msg=not let in request=http://a/?b=c act=deny", LONG,
         {"src": "192.0.2.1", "msg": "not let in", "request": "http://a/?b=c", "act": "deny"}),
        ("a=1 a=2", WORDS, {"a": "1"}),
        ('action:"Accept"; rule:"a; \\"b\\""; src:"192.0.2.1"; ', COLONS,
         {"action": "Accept", "rule": 'a; "b"', "src": "192.0.2.1"}),
        ('action:"Accept";src:"192.0.2.1"', COLONS, {"action": "Accept", "src": "192.0.2.1"}),
        ('a=1 b="torn c=3', WORDS, {}),
        ('a=1 b="x"y c=3', LONG, {}),
    ],
)  # fmt: skip
def test_what_products_write(text: str, style: PairStyle, pairs: dict[str, str]) -> None:
    assert {key: column[0].as_py() for key, column in split_pairs(pa.array([text]), style).items()} == pairs


def test_there_are_not_more_columns_than_a_limit() -> None:
    text = " ".join(f"k{number}=1" for number in range(2 * MOST_KEYS))
    assert len(split_pairs(pa.array([text, text + ' "']), WORDS)) == MOST_KEYS
