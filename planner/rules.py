"""The planner's main flow: put the filter to each rule in turn, then let the scheme decide between index and scan."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from watchfloor.schema.errors import InternalError, UserError
from watchfloor.schema.filter import Filter
from watchfloor.schema.source import Source

from .access import Scan
from .cost import COSTS, Costs, Estimate, estimate
from .counts import Counts
from .members import MembersRule
from .paper import PAPER_RULES, Applied, Declined, Question, Rule, ScanRule, question
from .plan import Plan
from .units import duration

SCHEMES = ("auto", "scan", "batched-scan", "index", "batched-index")
RULES: tuple[Rule, ...] = (*PAPER_RULES[:-1], MembersRule(), PAPER_RULES[-1])
"""Tried in this order; the first that applies makes the plan."""


def plan(
    tree: Filter | None,
    source: Source,
    counts: Counts,
    scheme: str = "auto",
    w: float = 10.0,
    costs: Costs = COSTS,
) -> Plan:
    """The plan for a typed filter (None: no filter) over the time range that ``counts`` are of.

    ``scan`` and ``batched-scan`` force the scan; ``index`` and ``batched-index`` take the index where a rule allows
    it; ``auto`` takes what is expected to show a first page sooner, in batches. Raises ``UserError`` for an unknown
    scheme or a w below 1.
    """
    if scheme not in SCHEMES:
        raise UserError(f"unknown scheme {scheme!r}; known are {', '.join(SCHEMES)}")
    if not (math.isfinite(w) and w >= 1):
        raise UserError(f"w = {w!r} must be a number of at least 1: it is how much denser than the rarest is too dense")
    asked = question(tree, source, counts, w)
    name, applied, declined = first_rule(asked)
    expected = estimate(counts.total, applied.access, applied.left_out, applied.counted, costs)
    choice = _choose(scheme, name, applied, declined, expected, costs)
    if choice.scan and not isinstance(applied.access, Scan):
        name, applied = _forced_scan(asked)
    if isinstance(applied.access, Scan):
        expected = replace(expected, index=expected.scan)
    return Plan(
        scheme=choice.scheme,
        asked=scheme,
        tree=tree,
        access=applied.access,
        residual=applied.residual,
        left_out=applied.left_out,
        rule=name,
        because=applied.because,
        notes=choice.notes,
        total=counts.total,
        estimate=expected,
    )


def first_rule(asked: Question) -> tuple[str, Applied, tuple[str, ...]]:
    """The first rule that applies: its name, what it made, and why those before it did not apply."""
    declined: list[str] = []
    for rule in RULES:
        answer = rule.apply(asked)
        if isinstance(answer, Applied):
            # Without a filter there is nothing to explain: no rule could have applied.
            return rule.name, answer, () if asked.tree is None else tuple(declined)
        declined.append(f"rule {rule.name} does not apply: {answer.because}")
    raise InternalError("no planner rule applies, though the last one should apply to everything")


@dataclass(frozen=True)
class _Choice:
    """The scheme that runs, whether it is a scan, and why."""

    scheme: str
    scan: bool
    notes: tuple[str, ...]


def _choose(
    scheme: str, name: str, applied: Applied, declined: tuple[str, ...], expected: Estimate, costs: Costs
) -> _Choice:
    no_index = isinstance(applied.access, Scan)
    batched = scheme == "auto" or scheme.startswith("batched-")
    scan, index = ("batched-scan", "batched-index") if batched else ("scan", "index")
    if scheme == scan:
        ignored = () if no_index else (f"rule {name} could use the index, but the scheme {scheme} always scans",)
        return _Choice(scan, True, ignored)
    if no_index:
        return _Choice(scan, True, declined)
    if expected.hits == 0:
        return _Choice(index, False, (f"nothing can match; the index finds that in {duration(expected.index)}",))
    if scheme == index:
        return _Choice(index, False, ())
    index_time, scan_time = duration(expected.index), duration(expected.scan)
    page = f"the first page (up to {costs.page:,} rows)"
    if expected.index <= expected.scan:
        return _Choice(index, False, (f"the index brings {page} after {index_time}, a scan would after {scan_time}",))
    could = f"rule {name} could use the index, which brings {page} after {index_time}"
    return _Choice(scan, True, (f"{could}, but a scan does so after {scan_time}",))


def _forced_scan(asked: Question) -> tuple[str, Applied]:
    rule = ScanRule()
    answer = rule.apply(asked)
    if isinstance(answer, Declined):
        raise InternalError("the scan rule applies to everything")
    return rule.name, answer
