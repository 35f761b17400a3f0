"""Lists of values through the index: a rule beyond the paper's."""

from __future__ import annotations

from watchfloor.planner.access.paths import MOST_MEMBERS, IndexUnion, alternatives, equality
from watchfloor.planner.access.rule import Applied, Declined, Question, all_of
from watchfloor.schema.filter.print import to_short_text
from watchfloor.schema.filter.tree import And, Or
from watchfloor.schema.units import number, percent


class MembersRule:
    """The filter, or a condition of its ``and``, is a list of values of an indexed field, or an ``or`` of such and of
    equalities: index scan of each value, union. Of several the one with the lowest densities together is taken."""

    name = "members"

    def apply(self, question: Question) -> Applied | Declined:
        root, source = question.tree, question.source
        if root is None:
            return Declined("the filter is empty")
        children = root.children if isinstance(root, And) else (root,)
        found = [(child, alternatives(child, source)) for child in children]
        usable = [(child, terms) for child, terms in found if terms]
        if not usable:
            what = "none of the and's conditions is" if isinstance(root, And) else f"{to_short_text(root)} is not"
            return Declined(f"{what} a list of at most {MOST_MEMBERS} values of indexed fields")
        unions = [
            (child, tuple(dict.fromkeys(equality(term, question.counts) for term in terms))) for child, terms in usable
        ]
        sums = [sum(term.density for term in terms) for _, terms in unions]
        density = min(sums)
        chosen, terms = unions[sums.index(density)]
        rest = [child for child in children if child is not chosen]
        where = "a condition of the and" if rest else "the filter"
        what = f"{'an or' if isinstance(chosen, Or) else 'a list'} of {number(len(terms), 'value')} of indexed fields"
        share = percent(min(1.0, density))
        because = f"{where} is {what}, so the index finds the events of each, at most {share} of all events"
        return Applied(IndexUnion(terms), all_of(rest), (), because)
