"""The paper's four rules. Each looks at a filter and either makes an access path of it or says why it cannot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from watchfloor.schema.filter.print import to_short_text
from watchfloor.schema.filter.tree import And, Compare, Filter, Not, Or
from watchfloor.schema.source import Field, Source
from watchfloor.schema.units import listed, number, percent

from .counts import Counts
from .paths import Access, IndexIntersection, IndexUnion, Lookup, Scan, equality, flatten, is_indexed_equality


@dataclass(frozen=True)
class Question:
    """What a rule decides on: a typed filter (None: no filter), flat at its root, and how dense its values are."""

    tree: Filter | None
    source: Source
    counts: Counts
    w: float


@dataclass(frozen=True)
class Applied:
    """A rule's access path, what is left to the tablet servers, the indexed equalities among that, and the reason."""

    access: Access
    residual: Filter | None
    left_out: tuple[Lookup, ...]
    because: str


@dataclass(frozen=True)
class Declined:
    """Why a rule does not apply."""

    because: str


class Rule(Protocol):
    """One way to find a filter's events."""

    name: str

    def apply(self, question: Question) -> Applied | Declined: ...


class EqualityRule:
    """The root is an equality on an indexed field: index scan."""

    name = "equality"

    def apply(self, question: Question) -> Applied | Declined:
        root = question.tree
        if not isinstance(root, Compare) or root.op != "=":
            return Declined(f"the filter is {_kind(root)}, not one equality")
        if not is_indexed_equality(root, question.source):
            return Declined(_no_index(root, question.source))
        term = equality(root, question.counts)
        because = (
            f"the filter is one equality on the indexed field {root.field}, so the index finds its {found_text(term)}"
        )
        return Applied(IndexUnion((term,)), None, (), because)


class UnionRule:
    """The root is ``or`` and all its children are equalities on indexed fields: index scan of each, union."""

    name = "union"

    def apply(self, question: Question) -> Applied | Declined:
        root = question.tree
        if not isinstance(root, Or):
            return Declined(f"the filter is {_kind(root)}, not an or")
        for child in root.children:
            if not isinstance(child, Compare) or child.op != "=":
                return Declined(f"{to_short_text(child)} is {_kind(child)}, not an equality")
            if not is_indexed_equality(child, question.source):
                return Declined(_no_index(child, question.source))
        terms = _terms(root.children, question)
        sums = sum(min(1.0, term.density) for term in terms)
        because = (
            f"the filter is an or of {number(len(terms), 'equality', 'equalities')} on indexed fields, so the index "
            f"finds the events of each and their union is the answer, at most {percent(min(1.0, sums))} of all events"
        )
        return Applied(IndexUnion(terms), None, (), because)


class IntersectionRule:
    """The root is ``and``: index scans of its equality children that are not much denser than the rarest one.

    Such a child has a density below w times the lowest; the rarest are always read. The rest is the residual.
    """

    name = "intersection"

    def apply(self, question: Question) -> Applied | Declined:
        root = question.tree
        if not isinstance(root, And):
            return Declined(f"the filter is {_kind(root)}, not an and")
        usable = [child for child in root.children if is_indexed_equality(child, question.source)]
        if not usable:
            return Declined(f"none of the and's {len(root.children)} conditions is an equality on an indexed field")
        terms = _terms(usable, question)
        lowest = min(term.density for term in terms)
        chosen = tuple(t for t in terms if t.density == lowest or t.density < question.w * lowest)
        left_out = tuple(term for term in terms if term not in chosen)
        taken = {term.condition for term in chosen}
        rest = [child for child in root.children if child not in taken]
        because = _why(terms, chosen, lowest, question.w)
        return Applied(IndexIntersection(chosen), all_of(rest), left_out, because)


class ScanRule:
    """Otherwise the whole filter is evaluated on the tablet servers."""

    name = "scan"

    def apply(self, question: Question) -> Applied | Declined:
        events = number(question.counts.total, "event")
        if question.tree is None:
            return Applied(Scan(), None, (), f"there is no filter, so all {events} of the time range are read")
        because = f"the tablet servers evaluate the whole filter on all {events} of the time range"
        return Applied(Scan(), question.tree, (), because)


PAPER_RULES: tuple[Rule, ...] = (EqualityRule(), UnionRule(), IntersectionRule(), ScanRule())
"""In the order in which they are tried; the last applies to everything."""


def question(tree: Filter | None, source: Source, counts: Counts, w: float) -> Question:
    """The question to put to the rules."""
    return Question(None if tree is None else flatten(tree), source, counts, w)


def _terms(children: Sequence[Filter], question: Question) -> tuple[Lookup, ...]:
    """The children's equalities with their densities, each once."""
    return tuple(dict.fromkeys(equality(c, question.counts) for c in children if isinstance(c, Compare)))


def all_of(children: Sequence[Filter]) -> Filter | None:
    """The ``and`` of some conditions; None of none."""
    if len(children) > 1:
        return And(tuple(children))
    return children[0] if children else None


def _why(terms: Sequence[Lookup], chosen: Sequence[Lookup], lowest: float, w: float) -> str:
    if len(terms) == 1:
        found = found_text(terms[0])
        return f"one of the and's conditions is an equality on an indexed field, and the index finds its {found}"
    if lowest == 0:
        return f"of the and's {len(terms)} indexed equalities {listed([t.text for t in chosen])} has no events at all"
    return (
        f"of the and's {len(terms)} indexed equalities the index is read for {len(chosen)}: the rarest, with a density "
        f"of {percent(lowest)}, and those under {w:g} times that"
    )


def found_text(term: Lookup) -> str:
    """How many events an index look-up finds, in words."""
    if term.count is None:
        return "events, of which no count is known"
    return f"{number(term.count, 'event')}, {percent(term.density)} of all"


def _no_index(tree: Compare, source: Source) -> str:
    if tree.field == source.time_field:
        return f"{to_short_text(tree)} is about the time field, which is the order of the events and has no index"
    return f"{to_short_text(tree)} is about the field {tree.field}, which has no index{_late(source.field(tree.field))}"


def _kind(tree: Filter | None) -> str:
    match tree:
        case None:
            return "empty"
        case And():
            return "an and"
        case Or():
            return "an or"
        case Not():
            return "a not"
        case Compare(op="="):
            return "an equality"
        case Compare(op=op):
            return f"a comparison by {op}"
        case _:
            return "a condition other than ="


def _late(field: Field) -> str:
    """Where the index is but does not reach back to the beginning of the time range."""
    return " of all the time range" if field.indexed_from else ""
