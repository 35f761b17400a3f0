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

``filter`` may be missing (no filter), ``scheme`` is auto, ``w`` 10, ``layout`` cell, ``planner`` full and ``limit``
none unless given. A ``count`` is a number of events, in as many places unless it is said (``8000 in 120``), all behind
some newer events (``8000 in 120 behind 50000``), or ``unknown``; of values without one there are 0, and of other
conditions nothing is known.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from drawn_filters import filters
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import holds

from watchfloor.planner.access.counts import NOTHING, DictCounts, Known
from watchfloor.planner.access.paths import (
    MOST_MEMBERS,
    MOST_RANGES,
    Access,
    IndexIntersection,
    IndexUnion,
    Lookup,
    Scan,
    countable,
    flatten,
    lookups,
)
from watchfloor.planner.estimate import COSTS
from watchfloor.planner.planner import RULE_SETS, RULES, plan
from watchfloor.schema.choices import PLANNERS, SCHEMES
from watchfloor.schema.errors import UserError
from watchfloor.schema.filter.print import to_text
from watchfloor.schema.filter.tree import And, Compare, Condition, Filter, Not, Or, Prefix
from watchfloor.schema.filter.type_check import typed_filter
from watchfloor.schema.source import parse_definition
from watchfloor.schema.units import duration, number, percent

FOLDER = Path(__file__).parents[1] / "fixtures" / "planner"
SOURCE = parse_definition(
    {
        "name": "web.proxy",
        "parser": {"format": "json"},
        "timestamp": {"field": "ts"},
        "fields": [
            {"name": "ts", "type": "time"},
            {"name": "src", "type": "ip", "indexed": True},
            {"name": "domain", "type": "string", "indexed": True, "reversed": True},
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
    layout: str = "cell"
    planner: str = "full"
    limit: int | None = None
    known: dict[Condition, Known | None] = field(default_factory=dict)
    expected: str = ""

    def plan_text(self) -> str:
        source = SOURCE.with_layout(self.layout)
        tree = typed_filter(self.where, source, now=0)
        counts = _Unless(self.total, self.known)
        return plan(tree, source, counts, self.scheme, self.w, limit=self.limit, planner=self.planner).text()


class _Unless(DictCounts):
    """Values that were not counted do not occur; of anything else that was not counted nothing is known."""

    def of(self, condition: Condition) -> Known | None:
        missing = NOTHING if isinstance(condition, Compare) and condition.op == "=" else None
        return self.known.get(condition, missing)


def known(text: str) -> Known | None:
    """``8000``, ``8000 in 120``, ``8000 in 120 behind 50000``, ``unknown``."""
    if text == "unknown":
        return None
    text, _, newer = text.partition(" behind ")
    events, _, places = text.partition(" in ")
    return Known(int(events), int(places or events), int(places or events), int(newer or 0))


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
                    assert tree is not None and not isinstance(tree, (And, Or, Not))
                    case.known[tree] = known(count)
                case "layout":
                    case.layout = value
                case "planner":
                    case.planner = value
                case "limit":
                    case.limit = int(value)
                case _:
                    raise AssertionError(f"{path.name}: {line!r}")
        yield case


CASES = [
    pytest.param(case, id=f"{path.stem}: {case.title}")
    for path in sorted(FOLDER.glob("*.txt"))
    for case in cases_of(path)
]


def test_there_are_enough_cases() -> None:
    assert len(CASES) >= 60


@pytest.mark.parametrize("case", CASES)
def test_plan_text(case: Case) -> None:
    assert case.plan_text() == case.expected


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
COUNTS = st.builds(
    lambda total, shares, missing: DictCounts(
        total,
        {
            key: share if share is None else Known(int(share * total), int(share * total) // 7 + 1, 5)
            for key, share in zip(CONDITIONS, shares, strict=True)
        },
        missing,
    ),
    st.integers(0, 10**9),
    st.tuples(*[st.one_of(st.none(), st.floats(0, 1))] * len(CONDITIONS)),
    st.sampled_from([NOTHING, None, Known(1, 1, 1)]),
)
EVENTS = [
    {"status": status, "domain": domain, "src": src, "tags": tags, "uri": "/x"}
    for status in (200, 404, None)
    for domain in ("a.com", "b.com")
    for src in ("10.0.0.1", None)
    for tags in (["x", "y"], ["x"], [], None)
]


def leads_to(term: Access | Lookup, event: Mapping[str, Any]) -> bool:
    """Whether an access path leads to an event."""
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
    st.one_of(st.none(), TREES), COUNTS, st.sampled_from(SCHEMES), st.floats(1, 1000), st.sampled_from(list(PLANNERS))
)
@settings(max_examples=300)
def test_any_plan_finds_what_the_filter_does(
    tree: Filter | None, counts: DictCounts, scheme: str, w: float, planner: str
) -> None:
    made = plan(tree, SOURCE, counts, scheme, w, planner=planner)
    assert made.tree == tree and made.asked == scheme
    assert made.scheme == {"auto": "batched-index" if made.uses_index else "batched-scan"}.get(scheme, made.scheme)
    assert made.batched == (scheme == "auto" or "batched" in scheme)
    assert made.uses_index == (made.scheme in ("index", "batched-index"))
    if scheme in ("scan", "batched-scan"):
        assert made.access == Scan() and made.residual == (None if tree is None else flatten(tree))
    json.dumps(made.to_json())
    assert "\n" in made.text()
    for event in EVENTS:
        kept = leads_to(made.access, event) and (made.residual is None or holds(made.residual, event))
        assert kept == (tree is None or holds(tree, event))


@given(TREES, COUNTS)
@settings(max_examples=50)
def test_only_the_announced_counts_are_asked_for(tree: Filter, counts: DictCounts) -> None:
    asked: list[Condition] = []

    class Recorder:
        total = counts.total

        def of(self, condition: Condition) -> Known | None:
            asked.append(condition)
            return counts.of(condition)

    made = plan(tree, SOURCE, Recorder(), "index")
    assert {term.condition for term in lookups(made.access)} <= {*countable(tree, SOURCE)}


def test_the_papers_rules_stand_in_its_order() -> None:
    assert [rule.name for rule in RULE_SETS["paper"]] == ["equality", "union", "intersection", "scan"]
    assert [rule.name for rule in RULES if rule in RULE_SETS["paper"]] == ["equality", "union", "intersection", "scan"]


def countable_text(where: str) -> list[str]:
    return [to_text(condition) for condition in countable(typed_filter(where, SOURCE, now=0), SOURCE)]


def test_what_is_counted_is_listed_once() -> None:
    where = "status = 1 and (status = 1 and src = ::1) and uri = x and ts = now and not ok = true"
    assert countable_text(where) == ["status = 1", "src = ::1"]
    assert countable(None, SOURCE) == ()
    assert countable_text("status > 1") == ["status > 1"]
    assert countable_text("status = 1 or uri = x") == []
    assert countable_text("status in (1, 2) and uri = x") == ["status = 1", "status = 2"]
    assert countable_text("status in (1, 2) and port = 5") == ["port = 5"]
    assert countable_text(f"status in ({', '.join(map(str, range(MOST_MEMBERS + 1)))})") == []
    assert countable_text("status = 1 and (domain like a* or (src in 10.0.0.0/8 and uri = x))") == [
        "status = 1", 'domain like "a*"', "src in 10.0.0.0/8",
    ]  # fmt: skip
    many = " or ".join(f"status = {n}" for n in range(MOST_MEMBERS))
    assert len(countable_text(many)) == MOST_MEMBERS and countable_text(f"{many} or status = 999") == []
    assert countable_text(f"({many}) and src = 10.0.0.1") == ["src = 10.0.0.1"]
    assert len(countable_text(" and ".join(f"port > {n}" for n in range(20)))) == MOST_RANGES


def test_flatten_pulls_up_only_its_own_kind() -> None:
    a, b, c, d = (Compare("status", "=", i) for i in range(4))
    assert flatten(And((And((a, And((b, c)))), d))) == And((a, b, c, d))
    assert flatten(Or((a, Or((b, And((c, d))))))) == Or((a, b, And((c, d))))
    assert flatten(And((Not(And((a, b))), c))) == And((Not(And((a, b))), c))


def test_costs_decide() -> None:
    cells = SOURCE.with_layout("cell")
    tree = typed_filter("status = 404", cells)
    rare, dense = Compare("status", "=", 404), Known(500_000, 500_000, 500_000)
    counts = DictCounts(1_000_000, {rare: Known(10_000, 10_000, 10_000)})
    assert plan(tree, cells, counts).uses_index
    assert not plan(tree, cells, counts, costs=replace(COSTS["cell"], event=1e-9)).uses_index
    everywhere = DictCounts(1_000_000, {rare: dense})
    assert not plan(tree, cells, everywhere).uses_index
    assert plan(tree, cells, everywhere, "index").uses_index
    assert isinstance(plan(tree, cells, everywhere, "index").access, IndexUnion)
    both = typed_filter("status = 404 and src = 10.0.0.1", cells)
    once = DictCounts(10, missing=Known(1, 1, 1))
    assert isinstance(plan(both, cells, once, "index").access, IndexIntersection)


def test_of_blocks_the_places_decide() -> None:
    tree, rare = typed_filter("status = 404", SOURCE), Compare("status", "=", 404)
    assert plan(tree, SOURCE, DictCounts(10_000_000, {rare: Known(10_000, 5, 5)})).uses_index
    assert not plan(tree, SOURCE, DictCounts(10_000_000, {rare: Known(10_000, 611, 611)})).uses_index


@pytest.mark.parametrize(
    ("events", "blocks", "scheme", "paged"),
    [
        (2_000_000, 611, "scan", True),  # a page is in the first block
        (10_000, 611, "scan", False),  # in seven of them
        (101, 100, "scan", False),
        (99, 99, "scan", True),  # there is no page
        (10_000, 611, "index", True),  # two blocks come first, however many are looked up
    ],
)
def test_a_page_is_found_as_soon_as_its_first_row_or_later(events: int, blocks: int, scheme: str, paged: bool) -> None:
    tree, value = typed_filter("status = 404", SOURCE), Compare("status", "=", 404)
    counts = DictCounts(10_000_000, {value: Known(events, blocks, blocks)})
    assert plan(tree, SOURCE, counts, scheme).estimate.paged == paged


def test_more_counted_than_there_are_is_no_trouble() -> None:
    # The total and a value's count come from different cells, which need not have been written at one moment.
    counts = DictCounts(10, {Compare("status", "=", 404): Known(12, 12, 12)})
    (term,) = lookups(plan(typed_filter("status = 404", SOURCE), SOURCE, counts, "index").access)
    assert term.density == 1.0


@pytest.mark.parametrize("w", [0.5, -1, float("nan"), float("inf")])
def test_bad_w(w: float) -> None:
    with pytest.raises(UserError, match="must be a number of at least 1"):
        plan(None, SOURCE, DictCounts(1), w=w)


def test_bad_planner() -> None:
    with pytest.raises(UserError, match="unknown planner 'best'; known are full, paper"):
        plan(None, SOURCE, DictCounts(1), planner="best")


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
