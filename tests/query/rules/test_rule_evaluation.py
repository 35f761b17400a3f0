"""Many filters on one table give what each gives alone, and packs of rules ask for all events that a rule can match.

In `make test`: it needs no servers.
"""

from __future__ import annotations

import pyarrow as pa
from drawn_filters import filters, pools_of
from hypothesis import given, settings
from hypothesis import strategies as st

from watchfloor.query.rules.evaluate import RuleEvaluator, RuleProgram
from watchfloor.query.rules.packing import pack_rules
from watchfloor.schema.definition import parse_definition
from watchfloor.schema.filter import tree as f
from watchfloor.schema.filter.expressions.nodes import FieldValue, FunctionCall
from watchfloor.schema.filter.sigma.convert import ConvertedRule, SourceFilter
from watchfloor.schema.filter.sigma.rule_file import RuleInfo
from watchfloor.schema.filter.type_check import type_filter
from watchfloor.schema.stats.having import find_rows
from watchfloor.schema.times import from_micros

KINDS = {"ts": "time", "number": "int", "ok": "bool", "src": "ip", "uri": "string", "method": "string"}
SOURCE = parse_definition(
    {
        "name": "test.events",
        "parser": {"format": "json"},
        "timestamp": {"field": "ts"},
        "fields": [
            *({"name": name, "type": kind} for name, kind in KINDS.items()),
            {"name": "tags", "type": "list", "items": "string"},
        ],
    }
)
EVENTS = [
    {
        "ts": from_micros(1_456_833_600_000_000 + number),
        "number": (1, 2, None, 4)[number % 4],
        "ok": number % 2 == 0,
        "src": ("10.0.0.1", "192.168.1.9", "2001:db8::1")[number % 3],
        "uri": ("/Index.html", "/a?b=c*d", 'x"y\\z', "größe\n", "", None, "ÄB", "/A" * 40)[number % 8],
        "method": ("GET", "get", "POST")[number % 3],
        "tags": (["a", "B"], [], None, ["b", None])[number % 4],
    }
    for number in range(30)
]
FILTERS = filters(SOURCE, pools_of(SOURCE, EVENTS))
TABLE = pa.Table.from_pylist(EVENTS, SOURCE.arrow_schema)
TYPES = SOURCE.scalar_types
SHORT = st.text("aA/b.*?\\ßÄ", max_size=4)
TEXTS = st.one_of(SHORT, SHORT, st.builds(lambda text, times: text * times, SHORT, st.integers(10, 30)))
LOWERED = st.builds(
    lambda test: f.ExpressionTest(FunctionCall("lower", FieldValue("uri")), test),
    st.one_of(
        st.builds(f.Compare, st.just(""), st.sampled_from(["=", "!="]), TEXTS),
        st.builds(f.Prefix, st.just(""), TEXTS),
        TEXTS.map(lambda text: f.make_contains("", text)),
        TEXTS.map(lambda text: f.make_ends_with("", text)),
        TEXTS.map(lambda text: f.make_starred("", text, text)),
    ),
)
TREES = st.lists(st.one_of(FILTERS, LOWERED), min_size=1, max_size=6)


@settings(max_examples=200, deadline=None)
@given(TREES)
def test_an_evaluator_agrees_with_the_evaluation_of_each_filter(trees: list[f.Filter]) -> None:
    checked = [type_filter(tree, SOURCE) for tree in (*trees, f.Or(tuple(trees * 2)), f.And(tuple(trees * 2)))]
    asked = [None, *checked, *map(f.Not, checked), f.And((checked[0], f.Not(f.Or(tuple(checked)))))]
    evaluator = RuleEvaluator(RuleProgram(asked, TYPES), TABLE)
    for number, tree in enumerate(asked):
        expected = range(len(TABLE)) if tree is None else find_rows(TABLE, tree, TYPES).nonzero()[0].tolist()
        assert evaluator.find_matches(number).tolist() == list(expected)


@settings(max_examples=200, deadline=None)
@given(TREES)
def test_a_pack_reads_what_its_rules_can_match(trees: list[f.Filter]) -> None:
    typed = [type_filter(tree, SOURCE) for tree in trees]
    converted = [
        ConvertedRule(RuleInfo(f"{number}", f"{number}", "a rule"), (SourceFilter(SOURCE, tree, tree),))
        for number, tree in enumerate(typed)
    ]
    (pack,) = pack_rules([*converted, *converted])
    assert len(pack.rules) == len(converted)
    rules = [rule.tree for rule in pack.rules]
    assert rules == typed
    evaluator = RuleEvaluator(RuleProgram([pack.tree, *rules], TYPES), TABLE.select(pack.columns))
    asked = set(evaluator.find_matches(0).tolist())
    for number, tree in enumerate(typed, 1):
        found = evaluator.find_matches(number).tolist()
        assert found == find_rows(TABLE, tree, TYPES).nonzero()[0].tolist()
        assert asked.issuperset(found)
