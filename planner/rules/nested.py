"""Ands and ors of all that the index can answer, as deep as they go: a rule beyond the paper's."""

from __future__ import annotations

from watchfloor.planner.access.paths import (
    MOST_MEMBERS,
    IndexIntersection,
    IndexUnion,
    Term,
    alternatives,
    density,
    equality,
    look_up,
    lookups,
)
from watchfloor.planner.access.rule import Applied, Declined, Question
from watchfloor.schema.filter.print import to_short_text
from watchfloor.schema.filter.tree import And, Compare, Filter, In, Not, Or
from watchfloor.schema.units import number, percent


class NestedRule:
    """An ``and`` needs one of its conditions in the index, an ``or`` all of them, and either may hold the other.

    Of an ``and`` those are looked up that lead to less than w times the events of the rarest. The whole filter stays to
    be evaluated on what the index leads to.
    """

    name = "nested"

    def apply(self, question: Question) -> Applied | Declined:
        root = question.tree
        if not isinstance(root, (And, Or)):
            return Declined("the filter is one condition" if root is not None else "the filter is empty")
        term = _cover(root, question)
        if term is None:
            what = "no condition of the and" if isinstance(root, And) else "not every condition of the or"
            return Declined(f"{what} is answered by the index")
        count = sum(1 for _ in lookups(term))
        if count > MOST_MEMBERS:
            return Declined(f"{to_short_text(root)} has {number(count, 'value')}; at most {MOST_MEMBERS} are looked up")
        share = percent(density(term))
        because = f"{number(count, 'look-up')} of the index, combined as the filter is, lead to {share} of all events"
        access = term if isinstance(term, (IndexUnion, IndexIntersection)) else IndexUnion((term,))
        return Applied(access, root, (), because)


def _cover(tree: Filter, question: Question) -> Term | None:
    """Look-ups that lead to all events of ``tree``, and to others perhaps; None if there are none."""
    match tree:
        case And(children):
            terms = [term for child in children if (term := _cover(child, question)) is not None]
            if not terms:
                return None
            lowest = min(map(density, terms))
            chosen = [t for t in dict.fromkeys(terms) if density(t) == lowest or density(t) < question.w * lowest]
            return chosen[0] if len(chosen) == 1 else IndexIntersection(tuple(chosen))
        case Or(children):
            every = [_cover(child, question) for child in children]
            return (
                None if None in every else IndexUnion(tuple(dict.fromkeys(term for term in every if term is not None)))
            )
        case Not():
            return None
        case In():
            terms = [equality(term, question.counts) for term in alternatives(tree, question.source)]
            return IndexUnion(tuple(dict.fromkeys(terms))) if terms else None
        case Compare(op="!="):
            return None
        case _:
            return look_up(tree, question.source, question.counts)
