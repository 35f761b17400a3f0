"""The planner's main flow: it lists conditions to count, applies each rule, estimates the paths, and chooses one.

A caller counts the request's ``counted_conditions`` in the store, and gets the plan for the counts from ``make_plan``.
Both are pure.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

from watchfloor.planner.access.counts import ConditionCount, Counts, RuleCounts
from watchfloor.planner.access.index_use import MAX_MULTI_VALUE, find_lookup_kind, flatten_root
from watchfloor.planner.access.paths import Access, Scan, list_lookups
from watchfloor.planner.access.rule import Question, Rule, RuleAnswer
from watchfloor.schema.choices import PLANNERS, SCHEMES
from watchfloor.schema.errors import InternalError, UserError
from watchfloor.schema.filter.tree import Condition, Filter
from watchfloor.schema.read_costs import ReadCosts
from watchfloor.schema.source import Same, Source
from watchfloor.schema.text import format_duration

from .estimate import Estimate, estimate_access, estimate_matches
from .plan import Plan, WeighedPath


def load_rules(*names: str) -> tuple[Rule, ...]:
    """Returns the rules of the named files of ``planner/rules``, in the order of ``names``."""
    modules = [importlib.import_module(f"watchfloor.planner.rules.{name}") for name in names]
    return tuple(rule for module in modules for rule in module.RULES)


ALL_RULES = load_rules(
    "equality",
    "union",
    "intersection",
    "members",
    "ranges",
    "nested",
    "scan",
)
PAPER_RULES = load_rules("equality", "union", "intersection", "scan")
RULE_SETS: Mapping[str, tuple[Rule, ...]] = dict(zip(PLANNERS, (ALL_RULES, PAPER_RULES), strict=True))
"""Rules in their order, by the planner's name.

All paths of ``ALL_RULES`` are compared. Of ``PAPER_RULES`` only the first path through the index and the scan are.
"""


@dataclass(frozen=True)
class PlanRequest:
    """A request for the plan of a query on events of ``source``.

    ``tree`` is the typed filter (None: no filter). ``since`` is the start of the time range in µs (None: the first
    event); indexes that do not cover all events from ``since`` on are not used. ``costs`` are the costs of reading the
    source's layout. ``limit`` is the number of events that are wanted (None: all).

    The schemes ``scan`` and ``batched-scan`` force a scan; ``index`` and ``batched-index`` use the index if a rule
    applies; ``auto`` takes the path that is expected to be the quickest, in batches. ``w`` is the density factor of
    rules for ``and``, ``planner`` the name of a rule set.

    Raises ``UserError`` for an unknown scheme or planner, or a w below 1.
    """

    tree: Filter | None
    source: Source
    costs: ReadCosts
    since: int | None = None
    scheme: str = "auto"
    w: float = 10.0
    limit: int | None = None
    planner: str = "full"

    def __post_init__(self) -> None:
        if self.scheme not in SCHEMES:
            raise UserError(f"unknown scheme {self.scheme!r}; known are {', '.join(SCHEMES)}")
        if self.planner not in RULE_SETS:
            raise UserError(f"unknown planner {self.planner!r}; known are {', '.join(RULE_SETS)}")
        if not (math.isfinite(self.w) and self.w >= 1):
            raise UserError(
                f"w = {self.w!r} must be a number of at least 1: it is how much denser than the rarest is too dense"
            )

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rules of the planner that the request names."""
        return RULE_SETS[self.planner]

    @cached_property
    def usable_source(self) -> Source:
        """The source with only the indexes that cover the whole time range; the plan's hits must be read with it."""
        return self.source.restrict_indexes(self.since)

    @cached_property
    def question(self) -> Question:
        """The filter with all that rules need to know besides counts."""
        late = [f.name for f in self.source.indexed_fields if not f.is_covered(self.since)]
        return Question(None if self.tree is None else flatten_root(self.tree), self.usable_source, self.w, late)

    @cached_property
    def asked(self) -> Mapping[str, Mapping[Condition, None]]:
        """The conditions that each rule asks for, by the rule's name.

        All rules are asked, not only the request's, so that the expected matches do not depend on the planner.
        """
        return {rule.name: dict.fromkeys(rule.asks(self.question)) for rule in ALL_RULES}

    @cached_property
    def counted_conditions(self) -> tuple[Condition, ...]:
        """The conditions whose counts ``make_plan`` needs, each once."""
        every = dict.fromkeys(condition for asked in self.asked.values() for condition in asked)
        return tuple(condition for condition in every if condition not in self.dropped)

    @cached_property
    def dropped(self) -> frozenset[Condition]:
        """The conditions other than equalities that exceed ``MAX_MULTI_VALUE``; they are not counted."""
        every = dict.fromkeys(condition for asked in self.asked.values() for condition in asked)
        many = [condition for condition in every if find_lookup_kind(condition, self.usable_source) != "value"]
        return frozenset(many[MAX_MULTI_VALUE:])


@lru_cache(maxsize=256)
def keep_request(
    tree: Same[Filter | None], source: Same[Source], costs: ReadCosts, since: int | None, **options: Any
) -> PlanRequest:
    """Returns ``PlanRequest`` of these members; the same object for the same ones, so what it knows is found once."""
    return PlanRequest(tree.value, source.value, costs, since, **options)


@lru_cache(maxsize=256)
def keep_plan(request: Same[PlanRequest], total: int, counts: tuple[ConditionCount | None, ...]) -> Plan:
    """Returns ``make_plan`` of the counts of ``counted_conditions``; the same object for the same ones."""
    return make_plan(request.value, Counts(total, dict(zip(request.value.counted_conditions, counts, strict=True))))


def make_plan(request: PlanRequest, counts: Counts) -> Plan:
    """Returns the plan for a request.

    ``counts`` are those of the request's time range and must hold each condition of ``counted_conditions``. Raises
    ``InternalError`` if a rule reads a count that is missing.
    """
    answers, refusals = _ask_rules(request, counts)
    expected = estimate_matches(request.tree, request.usable_source, counts)
    paths = [
        _Path(
            name,
            answer,
            estimate_access(expected, answer.access, request.source.shards, counts.total, request.costs, request.limit),
        )
        for name, answer in answers
    ]
    chosen, notes = _choose_path(request.scheme, paths, refusals)
    return Plan(
        scheme=_name_scheme(request.scheme, chosen),
        asked=request.scheme,
        tree=request.tree,
        access=chosen.answer.access,
        residual=chosen.answer.residual,
        left_out=chosen.answer.left_out,
        rule=chosen.rule,
        because=chosen.answer.because,
        notes=notes,
        total=counts.total,
        estimate=chosen.estimate,
        weighed=tuple(WeighedPath(path.rule, path.estimate, path is chosen) for path in paths if len(paths) > 1),
    )


@dataclass(frozen=True)
class _Path:
    """One way to run the query: the name of the rule that found it, the rule's answer, and its estimate."""

    rule: str
    answer: RuleAnswer
    estimate: Estimate

    @property
    def is_scan(self) -> bool:
        return isinstance(self.answer.access, Scan)

    @property
    def finds_nothing(self) -> bool:
        """True if the index shows that no event can match."""
        return not self.is_scan and self.estimate.places == 0


def _ask_rules(request: PlanRequest, counts: Counts) -> tuple[list[tuple[str, RuleAnswer]], tuple[str, ...]]:
    """Returns the names and answers of the rules that apply, and the reasons of those that do not.

    Each access path is there once, and the scan is last. Of the paper's rules only the first index path is kept.
    """
    first_only = request.rules is PAPER_RULES
    answers: list[tuple[str, RuleAnswer]] = []
    refusals: list[str] = []
    seen: set[Access] = set()
    for rule in request.rules:
        answer = rule.apply(request.question, RuleCounts(rule.name, counts, request.asked[rule.name], request.dropped))
        if not isinstance(answer, RuleAnswer):
            refusals.append(f"rule {rule.name} does not apply: {answer.because}")
        elif (isinstance(answer.access, Scan) or not (answers and first_only)) and not _is_seen(answer.access, seen):
            seen.add(answer.access)
            answers.append((rule.name, answer))
    if not answers or not isinstance(answers[-1][1].access, Scan):
        raise InternalError("the last planner rule should apply to everything")
    return answers, tuple(refusals)


def _is_seen(access: Access, seen: set[Access]) -> bool:
    """Returns True if ``seen`` has the same path; a union and an intersection of one look-up are the same path."""
    lookups = list(list_lookups(access))
    return access in seen or (len(lookups) == 1 and any(list(list_lookups(other)) == lookups for other in seen))


def _choose_path(scheme: str, paths: Sequence[_Path], refusals: tuple[str, ...]) -> tuple[_Path, tuple[str, ...]]:
    """Returns the quickest path that the scheme allows, and sentences on the choice for the plan's notes."""
    *indexed, scan = paths
    if scheme.endswith("scan"):
        ignored = f"rule {indexed[0].rule} could use the index, but the scheme {scheme} always scans" if indexed else ""
        return scan, (ignored,) if ignored else ()
    if not indexed:
        # Without a filter the refusals explain nothing: no rule for the index could have applied.
        return scan, refusals if scan.answer.residual is not None else ()
    for path in indexed:
        if path.finds_nothing:
            return path, (f"nothing can match; the index finds that in {format_duration(path.estimate.end)}",)
    return _find_quickest(indexed if scheme.endswith("index") else paths), ()


def _find_quickest(paths: Sequence[_Path]) -> _Path:
    """Returns the path with the smallest slowdown.

    A path's slowdown is the factor by which its first page is later than the earliest first page of all paths, or its
    end later than the earliest end, whichever factor is larger.
    """
    page, end = min(p.estimate.page for p in paths), min(p.estimate.end for p in paths)
    return min(paths, key=lambda path: max(path.estimate.page / page, path.estimate.end / end))


def _name_scheme(asked: str, path: _Path) -> str:
    """Returns the scheme that runs: scan or index as the path is, batched if ``asked`` is batched or ``auto``."""
    batched = asked == "auto" or asked.startswith("batched-")
    return f"{'batched-' if batched else ''}{'scan' if path.is_scan else 'index'}"
