"""Rules beyond the paper's: they look up conditions that many values satisfy, like ranges, endings and patterns."""

from __future__ import annotations

from dataclasses import dataclass

from watchfloor.planner.access.counts import RuleCounts
from watchfloor.planner.access.index_use import find_lookup_kind, list_conjuncts, make_lookup
from watchfloor.planner.access.paths import IndexUnion, LookupKind
from watchfloor.planner.access.reasons import NO_FILTER, describe_finds, say_no_conjunct
from watchfloor.planner.access.rule import Question, Refusal, Rule, RuleAnswer
from watchfloor.schema.filter.print import to_short_text
from watchfloor.schema.filter.tree import And, Condition, ExpressionCompare, ExpressionTest, Not, Or


@dataclass(frozen=True)
class MultiValueRule:
    """Finds the events of a condition that many values satisfy, by one index look-up of ``kind``.

    The condition is the filter or a child of its ``and``; if there are several, the rarest is looked up. The tablet
    servers evaluate the whole filter on what the index leads to, because long values are cut in the index. ``what`` and
    ``how`` are phrases of the rule's reasons.
    """

    name: str
    kind: LookupKind
    what: str
    how: str

    def asks(self, question: Question) -> list[Condition]:
        return [
            child
            for child in list_conjuncts(question.tree)
            if not isinstance(child, (And, Or, Not, ExpressionTest, ExpressionCompare))
            and find_lookup_kind(child, question.source) == self.kind
        ]

    def apply(self, question: Question, counts: RuleCounts) -> RuleAnswer | Refusal:
        root = question.tree
        if root is None:
            return Refusal(NO_FILTER)
        conditions = self.asks(question)
        if not conditions:
            return Refusal(say_no_conjunct(root, self.what))
        found = [make_lookup(condition, question.source, counts) for condition in conditions]
        lookups = [lookup for lookup in found if lookup is not None]
        if not lookups:
            return Refusal(f"{to_short_text(conditions[0])} has more entries in the index than are worth reading")
        rarest = min(lookups, key=lambda lookup: lookup.density)
        where = "a condition of the and" if isinstance(root, And) else "the filter"
        because = f"{where} is {self.what}: {self.how} {describe_finds(rarest)}"
        return RuleAnswer(IndexUnion((rarest,)), root, (), because)


RULES: tuple[Rule, ...] = (
    # < <= > >=, a..b, networks and startswith: the values that satisfy the condition are adjacent in the index.
    MultiValueRule(
        "range",
        "range",
        "a range of values of an indexed field",
        "the index, where values are sorted, finds its",
    ),
    # endswith on a field that has an index of reversed values.
    MultiValueRule(
        "suffix",
        "suffix",
        "an ending of a field that is indexed backwards",
        "the index of reversed values finds its",
    ),
    # Patterns and exists: the servers test each distinct value of the field, instead of each event.
    MultiValueRule(
        "values",
        "values",
        "a pattern, or exists, of an indexed field",
        "tested on the values in the index it finds",
    ),
    # Named lists, and what a query within the filter has found: both they and the index are sorted.
    MultiValueRule(
        "list",
        "list",
        "a list of many values of an indexed field",
        "the index, read where the sorted list has values, finds its",
    ),
)
