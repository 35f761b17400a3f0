"""The paper's second rule: the root is ``or`` and all its children are equalities on indexed fields."""

from __future__ import annotations

from watchfloor.planner.access.counts import RuleCounts
from watchfloor.planner.access.index_use import MAX_LOOKUPS, is_indexed_equality, make_equality_lookup
from watchfloor.planner.access.paths import IndexUnion
from watchfloor.planner.access.reasons import describe_kind, explain_missing_index
from watchfloor.planner.access.rule import Question, Refusal, Rule, RuleAnswer
from watchfloor.schema.filter.print import to_short_text
from watchfloor.schema.filter.tree import Compare, Or
from watchfloor.schema.text import format_number, format_percent


class UnionRule:
    """Unites index scans of the equalities of an ``or``, at most ``MAX_LOOKUPS`` and all on indexed fields."""

    name = "union"

    def asks(self, question: Question) -> list[Compare]:
        equalities = self._list_equalities(question)
        return [] if isinstance(equalities, Refusal) else equalities

    def apply(self, question: Question, counts: RuleCounts) -> RuleAnswer | Refusal:
        equalities = self._list_equalities(question)
        if isinstance(equalities, Refusal):
            return equalities
        lookups = tuple(make_equality_lookup(equality, counts) for equality in equalities)
        share = format_percent(min(1.0, sum(min(1.0, lookup.density) for lookup in lookups)))
        because = (
            f"the filter is an or of {format_number(len(lookups), 'equality', 'equalities')} on indexed fields, so the "
            f"index finds the events of each and their union is the answer, at most {share} of all events"
        )
        return RuleAnswer(IndexUnion(lookups), None, (), because)

    def _list_equalities(self, question: Question) -> list[Compare] | Refusal:
        """Returns the children of the root ``or``, each once, or the reason why the rule does not apply."""
        root = question.tree
        if not isinstance(root, Or):
            return Refusal(f"the filter is {describe_kind(root)}, not an or")
        equalities: dict[Compare, None] = {}
        for child in root.children:
            if not isinstance(child, Compare) or child.op != "=":
                return Refusal(f"{to_short_text(child)} is {describe_kind(child)}, not an equality")
            if not is_indexed_equality(child, question.source):
                return Refusal(explain_missing_index(child, question))
            equalities[child] = None
        if len(equalities) > MAX_LOOKUPS:
            return Refusal(f"the or has {format_number(len(equalities), 'value')}; at most {MAX_LOOKUPS} are looked up")
        return list(equalities)


RULES: tuple[Rule, ...] = (UnionRule(),)
