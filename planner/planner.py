"""The planner's main flow: put the filter to each rule, estimate what it would take, and choose by the scheme."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from watchfloor.planner.access.counts import Counts
from watchfloor.planner.access.paths import Access, Scan, lookups
from watchfloor.planner.access.rule import PAPER_RULES, Applied, Question, Rule, question
from watchfloor.planner.rules.members import MembersRule
from watchfloor.planner.rules.nested import NestedRule
from watchfloor.planner.rules.ranges import RangeRule, SuffixRule, ValuesRule
from watchfloor.schema.choices import PLANNERS, SCHEMES
from watchfloor.schema.errors import InternalError, UserError
from watchfloor.schema.filter.tree import Filter
from watchfloor.schema.source import Source
from watchfloor.schema.units import duration

from .estimate import COSTS, Costs, Estimate, Expectation, estimate
from .plan import Plan, Weighed

OUR_RULES: tuple[Rule, ...] = (MembersRule(), RangeRule(), SuffixRule(), ValuesRule(), NestedRule())
RULES: tuple[Rule, ...] = (*PAPER_RULES[:-1], *OUR_RULES, PAPER_RULES[-1])
RULE_SETS: Mapping[str, tuple[Rule, ...]] = dict(zip(PLANNERS, (RULES, PAPER_RULES), strict=True))
"""Rules in their order: of the paper's the first that applies makes the plan, of all of them the best."""


def plan(
    tree: Filter | None,
    source: Source,
    counts: Counts,
    scheme: str = "auto",
    w: float = 10.0,
    costs: Costs | None = None,
    limit: int | None = None,
    planner: str = "full",
) -> Plan:
    """The plan for a typed filter (None: no filter) over the time range that ``counts`` are of.

    ``scan`` and ``batched-scan`` force the scan; ``index`` and ``batched-index`` take the index where a rule allows
    it; ``auto`` takes what is expected to be the quickest, in batches. ``limit``: how many events are wanted (None:
    all). ``costs``: of the store and the source's layout. Raises ``UserError`` for an unknown scheme or planner, or a w
    below 1.
    """
    if scheme not in SCHEMES:
        raise UserError(f"unknown scheme {scheme!r}; known are {', '.join(SCHEMES)}")
    if planner not in PLANNERS:
        raise UserError(f"unknown planner {planner!r}; known are {', '.join(PLANNERS)}")
    if not (math.isfinite(w) and w >= 1):
        raise UserError(f"w = {w!r} must be a number of at least 1: it is how much denser than the rarest is too dense")
    known = COSTS[source.layout] if costs is None else costs
    asked = question(tree, source, counts, w)
    paths, declined = _paths(asked, RULE_SETS[planner], first_only=planner == "paper")
    expected = Expectation.of(tree, source, counts)
    weighed = [
        _Path(name, made, estimate(expected, source, counts.total, made.access, known, limit)) for name, made in paths
    ]
    chosen, notes = _choose(scheme, weighed, declined)
    return Plan(
        scheme=_scheme(scheme, chosen),
        asked=scheme,
        tree=tree,
        access=chosen.applied.access,
        residual=chosen.applied.residual,
        left_out=chosen.applied.left_out,
        rule=chosen.rule,
        because=chosen.applied.because,
        notes=notes,
        total=counts.total,
        estimate=chosen.estimate,
        weighed=tuple(Weighed(path.rule, path.estimate, path is chosen) for path in weighed if len(weighed) > 1),
    )


@dataclass(frozen=True)
class _Path:
    """One way to run the query: the rule that found it and what it is expected to take."""

    rule: str
    applied: Applied
    estimate: Estimate

    @property
    def scans(self) -> bool:
        return isinstance(self.applied.access, Scan)

    @property
    def finds_nothing(self) -> bool:
        return not self.scans and self.estimate.places == 0


def _paths(
    asked: Question, rules: Sequence[Rule], first_only: bool
) -> tuple[list[tuple[str, Applied]], tuple[str, ...]]:
    """The access paths that rules make, each once and the scan last, and why the other rules do not apply."""
    paths: list[tuple[str, Applied]] = []
    declined: list[str] = []
    seen: set[Access] = set()
    for rule in rules:
        made = rule.apply(asked)
        if not isinstance(made, Applied):
            declined.append(f"rule {rule.name} does not apply: {made.because}")
        elif (isinstance(made.access, Scan) or not (paths and first_only)) and not _known(made.access, seen):
            seen.add(made.access)
            paths.append((rule.name, made))
    if not paths or not isinstance(paths[-1][1].access, Scan):
        raise InternalError("the last planner rule should apply to everything")
    return paths, tuple(declined)


def _known(access: Access, seen: set[Access]) -> bool:
    """Whether a path is among others; of one look-up a union is the same as an intersection."""
    terms = list(lookups(access))
    return access in seen or (len(terms) == 1 and any(list(lookups(other)) == terms for other in seen))


def _choose(scheme: str, paths: Sequence[_Path], declined: tuple[str, ...]) -> tuple[_Path, tuple[str, ...]]:
    """The path to take, and what there is to say about it."""
    *indexed, scan = paths
    if scheme.endswith("scan"):
        ignored = f"rule {indexed[0].rule} could use the index, but the scheme {scheme} always scans" if indexed else ""
        return scan, (ignored,) if ignored else ()
    if not indexed:
        # Without a filter there is nothing to explain: no rule could have applied.
        return scan, declined if scan.applied.residual is not None else ()
    for path in indexed:
        if path.finds_nothing:
            return path, (f"nothing can match; the index finds that in {duration(path.estimate.end)}",)
    return _quickest(indexed if scheme.endswith("index") else paths), ()


def _quickest(paths: Sequence[_Path]) -> _Path:
    """The path that is least behind the quickest, at its first page or at its end, wherever it is further behind."""
    page, end = min(p.estimate.page for p in paths), min(p.estimate.end for p in paths)
    return min(paths, key=lambda path: max(path.estimate.page / page, path.estimate.end / end))


def _scheme(asked: str, path: _Path) -> str:
    batched = asked == "auto" or asked.startswith("batched-")
    return f"{'batched-' if batched else ''}{'scan' if path.scans else 'index'}"
