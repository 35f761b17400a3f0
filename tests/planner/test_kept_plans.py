"""What a plan of the same filter and counts was is remembered; what depends on the time or on lists is not.

In `make test`: it needs no servers.
"""

from __future__ import annotations

from plan_requests import SOURCE

from watchfloor.planner.access.counts import ConditionCount
from watchfloor.planner.planner import PlanRequest, keep_plan, keep_request
from watchfloor.schema.filter.type_check import read_typed_filter
from watchfloor.schema.source import Same
from watchfloor.store.layouts.registry import find_layout


def test_a_filter_that_depends_on_nothing_else_is_typed_once() -> None:
    text = "status = 404 and not src in 10.0.0.0/8"
    first, again = read_typed_filter(text, SOURCE), read_typed_filter(text, SOURCE)
    assert first is not None and first.is_kept and again is first
    # An equal source that is another object may have been read later.
    other = read_typed_filter(text, SOURCE.replace_shards(SOURCE.shards))
    assert other is not first and other is not None and other.tree == first.tree


def test_what_the_clock_decides_and_what_is_long_is_typed_anew() -> None:
    moments = [1_700_000_000_000_000, 1_800_000_000_000_000]
    typed = [read_typed_filter(f"{SOURCE.time_field} > -4h", SOURCE, now) for now in moments]
    assert typed[0] != typed[1] and not any(one is None or one.is_kept for one in typed)
    long = read_typed_filter(f"status in (1{', 2' * 2000})", SOURCE)
    assert long is not None and not long.is_kept


def test_a_kept_plan_is_that_of_its_counts() -> None:
    typed = read_typed_filter("status = 404", SOURCE)
    assert typed is not None
    costs = find_layout(SOURCE).costs
    requests = [keep_request(Same(typed.tree), Same(SOURCE), costs, None, limit=limit) for limit in (100, 100, 10)]
    assert requests[0] is requests[1] is not requests[2]
    assert requests[0] == PlanRequest(typed.tree, SOURCE, costs, None, limit=100)
    assert len(requests[0].counted_conditions) == 1
    plans = [keep_plan(Same(requests[0]), 10_000, (ConditionCount(n, n, n),)) for n in (5, 5, 0)]
    assert plans[0] is plans[1] and plans[0].matches == 5 and not plans[0].finds_nothing
    assert plans[2].finds_nothing and plans[2].to_json() == plans[2].to_json() is not plans[2].to_json()
