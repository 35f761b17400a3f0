"""A source, costs and counts for plans in tests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from watchfloor.planner.access.counts import ConditionCount, Counts
from watchfloor.planner.access.index_use import is_indexed_equality
from watchfloor.planner.plan import Plan
from watchfloor.planner.planner import PlanRequest, make_plan
from watchfloor.schema.definition import parse_definition
from watchfloor.schema.filter.tree import Condition, Filter
from watchfloor.schema.read_costs import ReadCosts

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


NOTHING = ConditionCount(0, 0, 0)
COSTS = {
    "cell": ReadCosts(1, 5e-3, 6.5e-6, 0.5e-6, 0.0, 5e-3, 70e-6, 2e-6, 1e-6),
    "block": ReadCosts(16384, 6e-3, 8e-9, 40e-9, 6e-4, 7e-3, 1e-3, 0.0, 1.4e-6),
}
"""Costs of layouts as they were when the fixtures' plans were looked over."""


def request_of(tree: Filter | None, layout: str = "block", **options: Any) -> PlanRequest:
    return PlanRequest(tree, SOURCE.replace_layout(layout), options.pop("costs", COSTS[layout]), **options)


def counts_for(
    request: PlanRequest,
    total: int,
    known: Mapping[Condition, ConditionCount | None] | None = None,
    missing: ConditionCount | None = NOTHING,
) -> Counts:
    """The counts that a request needs: equalities without one have ``missing``, other conditions are unknown."""
    known = known or {}
    return Counts(
        total,
        {
            condition: known.get(condition, missing if is_indexed_equality(condition, request.source) else None)
            for condition in request.counted_conditions
        },
    )


def plan_of(
    tree: Filter | None,
    total: int,
    known: Mapping[Condition, ConditionCount | None] | None = None,
    missing: ConditionCount | None = NOTHING,
    **options: Any,
) -> Plan:
    request = request_of(tree, **options)
    return make_plan(request, counts_for(request, total, known, missing))
