"""A rule beyond the paper's: it looks up the values of a list in the index."""

from __future__ import annotations

from watchfloor.planner.access.counts import RuleCounts
from watchfloor.planner.access.index_use import (
    MAX_LOOKUPS,
    is_indexed_equality,
    join_conjuncts,
    list_alternatives,
    list_conjuncts,
    make_equality_lookup,
)
from watchfloor.planner.access.paths import IndexUnion
from watchfloor.planner.access.reasons import NO_FILTER, say_no_conjunct
from watchfloor.planner.access.rule import Question, Refusal, Rule, RuleAnswer
from watchfloor.schema.filter.tree import Compare, Filter, Or
from watchfloor.schema.text import format_number, format_percent


class MembersRule:
    """Unites index scans of the values of a list; the list is the filter or a condition of its ``and``.

    A list is ``in`` on an indexed field, or an ``or`` of equalities and ``in`` lists; an equality is a list of one. If
    there are several lists, the one with the lowest sum of densities is taken. If the ``and`` has an equality on an
    indexed field, longer lists are not counted, because the equality leads to few events by itself.
    """

    name = "members"

    def asks(self, question: Question) -> list[Compare]:
        lists = self._list_choices(question)
        return list(dict.fromkeys(value for _, values in lists for value in values))

    def apply(self, question: Question, counts: RuleCounts) -> RuleAnswer | Refusal:
        root = question.tree
        if root is None:
            return Refusal(NO_FILTER)
        choices = self._list_choices(question)
        if not choices:
            return Refusal(say_no_conjunct(root, f"a list of at most {MAX_LOOKUPS} values of indexed fields"))
        unions = [
            (child, tuple(dict.fromkeys(make_equality_lookup(value, counts) for value in values)))
            for child, values in choices
        ]
        sums = [sum(lookup.density for lookup in lookups) for _, lookups in unions]
        lowest = min(sums)
        chosen, lookups = unions[sums.index(lowest)]
        rest = [child for child in list_conjuncts(root) if child is not chosen]
        where = "a condition of the and" if rest else "the filter"
        kind = "an or" if isinstance(chosen, Or) else "a list"
        because = (
            f"{where} is {kind} of {format_number(len(lookups), 'value')} of indexed fields, so the index finds the "
            f"events of each, at most {format_percent(min(1.0, lowest))} of all events"
        )
        return RuleAnswer(IndexUnion(lookups), join_conjuncts(rest), (), because)

    def _list_choices(self, question: Question) -> list[tuple[Filter, tuple[Compare, ...]]]:
        """Returns the lists that may be looked up, each with its values as equalities.

        The shortest lists are kept, as long as all their values together are at most ``MAX_LOOKUPS``.
        """
        children = list_conjuncts(question.tree)
        if any(is_indexed_equality(child, question.source) for child in children):
            children = tuple(child for child in children if is_indexed_equality(child, question.source))
        lists = [(child, list_alternatives(child, question.source)) for child in children]
        fitting, total = [], 0
        for child, values in sorted(lists, key=lambda pair: len(pair[1])):
            total += len(values)
            if values and total <= MAX_LOOKUPS:
                fitting.append(child)
        return [(child, values) for child, values in lists if any(child is one for one in fitting)]


RULES: tuple[Rule, ...] = (MembersRule(),)
