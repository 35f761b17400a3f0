"""The page's own filters: a value of any kind becomes a condition that the language reads as exactly that value.

In `make test`: it needs no servers; one process of Node writes thousands of conditions.
"""

from __future__ import annotations

from ipaddress import ip_address
from typing import Any

import hypothesis.strategies as st
from hypothesis import given, settings
from page_modules import run_script

from watchfloor.schema.definition import parse_definition
from watchfloor.schema.filter.tree import And, Compare, Exists, Filter, Not
from watchfloor.schema.filter.type_check import read_filter

FIELDS = {
    "name": "string",
    "and": "string",
    "@version": "string",
    "n": "int",
    "x": "float",
    "ip": "ip",
}
SOURCE = parse_definition(
    {
        "name": "page.values",
        "parser": {"format": "json"},
        "timestamp": {"field": "ts"},
        "fields": [{"name": "ts", "type": "time"}, *({"name": name, "type": kind} for name, kind in FIELDS.items())],
    }
)
HOSTILE = (
    "", " ", "and", "or", "NOT", "exists", "@list", "a*b", "*", '"', "'", "\\", "\\*", "/a/", "a#b", "1..2", "x\x00y",
    "a\nb\t\r\x08\x0c", "\u2028", "é", "😀", "1+1", "length(x)", "`a`", "a,b", ")", "%", "$", "-", "--", "a-b", "name",
)  # fmt: skip
TEXTS = st.one_of(
    st.sampled_from(HOSTILE),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=20),
    st.text("ab*\\\"'/@-. \n#()", max_size=8),
)
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "string": TEXTS,
    "int": st.integers(-(2**53) + 1, 2**53 - 1),
    "float": st.floats(-1e15, 1e15, allow_nan=False).map(lambda x: x + 0.0),
    "ip": st.one_of(st.ip_addresses(v=4), st.ip_addresses(v=6)).map(str),
}
FILTERS = (
    "", "n = 1", "n = 1 and x > 2", "n = 1 or x > 2", "not n = 1", "n = 1 # why", 'name = "a or b"', "name = 'a and b'",
    "(n = 1 or n = 2) and x = 1", "name ~ /a or b/", "name ~ /a and b/", "n = 1\nand x = 2", "n in (1, 2)",
    "exists name",
    'name = "#" and n = 1', "n = 1 AND x = 2", "`and` = x",
    r"name ~ /\(/ or n = 1", "name = /a/ or n = 1", "(n = 1)", "n = 1 # a or b\nand x = 1", "name like \"(\" or n = 1",
)  # fmt: skip


@st.composite
def requests(draw: st.DrawFn) -> tuple[str, Any, bool, str]:
    field = draw(st.sampled_from(list(FIELDS)))
    return field, draw(st.none() | VALUES[FIELDS[field]]), draw(st.booleans()), draw(st.sampled_from(FILTERS))


def write_all(asked: list[tuple[str, Any, bool, str]]) -> list[tuple[str, str]]:
    """Returns the condition of each request, and its filter with the condition added."""
    return [tuple(pair) for pair in run_script("filter_texts.mjs", asked)]


def check_condition(tree: Filter | None, field: str, value: Any, negated: bool) -> None:
    """Checks that a tree is what was asked for. No value is no such field, and that negated is any value."""
    if value is None:
        assert tree == (Exists(field) if negated else Not(Exists(field)))
    else:
        assert isinstance(tree, Compare)
        assert (tree.field, tree.op) == (field, "!=" if negated else "=")
        assert tree.value == (ip_address(value) if FIELDS[field] == "ip" else value)


def list_parts(tree: Filter | None) -> tuple[Filter, ...]:
    """Returns what a filter demands, whatever its parentheses."""
    if isinstance(tree, And):
        return tuple(part for child in tree.children for part in list_parts(child))
    return () if tree is None else (tree,)


@settings(max_examples=12)
@given(st.lists(requests(), min_size=1, max_size=150))
def test_a_value_becomes_a_condition_for_exactly_it(asked: list[tuple[str, Any, bool, str]]) -> None:
    for (field, value, negated, before), (condition, after) in zip(asked, write_all(asked), strict=True):
        tree, whole = read_filter(condition, SOURCE), read_filter(after, SOURCE)
        assert tree is not None and whole is not None
        check_condition(tree, field, value, negated)
        first = list_parts(read_filter(before, SOURCE)) if before else ()
        if after == before:
            assert tree in first
        else:
            assert list_parts(whole) == (*first, tree)
