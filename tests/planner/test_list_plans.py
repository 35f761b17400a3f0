"""A list of many values is looked up in the index where that is cheaper than a scan.

In `make test`: it needs no servers.
"""

from __future__ import annotations

from plan_requests import plan_of

from watchfloor.planner.access.counts import ConditionCount
from watchfloor.planner.access.paths import IndexUnion, Scan, list_lookups
from watchfloor.schema.field import FieldType
from watchfloor.schema.filter.tree import And, Compare, InList, InQuery, Not, Or
from watchfloor.schema.filter.value_list import ValueList

VALUES = ValueList("bad", 1, FieldType.IP, 200_000, None)
BAD = InList("src", "bad", VALUES)
FEW, MANY = ConditionCount(50, 3, 900), ConditionCount(900_000, 600, 9_000)


def test_the_index_is_taken_for_few_hits_and_the_scan_for_many() -> None:
    few = plan_of(BAD, 10_000_000, {BAD: FEW})
    assert isinstance(few.access, IndexUnion) and few.rule == "list"
    assert [lookup.kind for lookup in list_lookups(few.access)] == ["list"]
    assert "src in @bad: 50 events, 0.0005 %, by the list" in few.to_text()
    assert few.residual == BAD
    assert isinstance(plan_of(BAD, 10_000_000, {BAD: MANY}).access, Scan)


def test_reading_that_was_given_up_leaves_the_scan() -> None:
    plan = plan_of(BAD, 10_000_000, {BAD: None})
    assert isinstance(plan.access, Scan)
    assert plan_of(BAD, 10_000_000, {BAD: FEW}, scheme="scan").scheme == "scan"


def test_no_hit_is_known_at_once() -> None:
    plan = plan_of(BAD, 10_000_000, {BAD: ConditionCount(0, 0, 40)})
    assert plan.matches == 0 and "nothing can match" in plan.to_text()


def test_a_list_stands_beside_other_conditions() -> None:
    status = Compare("status", "=", 404)
    both = And((BAD, status))
    plan = plan_of(both, 10_000_000, {BAD: FEW, status: ConditionCount(5_000_000, 600, 600)})
    assert [lookup.condition for lookup in list_lookups(plan.access)] == [BAD]
    either = plan_of(Or((BAD, status)), 10_000_000, {BAD: FEW, status: ConditionCount(9, 1, 1)})
    assert [lookup.condition for lookup in list_lookups(either.access)] == [BAD, status]
    assert isinstance(plan_of(Not(BAD), 10_000_000, {BAD: FEW}).access, Scan)


def test_a_field_without_an_index_is_scanned() -> None:
    found = InQuery("uri", "web.proxy", None, "uri", ValueList("web.proxy | uri", 1, FieldType.STRING, 5, None))
    assert isinstance(plan_of(found, 10_000_000).access, Scan)
    indexed = InQuery("domain", "web.proxy", None, "domain", found.values)
    assert "domain in (web.proxy | domain): 50 events" in plan_of(indexed, 10_000_000, {indexed: FEW}).to_text()
