"""A rule beyond the paper's: it combines index look-ups of nested ands and ors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Union

from watchfloor.planner.access.counts import RuleCounts
from watchfloor.planner.access.index_use import (
    MAX_LOOKUPS,
    find_lookup_kind,
    is_indexed_equality,
    list_alternatives,
    make_lookup,
)
from watchfloor.planner.access.paths import IndexIntersection, IndexUnion, Term, estimate_density, list_lookups
from watchfloor.planner.access.reasons import NO_FILTER
from watchfloor.planner.access.rule import Question, Refusal, Rule, RuleAnswer
from watchfloor.schema.filter import tree as f
from watchfloor.schema.filter.print import to_short_text
from watchfloor.schema.source import Source
from watchfloor.schema.text import format_number, format_percent


@dataclass(frozen=True)
class _AnyOf:
    """A part of a filter that holds if any of its own parts holds; the index can answer all of them."""

    parts: tuple[_Part, ...]


@dataclass(frozen=True)
class _AllOf:
    """A part of a filter that holds if all of its own parts hold; parts that the index cannot answer are left out."""

    parts: tuple[_Part, ...]


_Part = Union[f.Condition, _AnyOf, _AllOf]


class NestedRule:
    """Combines index look-ups in the way in which the filter nests ``and`` and ``or``.

    The index answers an ``and`` if it answers one of its children, and an ``or`` only if it answers all of them. Parts
    of an ``and`` are looked up if their density is the lowest or below w times the lowest. The tablet servers evaluate
    the whole filter on the events that the index leads to.
    """

    name = "nested"

    def asks(self, question: Question) -> list[f.Condition]:
        root = question.tree
        part = _find_part(root, question.source) if isinstance(root, (f.And, f.Or)) else None
        conditions = [] if part is None else list(dict.fromkeys(_list_conditions(part)))
        return conditions if len(conditions) <= MAX_LOOKUPS else []

    def apply(self, question: Question, counts: RuleCounts) -> RuleAnswer | Refusal:
        root = question.tree
        if not isinstance(root, (f.And, f.Or)):
            return Refusal("the filter is one condition" if root is not None else NO_FILTER)
        part = _find_part(root, question.source)
        if part is not None and (values := len(set(_list_conditions(part)))) > MAX_LOOKUPS:
            many = format_number(values, "value")
            return Refusal(f"{to_short_text(root)} has {many}; at most {MAX_LOOKUPS} are looked up")
        term = None if part is None else _make_term(part, question, counts)
        if term is None:
            what = "no condition of the and" if isinstance(root, f.And) else "not every condition of the or"
            return Refusal(f"{what} is answered by the index")
        lookups = format_number(sum(1 for _ in list_lookups(term)), "look-up")
        share = format_percent(estimate_density(term))
        because = f"{lookups} of the index, combined as the filter is, lead to {share} of all events"
        access = term if isinstance(term, (IndexUnion, IndexIntersection)) else IndexUnion((term,))
        return RuleAnswer(access, root, (), because)


def _find_part(tree: f.Filter, source: Source) -> _Part | None:
    """Returns the part of ``tree`` that the index can answer; None if there is none.

    Every event that satisfies ``tree`` satisfies the part too.
    """
    match tree:
        case f.And(children):
            return _find_conjuncts(children, source)
        case f.Or(children):
            parts = [_find_part(child, source) for child in children]
            return None if None in parts else _AnyOf(tuple(part for part in parts if part is not None))
        case f.Not() | f.ExpressionTest() | f.ExpressionCompare():
            return None
        case f.In():
            values = list_alternatives(tree, source)
            return _AnyOf(values) if values else None
        case _:
            return tree if find_lookup_kind(tree, source) else None


def _find_conjuncts(children: tuple[f.Filter, ...], source: Source) -> _Part | None:
    """Returns the part of an ``and`` that the index can answer; None if there is none.

    Parts are taken as long as their conditions fit into ``MAX_LOOKUPS``, those with the fewest conditions first.
    """
    if any(is_indexed_equality(child, source) for child in children):
        # The equality leads to few events by itself, so lists beside it are not counted.
        children = tuple(c for c in children if is_indexed_equality(c, source) or not list_alternatives(c, source))
    parts = [part for child in children if (part := _find_part(child, source)) is not None]
    sizes = [sum(1 for _ in _list_conditions(part)) for part in parts]
    fitting, total = set[int](), 0
    for number in sorted(range(len(parts)), key=sizes.__getitem__):
        total += sizes[number]
        if total <= MAX_LOOKUPS:
            fitting.add(number)
    # If no part fits, all are kept: the rule then refuses the filter if the distinct conditions are too many, too.
    kept = [part for number, part in enumerate(parts) if number in fitting] or parts
    return _AllOf(tuple(kept)) if kept else None


def _list_conditions(part: _Part) -> Iterator[f.Condition]:
    """Yields the conditions of a part, left to right."""
    if isinstance(part, (_AnyOf, _AllOf)):
        for child in part.parts:
            yield from _list_conditions(child)
    else:
        yield part


def _make_term(part: _Part, question: Question, counts: RuleCounts) -> Term | None:
    """Returns the look-ups of a part as a term; None if a needed condition has too many index entries."""
    if isinstance(part, _AnyOf):
        terms = [_make_term(child, question, counts) for child in part.parts]
        return None if None in terms else IndexUnion(tuple(dict.fromkeys(t for t in terms if t is not None)))
    if isinstance(part, _AllOf):
        known = [term for child in part.parts if (term := _make_term(child, question, counts)) is not None]
        if not known:
            return None
        lowest = min(map(estimate_density, known))
        chosen = [
            term
            for term in dict.fromkeys(known)
            if estimate_density(term) == lowest or estimate_density(term) < question.w * lowest
        ]
        return chosen[0] if len(chosen) == 1 else IndexIntersection(tuple(chosen))
    return make_lookup(part, question.source, counts)


RULES: tuple[Rule, ...] = (NestedRule(),)
