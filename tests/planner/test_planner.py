"""The planner keeps its promises for any filter and counts, asks for the counts that it needs, and decides by costs.

In `make test`: it needs no servers.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from drawn_filters import filters
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import holds
from plan_requests import COSTS, NOTHING, SOURCE, counts_for, plan_of, request_of

from watchfloor.planner import planner
from watchfloor.planner.access.counts import ConditionCount, Counts, RuleCounts
from watchfloor.planner.access.index_use import MAX_LOOKUPS, MAX_MULTI_VALUE, flatten_root, make_equality_lookup
from watchfloor.planner.access.paths import Access, IndexIntersection, IndexUnion, Lookup, Scan, list_lookups
from watchfloor.planner.access.rule import Question, Refusal, Rule, RuleAnswer
from watchfloor.planner.planner import ALL_RULES, RULE_SETS, PlanRequest, make_plan
from watchfloor.schema.choices import LAYOUTS, PLANNERS, SCHEMES
from watchfloor.schema.definition import parse_definition
from watchfloor.schema.errors import InternalError, UserError
from watchfloor.schema.filter.print import to_text
from watchfloor.schema.filter.tree import And, Compare, Condition, Filter, Not, Or, Prefix
from watchfloor.schema.filter.type_check import read_filter
from watchfloor.schema.text import format_duration, format_number, format_percent

TREES = filters(
    SOURCE,
    {"status": [200, 404], "domain": ["a.com", "b.com"], "src": ["10.0.0.1"], "tags": ["x", "y"], "uri": ["/", "/x"]},
)
CONDITIONS: tuple[Condition, ...] = (
    Compare("status", "=", 200),
    Compare("status", "=", 404),
    Compare("domain", "=", "a.com"),
    Prefix("domain", "a"),
    Compare("status", ">=", 404),
)
KNOWN = st.tuples(
    st.integers(0, 10**9), st.tuples(*[st.one_of(st.none(), st.floats(0, 1))] * len(CONDITIONS)), st.integers(0, 1)
)
"""The number of events, the shares of conditions among them, and the count of all other equalities."""


def drawn_counts(request: PlanRequest, drawn: tuple[int, tuple[float | None, ...], int]) -> Counts:
    total, shares, missing = drawn
    known = {
        condition: ConditionCount(int(share * total), int(share * total) // 7 + 1, 5)
        for condition, share in zip(CONDITIONS, shares, strict=True)
        if share is not None
    }
    return counts_for(request, total, known, ConditionCount(missing, missing, missing))


EVENTS = [
    {"status": status, "domain": domain, "src": src, "tags": tags, "uri": "/x"}
    for status in (200, 404, None)
    for domain in ("a.com", "b.com")
    for src in ("10.0.0.1", None)
    for tags in (["x", "y"], ["x"], [], None)
]


def leads_to(term: Access | Lookup, event: Mapping[str, Any]) -> bool:
    """Returns whether an access path leads to an event."""
    match term:
        case Lookup():
            return holds(term.condition, event)
        case IndexUnion(terms):
            return any(leads_to(part, event) for part in terms)
        case IndexIntersection(terms):
            return all(leads_to(part, event) for part in terms)
        case _:
            return True


@given(
    st.one_of(st.none(), TREES), KNOWN, st.sampled_from(SCHEMES), st.floats(1, 1000), st.sampled_from(list(PLANNERS))
)
@settings(max_examples=300)
def test_any_plan_finds_what_the_filter_does(
    tree: Filter | None, drawn: tuple[int, tuple[float | None, ...], int], scheme: str, w: float, planner: str
) -> None:
    request = request_of(tree, scheme=scheme, w=w, planner=planner)
    made = make_plan(request, drawn_counts(request, drawn))
    assert made.tree == tree and made.asked == scheme
    assert made.scheme == {"auto": "batched-index" if made.uses_index else "batched-scan"}.get(scheme, made.scheme)
    assert made.batched == (scheme == "auto" or "batched" in scheme)
    assert made.uses_index == (made.scheme in ("index", "batched-index"))
    if scheme in ("scan", "batched-scan"):
        assert made.access == Scan() and made.residual == (None if tree is None else flatten_root(tree))
    json.dumps(made.to_json())
    assert "\n" in made.to_text()
    for event in EVENTS:
        kept = leads_to(made.access, event) and (made.residual is None or holds(made.residual, event))
        assert kept == (tree is None or holds(tree, event))
    assert {lookup.condition for lookup in list_lookups(made.access)} <= set(request.counted_conditions)


class ForgetfulRule:
    """Reads the count of its filter without asking for it."""

    name = "forgetful"

    def asks(self, question: Question) -> list[Condition]:
        return []

    def apply(self, question: Question, counts: RuleCounts) -> RuleAnswer | Refusal:
        root = question.tree
        if not isinstance(root, Compare):
            return Refusal("the filter is no comparison")
        return RuleAnswer(IndexUnion((make_equality_lookup(root, counts),)), None, (), "it is known")


def test_a_rule_that_forgets_to_ask_fails_though_others_ask_for_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    rules: tuple[Rule, ...] = (*ALL_RULES[:-1], ForgetfulRule(), ALL_RULES[-1])
    monkeypatch.setattr(planner, "ALL_RULES", rules)
    monkeypatch.setattr(planner, "RULE_SETS", {"full": rules})
    with pytest.raises(InternalError, match="rule forgetful reads the count of status = 404, but its asks"):
        plan_of(read_filter("status = 404", SOURCE), 10)


def test_the_planner_names_no_layout() -> None:
    files = sorted((Path(__file__).parents[2] / "planner").rglob("*.py"))
    nodes = [node for path in files for node in ast.walk(ast.parse(path.read_text()))]
    words = {node.value for node in nodes if isinstance(node, ast.Constant)}
    assert files and not words & set(LAYOUTS)


def test_a_count_that_a_rule_asked_for_and_nobody_made_fails() -> None:
    request = request_of(read_filter("status = 404", SOURCE))
    with pytest.raises(InternalError, match="rule equality asked for the count of status = 404, and got none"):
        make_plan(request, Counts(10))
    with pytest.raises(InternalError, match="status = … was not counted"):
        make_plan(request, Counts(10, {Compare("status", "=", 404): None}))


def test_the_papers_rules_stand_in_its_order() -> None:
    assert [rule.name for rule in RULE_SETS["paper"]] == ["equality", "union", "intersection", "scan"]
    papers = [rule.name for rule in ALL_RULES if rule in RULE_SETS["paper"]]
    assert papers == ["equality", "union", "intersection", "scan"]


def asked_text(where: str | None, planner: str = "full") -> list[str]:
    request = request_of(read_filter(where, SOURCE, now=0), planner=planner)
    return [to_text(condition) for condition in request.counted_conditions]


def test_what_is_counted_is_listed_once() -> None:
    where = "status = 1 and (status = 1 and src = ::1) and uri = x and ts = now and not ok = true"
    assert asked_text(where) == ["status = 1", "src = ::1"]
    assert asked_text(None) == []
    assert asked_text("status > 1") == ["status > 1"]
    assert asked_text("status > 1", "paper") == ["status > 1"]
    assert asked_text("status = 1 or uri = x") == []
    assert asked_text("status in (1, 2) and uri = x") == ["status = 1", "status = 2"]
    assert asked_text("status in (1, 2) and port = 5") == ["port = 5"]
    assert asked_text(f"status in ({', '.join(map(str, range(MAX_LOOKUPS + 1)))})") == []
    assert asked_text("status = 1 and (domain like a* or (src in 10.0.0.0/8 and uri = x))") == [
        "status = 1", 'domain like "a*"', "src in 10.0.0.0/8",
    ]  # fmt: skip
    many = " or ".join(f"status = {n}" for n in range(MAX_LOOKUPS))
    assert len(asked_text(many)) == MAX_LOOKUPS and asked_text(f"{many} or status = 999") == []
    assert asked_text(f"({many}) and src = 10.0.0.1") == ["src = 10.0.0.1"]
    assert len(asked_text(" and ".join(f"port > {n}" for n in range(20)))) == MAX_MULTI_VALUE
    assert len(asked_text(" and ".join(f"status = {n}" for n in range(MAX_LOOKUPS + 5)))) == MAX_LOOKUPS


def test_flatten_pulls_up_only_its_own_kind() -> None:
    a, b, c, d = (Compare("status", "=", i) for i in range(4))
    assert flatten_root(And((And((a, And((b, c)))), d))) == And((a, b, c, d))
    assert flatten_root(Or((a, Or((b, And((c, d))))))) == Or((a, b, And((c, d))))
    assert flatten_root(And((Not(And((a, b))), c))) == And((Not(And((a, b))), c))


def test_costs_decide() -> None:
    tree = read_filter("status = 404", SOURCE)
    rare = {Compare("status", "=", 404): ConditionCount(10_000, 10_000, 10_000)}
    everywhere = {Compare("status", "=", 404): ConditionCount(500_000, 500_000, 500_000)}
    assert plan_of(tree, 1_000_000, rare, layout="cell").uses_index
    quick = replace(COSTS["cell"], event=1e-9)
    assert not plan_of(tree, 1_000_000, rare, layout="cell", costs=quick).uses_index
    assert not plan_of(tree, 1_000_000, everywhere, layout="cell").uses_index
    forced = plan_of(tree, 1_000_000, everywhere, layout="cell", scheme="index")
    assert forced.uses_index and isinstance(forced.access, IndexUnion)
    both = read_filter("status = 404 and src = 10.0.0.1", SOURCE)
    once = plan_of(both, 10, missing=ConditionCount(1, 1, 1), layout="cell", scheme="index")
    assert isinstance(once.access, IndexIntersection)


def test_of_blocks_the_places_decide() -> None:
    tree, rare = read_filter("status = 404", SOURCE), Compare("status", "=", 404)
    assert plan_of(tree, 10_000_000, {rare: ConditionCount(10_000, 5, 5)}).uses_index
    assert not plan_of(tree, 10_000_000, {rare: ConditionCount(10_000, 611, 611)}).uses_index


def test_more_counted_than_there_are_is_no_trouble() -> None:
    # The total and a value's count come from different cells, which need not have been written at one moment.
    known = {Compare("status", "=", 404): ConditionCount(12, 12, 12)}
    (lookup,) = list_lookups(plan_of(read_filter("status = 404", SOURCE), 10, known, scheme="index").access)
    assert lookup.density == 1.0


@pytest.mark.parametrize("w", [0.5, -1, float("nan"), float("inf")])
def test_bad_w(w: float) -> None:
    with pytest.raises(UserError, match="must be a number of at least 1"):
        request_of(None, w=w)


def test_bad_planner() -> None:
    with pytest.raises(UserError, match="unknown planner 'best'; known are full, paper"):
        request_of(None, planner="best")


def test_bad_scheme() -> None:
    with pytest.raises(UserError, match="unknown scheme 'fast'; known are auto, scan"):
        request_of(None, scheme="fast")


def test_numbers_have_units() -> None:
    assert [format_number(n, "event") for n in (0, 1, 2, 1234567, 5.55, 0.00012, 999.5)] == [
        "0 events", "1 event", "2 events", "1,234,567 events", "5.5 events", "0.00012 events", "1,000 events",
    ]  # fmt: skip
    assert [format_percent(p) for p in (0, 1, 0.5, 0.123456, 2e-7, 1e-15)] == [
        "0 %", "100 %", "50 %", "12 %", "0.00002 %", "1.0e-13 %",
    ]  # fmt: skip
    assert [format_duration(s) for s in (0, 5e-5, 0.0123, 1.5, 119, 600, 86400)] == [
        "0 µs", "50 µs", "12 ms", "1.5 s", "119 s", "10 min", "24 h",
    ]  # fmt: skip


def test_an_index_that_does_not_reach_back_is_not_used() -> None:
    fields = [{"name": "ts", "type": "time"}, {"name": "n", "type": "int", "indexed": True}]
    fields[1]["indexed_from"] = "1970-01-01T00:00:01Z"
    late = parse_definition({**SOURCE.definition, "fields": fields})
    tree = read_filter("n = 1", late)
    for since, asked in ((None, ()), (999_999, ()), (1_000_000, (tree,))):
        request = PlanRequest(tree, late, COSTS["block"], since)
        assert request.counted_conditions == asked
        plan = make_plan(request, Counts(10, {tree: NOTHING} if asked else {}))
        assert plan.uses_index == bool(asked)
    reason = "n = 1 is about the field n, which has no index of all the time range"
    assert reason in make_plan(PlanRequest(tree, late, COSTS["block"]), Counts(10)).to_text()


@pytest.mark.parametrize(
    ("where", "rule"),
    [
        ("ip = 10.0.0.1", "union"),
        ("source.ip = 10.0.0.1", "equality"),
        ("ip = 10.0.0.1 or status = 404", "union"),
        ("ip in (10.0.0.1, 10.0.0.2)", "members"),
        ("ip = 10.0.0.1 and bytes > 5", "members"),
        ("ip in 10.0.0.0/8", "nested"),
        ("ip != 10.0.0.1", "scan"),
    ],
)
def test_a_kind_of_several_fields_is_planned_as_an_or(where: str, rule: str) -> None:
    ends = [
        {"name": "src", "type": "ip", "indexed": True, "ecs": "source.ip"},
        {"name": "dst", "type": "ip", "indexed": True, "ecs": "destination.ip"},
    ]
    others = [field for field in SOURCE.definition["fields"] if field["name"] != "src"]
    source = parse_definition({**SOURCE.definition, "fields": [*others, *ends]})
    request = PlanRequest(read_filter(where, source), source, COSTS["block"], scheme="index")
    counts = Counts(10**6, {condition: ConditionCount(5, 2, 2) for condition in request.counted_conditions})
    assert make_plan(request, counts).rule == rule
