"""The planner: plans as data (``fixtures/planner/*.txt``), and promises that hold for any filter and counts.

A fixture file holds cases of the form

    == what the case shows
    filter: status = 404 and src = 10.0.0.1
    events: 1000000
    count: status = 404 | 8000
    scheme: auto
    w: 10
    --
    the plan's text

``filter`` may be missing (no filter), ``scheme`` is auto and ``w`` 10 unless given, a ``count`` may be ``unknown``, and
pairs without a ``count`` have 0.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from drawn_filters import filters
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import holds

from watchfloor.planner.access import MOST_MEMBERS, IndexIntersection, IndexUnion, Scan, equalities, flatten
from watchfloor.planner.cost import Costs
from watchfloor.planner.counts import DictCounts
from watchfloor.planner.rules import RULES, SCHEMES, plan
from watchfloor.planner.units import duration, number, percent
from watchfloor.query.typing import typed_filter
from watchfloor.schema.errors import UserError
from watchfloor.schema.filter import And, Compare, Filter, Not, Or, Value
from watchfloor.schema.source import parse_definition

FOLDER = Path(__file__).parent / "fixtures" / "planner"
SOURCE = parse_definition(
    {
        "name": "web.proxy",
        "parser": {"format": "json"},
        "timestamp": {"field": "ts"},
        "fields": [
            {"name": "ts", "type": "time"},
            {"name": "src", "type": "ip", "indexed": True},
            {"name": "domain", "type": "string", "indexed": True},
            {"name": "status", "type": "int", "indexed": True},
            {"name": "port", "type": "port", "indexed": True},
            {"name": "tags", "type": "list", "items": "string", "indexed": True},
            {"name": "ratio", "type": "float", "indexed": True},
            {"name": "ok", "type": "bool", "indexed": True},
            {"name": "seen", "type": "time", "indexed": True},
            {"name": "uri", "type": "string"},
            {"name": "bytes", "type": "int"},
        ],
    }
)


@dataclass
class Case:
    title: str
    where: str | None = None
    scheme: str = "auto"
    w: float = 10.0
    total: int = 0
    known: dict[tuple[str, Value], int | None] = field(default_factory=dict)
    expected: str = ""

    def plan_text(self) -> str:
        tree = typed_filter(self.where, SOURCE, now=0)
        return plan(tree, SOURCE, DictCounts(self.total, self.known), self.scheme, self.w).text()


def cases_of(path: Path) -> Iterator[Case]:
    for block in path.read_text("utf-8").split("== ")[1:]:
        head, _, expected = block.partition("\n--\n")
        title, *lines = head.strip().splitlines()
        case = Case(title, expected=expected.strip("\n"))
        for line in lines:
            key, _, value = line.partition(": ")
            match key:
                case "filter":
                    case.where = value
                case "events":
                    case.total = int(value)
                case "scheme":
                    case.scheme = value
                case "w":
                    case.w = float(value)
                case "count":
                    condition, _, count = value.rpartition(" | ")
                    tree = typed_filter(condition, SOURCE, now=0)
                    assert isinstance(tree, Compare)
                    case.known[tree.field, tree.value] = None if count == "unknown" else int(count)
                case _:
                    raise AssertionError(f"{path.name}: {line!r}")
        yield case


CASES = [
    pytest.param(case, id=f"{path.stem}: {case.title}")
    for path in sorted(FOLDER.glob("*.txt"))
    for case in cases_of(path)
]


def test_there_are_enough_cases() -> None:
    assert len(CASES) >= 40


@pytest.mark.parametrize("case", CASES)
def test_plan_text(case: Case) -> None:
    assert case.plan_text() == case.expected


TREES = filters(
    SOURCE,
    {"status": [200, 404], "domain": ["a.com", "b.com"], "src": ["10.0.0.1"], "tags": ["x", "y"], "uri": ["/", "/x"]},
)
COUNTS = st.builds(
    lambda total, shares, missing: DictCounts(
        total,
        {
            key: share if share is None else int(share * total)
            for key, share in zip((("status", 200), ("status", 404), ("domain", "a.com")), shares, strict=True)
        },
        missing,
    ),
    st.integers(0, 10**9),
    st.tuples(*[st.one_of(st.none(), st.floats(0, 1))] * 3),
    st.sampled_from([0, None, 1]),
)
EVENTS = [
    {"status": status, "domain": domain, "src": src, "tags": tags, "uri": "/x"}
    for status in (200, 404, None)
    for domain in ("a.com", "b.com")
    for src in ("10.0.0.1", None)
    for tags in (["x", "y"], ["x"], [], None)
]


@given(st.one_of(st.none(), TREES), COUNTS, st.sampled_from(SCHEMES), st.floats(1, 1000))
@settings(max_examples=100)
def test_any_plan_finds_what_the_filter_does(tree: Filter | None, counts: DictCounts, scheme: str, w: float) -> None:
    made = plan(tree, SOURCE, counts, scheme, w)
    assert made.tree == tree and made.asked == scheme
    assert made.scheme == {"auto": "batched-index" if made.uses_index else "batched-scan"}.get(scheme, made.scheme)
    assert made.batched == (scheme == "auto" or "batched" in scheme)
    assert made.uses_index == (made.scheme in ("index", "batched-index"))
    if scheme in ("scan", "batched-scan"):
        assert made.access == Scan() and made.residual == (None if tree is None else flatten(tree))
    json.dumps(made.to_json())
    assert "\n" in made.text()
    for event in EVENTS:
        found = True
        if not isinstance(made.access, Scan):
            each = [holds(Compare(term.field, "=", term.value), event) for term in made.access.terms]
            found = any(each) if isinstance(made.access, IndexUnion) else all(each)
        kept = found and (made.residual is None or holds(made.residual, event))
        assert kept == (tree is None or holds(tree, event))


@given(TREES, COUNTS)
@settings(max_examples=50)
def test_only_the_announced_counts_are_asked_for(tree: Filter, counts: DictCounts) -> None:
    asked: list[tuple[str, Value]] = []

    class Recorder:
        total = counts.total

        def count(self, field: str, value: Value) -> int | None:
            asked.append((field, value))
            return counts.count(field, value)

    plan(tree, SOURCE, Recorder())
    assert set(asked) <= set(equalities(tree, SOURCE))


def test_the_papers_rules_stand_in_its_order() -> None:
    assert [rule.name for rule in RULES] == ["equality", "union", "intersection", "members", "scan"]


def test_equalities_are_listed_once() -> None:
    tree = typed_filter("status = 1 and (status = 1 and src = ::1) and uri = x and ts = now and not ok = true", SOURCE)
    assert len(equalities(tree, SOURCE)) == 2
    assert equalities(None, SOURCE) == ()
    assert equalities(typed_filter("status > 1", SOURCE), SOURCE) == ()
    assert equalities(typed_filter("status = 1 or uri = x", SOURCE), SOURCE) == (("status", 1),)
    assert equalities(typed_filter("status in (1, 2) and uri = x", SOURCE), SOURCE) == (("status", 1), ("status", 2))
    assert equalities(typed_filter("status in (1, 2) and port = 5", SOURCE), SOURCE) == (("port", 5),)
    many = ", ".join(map(str, range(MOST_MEMBERS + 1)))
    assert equalities(typed_filter(f"status in ({many})", SOURCE), SOURCE) == ()


def test_flatten_pulls_up_only_its_own_kind() -> None:
    a, b, c, d = (Compare("status", "=", i) for i in range(4))
    assert flatten(And((And((a, And((b, c)))), d))) == And((a, b, c, d))
    assert flatten(Or((a, Or((b, And((c, d))))))) == Or((a, b, And((c, d))))
    assert flatten(And((Not(And((a, b))), c))) == And((Not(And((a, b))), c))


def test_costs_decide() -> None:
    tree = typed_filter("status = 404", SOURCE)
    counts = DictCounts(1_000_000, {("status", 404): 10_000})
    assert plan(tree, SOURCE, counts).uses_index
    assert not plan(tree, SOURCE, counts, costs=Costs(scan_event=1e-9)).uses_index
    dense = DictCounts(1_000_000, {("status", 404): 500_000})
    assert not plan(tree, SOURCE, dense).uses_index
    assert plan(tree, SOURCE, dense, "index").uses_index
    assert isinstance(plan(tree, SOURCE, dense, "index").access, IndexUnion)
    both = typed_filter("status = 404 and src = 10.0.0.1", SOURCE)
    assert isinstance(plan(both, SOURCE, DictCounts(10, missing=1), "index").access, IndexIntersection)


def test_more_counted_than_there_are_is_no_trouble() -> None:
    # The total and a value's count come from different cells, which need not have been written at one moment.
    made = plan(typed_filter("status = 404", SOURCE), SOURCE, DictCounts(10, {("status", 404): 12}), "index")
    assert isinstance(made.access, IndexUnion) and made.access.terms[0].density == 1.0


@pytest.mark.parametrize("w", [0.5, -1, float("nan"), float("inf")])
def test_bad_w(w: float) -> None:
    with pytest.raises(UserError, match="must be a number of at least 1"):
        plan(None, SOURCE, DictCounts(1), w=w)


def test_bad_scheme() -> None:
    with pytest.raises(UserError, match="unknown scheme 'fast'; known are auto, scan"):
        plan(None, SOURCE, DictCounts(1), "fast")


def test_numbers_have_units() -> None:
    assert [number(n, "event") for n in (0, 1, 2, 1234567, 5.55, 0.00012, 999.5)] == [
        "0 events", "1 event", "2 events", "1,234,567 events", "5.5 events", "0.00012 events", "1,000 events",
    ]  # fmt: skip
    assert [percent(p) for p in (0, 1, 0.5, 0.123456, 2e-7, 1e-15)] == [
        "0 %", "100 %", "50 %", "12 %", "0.00002 %", "1.0e-13 %",
    ]  # fmt: skip
    assert [duration(s) for s in (0, 5e-5, 0.0123, 1.5, 119, 600, 86400)] == [
        "0 µs", "50 µs", "12 ms", "1.5 s", "119 s", "10 min", "24 h",
    ]  # fmt: skip


def _rewrite() -> None:
    """Writes the plans as they are now into the fixtures: ``REWRITE=1 python tests/test_planner.py``; read the diff."""
    for path in sorted(FOLDER.glob("*.txt")):
        parts = path.read_text("utf-8").split("== ")
        blocks = [
            f"{block.partition(chr(10) + '--' + chr(10))[0].rstrip()}\n--\n{case.plan_text()}\n\n"
            for block, case in zip(parts[1:], cases_of(path), strict=True)
        ]
        path.write_text(("== ".join([parts[0], *blocks])).rstrip("\n") + "\n", "utf-8")


if __name__ == "__main__" and os.environ.get("REWRITE"):
    _rewrite()
