"""Conditions of many values through the index, rules beyond the paper's: ranges, endings, and patterns."""

from __future__ import annotations

from watchfloor.planner.access.paths import IndexUnion, Kind, index_kind, look_up
from watchfloor.planner.access.rule import Applied, Declined, Question, found_text
from watchfloor.schema.filter.print import to_short_text
from watchfloor.schema.filter.tree import And, Not, Or


class _ManyRule:
    """The filter, or a condition of its ``and``, is one of a kind on an indexed field; of several the rarest is taken.

    The whole filter stays to be evaluated on what the index leads to: long values are cut there.
    """

    name: str
    kind: Kind
    what: str
    how: str

    def apply(self, question: Question) -> Applied | Declined:
        root = question.tree
        if root is None:
            return Declined("the filter is empty")
        children = root.children if isinstance(root, And) else (root,)
        usable = [
            child
            for child in children
            if not isinstance(child, (And, Or, Not)) and index_kind(child, question.source) == self.kind
        ]
        if not usable:
            what = "none of the and's conditions is" if isinstance(root, And) else f"{to_short_text(root)} is not"
            return Declined(f"{what} {self.what}")
        found = [(child, look_up(child, question.source, question.counts)) for child in usable]
        known = [(child, term) for child, term in found if term is not None]
        if not known:
            return Declined(f"{to_short_text(usable[0])} has more entries in the index than are worth reading")
        _, term = min(known, key=lambda pair: pair[1].density)
        where = "a condition of the and" if isinstance(root, And) else "the filter"
        because = f"{where} is {self.what}: {self.how} {found_text(term)}"
        return Applied(IndexUnion((term,)), root, (), because)


class RangeRule(_ManyRule):
    """``< <= > >=``, ``in a..b``, a network, or a beginning: the values that satisfy it follow each other."""

    name = "range"
    kind = "range"
    what = "a range of values of an indexed field"
    how = "the index, where values are sorted, finds its"


class SuffixRule(_ManyRule):
    """``endswith`` on a field that is indexed by its reversed values, too."""

    name = "suffix"
    kind = "suffix"
    what = "an ending of a field that is indexed backwards"
    how = "the index of reversed values finds its"


class ValuesRule(_ManyRule):
    """A pattern on an indexed field: the servers test its distinct values, and not each event's."""

    name = "values"
    kind = "values"
    what = "a pattern, or exists, of an indexed field"
    how = "tested on the values in the index it finds"
