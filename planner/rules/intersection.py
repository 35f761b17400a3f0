"""The paper's third rule: the root is ``and``, and some of its children are equalities on indexed fields."""

from __future__ import annotations

from collections.abc import Sequence

from watchfloor.planner.access.counts import RuleCounts
from watchfloor.planner.access.index_use import MAX_LOOKUPS, is_indexed_equality, join_conjuncts, make_equality_lookup
from watchfloor.planner.access.paths import IndexIntersection, Lookup
from watchfloor.planner.access.reasons import describe_finds, describe_kind
from watchfloor.planner.access.rule import Question, Refusal, Rule, RuleAnswer
from watchfloor.schema.filter.tree import And, Compare
from watchfloor.schema.text import format_percent, join_words


class IntersectionRule:
    """Intersects index scans of the equalities of an ``and`` that are not much denser than the rarest one.

    An equality is looked up if its density is the lowest or below w times the lowest. The rest of the ``and`` is the
    residual. Only the first ``MAX_LOOKUPS`` equalities are counted.
    """

    name = "intersection"

    def asks(self, question: Question) -> list[Compare]:
        root = question.tree
        if not isinstance(root, And):
            return []
        equalities = [child for child in root.children if is_indexed_equality(child, question.source)]
        return list(dict.fromkeys(equalities))[:MAX_LOOKUPS]

    def apply(self, question: Question, counts: RuleCounts) -> RuleAnswer | Refusal:
        root = question.tree
        if not isinstance(root, And):
            return Refusal(f"the filter is {describe_kind(root)}, not an and")
        lookups = [make_equality_lookup(equality, counts) for equality in self.asks(question)]
        if not lookups:
            return Refusal(f"none of the and's {len(root.children)} conditions is an equality on an indexed field")
        lowest = min(lookup.density for lookup in lookups)
        chosen = tuple(t for t in lookups if t.density == lowest or t.density < question.w * lowest)
        left_out = tuple(lookup for lookup in lookups if lookup not in chosen)
        answered = {lookup.condition for lookup in chosen}
        residual = join_conjuncts([child for child in root.children if child not in answered])
        because = _explain_choice(lookups, chosen, lowest, question.w)
        return RuleAnswer(IndexIntersection(chosen), residual, left_out, because)


def _explain_choice(lookups: Sequence[Lookup], chosen: Sequence[Lookup], lowest: float, w: float) -> str:
    if len(lookups) == 1:
        finds = describe_finds(lookups[0])
        return f"one of the and's conditions is an equality on an indexed field, and the index finds its {finds}"
    if lowest == 0:
        texts = join_words([lookup.text for lookup in chosen])
        return f"of the and's {len(lookups)} indexed equalities {texts} has no events at all"
    return (
        f"of the and's {len(lookups)} indexed equalities the index is read for {len(chosen)}: the rarest, with a "
        f"density of {format_percent(lowest)}, and those under {w:g} times that"
    )


RULES: tuple[Rule, ...] = (IntersectionRule(),)
