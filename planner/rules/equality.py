"""The paper's first rule: the root is an equality on an indexed field."""

from __future__ import annotations

from watchfloor.planner.access.counts import RuleCounts
from watchfloor.planner.access.index_use import is_indexed_equality, make_equality_lookup
from watchfloor.planner.access.paths import IndexUnion
from watchfloor.planner.access.reasons import describe_finds, describe_kind, explain_missing_index
from watchfloor.planner.access.rule import Question, Refusal, Rule, RuleAnswer
from watchfloor.schema.filter.tree import Compare


class EqualityRule:
    """Finds the events of a filter that is one equality on an indexed field, by an index scan."""

    name = "equality"

    def asks(self, question: Question) -> list[Compare]:
        root = question.tree
        return [root] if root is not None and is_indexed_equality(root, question.source) else []

    def apply(self, question: Question, counts: RuleCounts) -> RuleAnswer | Refusal:
        root = question.tree
        if not isinstance(root, Compare) or root.op != "=":
            return Refusal(f"the filter is {describe_kind(root)}, not one equality")
        if not is_indexed_equality(root, question.source):
            return Refusal(explain_missing_index(root, question))
        lookup = make_equality_lookup(root, counts)
        finds = describe_finds(lookup)
        because = f"the filter is one equality on the indexed field {root.field}, so the index finds its {finds}"
        return RuleAnswer(IndexUnion((lookup,)), None, (), because)


RULES: tuple[Rule, ...] = (EqualityRule(),)
