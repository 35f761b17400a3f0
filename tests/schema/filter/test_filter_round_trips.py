"""A filter tree printed as text or as JSON reads back as the same tree.

In `make test`: it needs no servers.
"""

from __future__ import annotations

import json
from dataclasses import replace
from ipaddress import ip_network
from typing import get_args

import pytest
from drawn_filters import trees
from filter_samples import NOW, SOURCE, TYPED
from hypothesis import given, settings
from hypothesis import strategies as st

from watchfloor.schema.filter.expressions.functions import FUNCTIONS
from watchfloor.schema.filter.expressions.nodes import OPERATORS, Arithmetic, FieldValue, FunctionCall, Number, negate
from watchfloor.schema.filter.json_form import from_json, to_json
from watchfloor.schema.filter.parse import parse_filter
from watchfloor.schema.filter.print import to_text
from watchfloor.schema.filter.syntax.quoting import quote_pattern, quote_text, unquote_pattern, unquote_text
from watchfloor.schema.filter.tree import (
    COMPARISONS,
    And,
    Between,
    Cidr,
    Compare,
    Exists,
    ExpressionCompare,
    ExpressionTest,
    Filter,
    In,
    InList,
    InQuery,
    Matches,
    Not,
    Or,
    Prefix,
    Wildcard,
)
from watchfloor.schema.filter.type_check import type_filter


@given(TYPED)
@settings(max_examples=100)
def test_typed_trees_come_back_from_text_and_json(tree: Filter) -> None:
    text = to_text(tree)
    assert "\n" not in text
    assert type_filter(parse_filter(text), SOURCE, text, NOW) == tree
    assert type_filter(from_json(json.loads(json.dumps(to_json(tree)))), SOURCE, now=NOW) == tree
    assert type_filter(tree, SOURCE) == tree


ANY = st.text(st.characters(exclude_categories=("Cs",)), max_size=12) | st.text("a*?\\\"'/.0 #\n", max_size=8)
NETWORKS = st.sampled_from([ip_network(text) for text in ("10.0.0.0/8", "::/0", "2001:db8::/32", "1.2.3.4/32")])
NODES: dict[type, st.SearchStrategy[Filter]] = {
    Compare: st.builds(Compare, ANY, st.sampled_from(COMPARISONS), ANY),
    In: st.builds(In, ANY, st.lists(ANY, min_size=1, max_size=4).map(tuple)),
    InList: st.builds(InList, ANY, st.from_regex(r"[A-Za-z_][A-Za-z0-9_-]{0,20}", fullmatch=True)),
    InQuery: st.builds(InQuery, ANY, ANY, st.none() | st.builds(Exists, ANY), ANY),
    Between: st.builds(Between, ANY, ANY, ANY),
    Cidr: st.builds(Cidr, ANY, NETWORKS),
    Prefix: st.builds(Prefix, ANY, ANY),
    Matches: st.builds(Matches, ANY, ANY, st.booleans()),
    Wildcard: st.builds(Wildcard, ANY, ANY),
    Exists: st.builds(Exists, ANY),
}
NUMBERS = st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False)
ATOMS = st.builds(FieldValue, ANY) | st.builds(Number, NUMBERS)
EXPRESSIONS = st.recursive(
    ATOMS,
    lambda inner: (
        st.builds(FunctionCall, st.sampled_from(list(FUNCTIONS)), inner)
        | st.builds(Arithmetic, st.sampled_from(OPERATORS), inner, inner)
        | inner.map(negate)
    ),
    max_leaves=6,
)
COMPUTED = EXPRESSIONS.filter(lambda expression: not isinstance(expression, FieldValue))
FIELDLESS = st.one_of(list(NODES.values())).map(lambda condition: replace(condition, field=""))
NODES |= {
    ExpressionTest: st.builds(ExpressionTest, COMPUTED, FIELDLESS),
    ExpressionCompare: st.builds(ExpressionCompare, EXPRESSIONS, st.sampled_from(COMPARISONS), EXPRESSIONS),
}


@given(trees(st.tuples(*NODES.values()).map(Or), max_leaves=3))
@settings(max_examples=100)
def test_every_node_comes_back_from_text_and_json(tree: Filter) -> None:
    assert {*NODES, And, Or, Not} == {*get_args(Filter)}
    assert parse_filter(to_text(tree)) == tree
    assert from_json(json.loads(json.dumps(to_json(tree)))) == tree


@given(st.text(), st.booleans())
@settings(max_examples=100)
def test_quoting_gives_any_text_back(text: str, ignore_case: bool) -> None:
    assert unquote_text(quote_text(text)) == text
    assert unquote_pattern(quote_pattern(text, ignore_case)) == (text, ignore_case)


@pytest.mark.parametrize("pattern", ["", "/", "\\/", "\\\\/", "a\\", "\n", "\\d/\\", '"', "a\\\n", "/\\//"])
def test_patterns_of_slashes_and_backslashes(pattern: str) -> None:
    assert parse_filter(to_text(Matches("a", pattern, True))) == Matches("a", pattern, True)


def test_a_json_group_of_one_is_its_member() -> None:
    assert from_json({"and": [{"or": [{"field": "a", "op": "exists"}]}]}) == Exists("a")
