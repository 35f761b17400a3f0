"""Access paths: where the events that a plan reads come from."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeGuard, Union

from watchfloor.schema.filter.print import to_text
from watchfloor.schema.filter.tree import (
    And,
    Between,
    Cidr,
    Compare,
    Condition,
    Exists,
    Filter,
    In,
    Matches,
    Not,
    Or,
    Prefix,
    Wildcard,
    literal_ends,
)
from watchfloor.schema.source import Source

from .counts import Counts

MOST_MEMBERS = 256
"""Values of lists, and look-ups in all, that are counted and made in the index; of more the servers filter."""
MOST_RANGES = 8
"""Conditions of many values of one filter that are looked up in the index."""

Kind = Literal["value", "range", "suffix", "values"]
"""How the index answers a condition: by one row a shard, by a range of its sorted values, by one of its reversed
values, or by testing values one after the other."""


@dataclass(frozen=True)
class Lookup:
    """A condition on an indexed field, with its count (None: not known) and density in the time range.

    The index leads to ``places`` by reading ``entries``.
    """

    condition: Condition
    kind: Kind
    count: int | None
    density: float
    places: int
    entries: int

    @property
    def text(self) -> str:
        return to_text(self.condition)


@dataclass(frozen=True)
class Scan:
    """Every event of the time range is read, and the residual evaluated on it, on the tablet servers."""


@dataclass(frozen=True)
class IndexUnion:
    """What any of the terms leads to is fetched."""

    terms: tuple[Term, ...]


@dataclass(frozen=True)
class IndexIntersection:
    """What each of the terms leads to is fetched."""

    terms: tuple[Term, ...]


Term = Union[Lookup, IndexUnion, IndexIntersection]
Access = Union[Scan, IndexUnion, IndexIntersection]


def lookups(access: Access | Term) -> Iterator[Lookup]:
    """All look-ups of an access path."""
    if isinstance(access, Lookup):
        yield access
    elif not isinstance(access, Scan):
        for term in access.terms:
            yield from lookups(term)


def density(term: Term) -> float:
    """The share of all events that a term leads to, its parts taken to be independent of one another."""
    match term:
        case Lookup():
            return term.density
        case IndexUnion(terms):
            return min(1.0, sum(map(density, terms)))
        case IndexIntersection(terms):
            return math.prod(map(density, terms))


def flatten(tree: Filter) -> Filter:
    """``tree`` with ands directly under a root ``and`` pulled into it, and ors under a root ``or``."""
    if not isinstance(tree, (And, Or)):
        return tree
    return type(tree)(tuple(_pulled(tree, type(tree))))


def _pulled(tree: Filter, kind: type[And] | type[Or]) -> Iterator[Filter]:
    if isinstance(tree, (And, Or)) and isinstance(tree, kind):
        for child in tree.children:
            yield from _pulled(child, kind)
    else:
        yield tree


def index_kind(tree: Filter, source: Source) -> Kind | None:
    """How the index answers a condition by itself; None if it cannot. Lists are indexed by their elements."""
    if isinstance(tree, (And, Or, Not, In)) or not (field := source.field(tree.field)).indexed:
        return None
    match tree:
        case Compare(_, op):
            return "value" if op == "=" else None if op == "!=" else "range"
        case Between() | Cidr() | Prefix():
            return "range"
        case Wildcard(_, pattern):
            start, end, between = literal_ends(pattern)
            if not start and end and field.reversed:
                return "suffix"
            return "range" if between == "*" and not end else "values"
        case Exists():
            return None if field.is_list else "values"  # an empty list exists, and has no value in the index
        case Matches():
            return "values"


def is_indexed_equality(tree: Filter, source: Source) -> TypeGuard[Compare]:
    """Whether ``tree`` is an equality on an indexed field."""
    return index_kind(tree, source) == "value"


def alternatives(tree: Filter, source: Source) -> tuple[Compare, ...]:
    """The equalities of which one must hold: those of a list of values, or of an ``or`` of lists and equalities.

    Nothing if the index cannot answer one of them, or if they are more than ``MOST_MEMBERS``.
    """
    match tree:
        case Compare():
            terms: tuple[Compare, ...] = (tree,)
        case In(field, values):
            terms = tuple(Compare(field, "=", value) for value in values)
        case Or(children):
            parts = [alternatives(child, source) for child in children]
            terms = tuple(term for part in parts for term in part) if all(parts) else ()
        case _:
            return ()
    return terms if len(terms) <= MOST_MEMBERS and all(is_indexed_equality(t, source) for t in terms) else ()


def countable(tree: Filter | None, source: Source) -> tuple[Condition, ...]:
    """The conditions that a plan for ``tree`` may want to know the counts of, each once: read them in one go."""
    found = () if tree is None else tuple(dict.fromkeys(_countable(tree, source) or ()))
    many = [condition for condition in found if index_kind(condition, source) != "value"]
    return tuple(c for c in found if c not in many[MOST_RANGES:])


def _countable(tree: Filter, source: Source) -> list[Condition] | None:
    """None if the index cannot lead to the events of ``tree``."""
    match tree:
        case And():
            children = flatten(tree).children  # type: ignore[union-attr]
            if any(is_indexed_equality(child, source) for child in children):
                # Lists are asked about only where no equality leads to the events by itself.
                children = tuple(c for c in children if is_indexed_equality(c, source) or not alternatives(c, source))
            parts = [part for child in children if (part := _countable(child, source)) is not None]
            counted: list[Condition] = []
            for part in sorted(parts, key=len):
                if len(counted) + len(part) <= MOST_MEMBERS:
                    counted += part
            return counted or None
        case Or(children):
            every = [_countable(child, source) for child in children]
            found = [condition for part in every for condition in part or ()]
            return None if None in every or len(found) > MOST_MEMBERS else found
        case Not():
            return None
        case In():
            return list(alternatives(tree, source)) or None
        case _:
            return [tree] if index_kind(tree, source) else None


def equality(tree: Compare, counts: Counts) -> Lookup:
    """The look-up of an equality. A count that nobody knows is taken as all events: the index may only lose by it."""
    known = counts.of(tree)
    if known is None:
        return Lookup(tree, "value", None, 1.0, counts.total, counts.total)
    return Lookup(tree, "value", known.events, share(known.events, counts), known.places, known.entries)


def look_up(tree: Condition, source: Source, counts: Counts) -> Lookup | None:
    """The look-up of a condition; None if the index cannot answer it, or has more of it than was worth counting."""
    kind = index_kind(tree, source)
    if kind == "value":
        assert isinstance(tree, Compare)
        return equality(tree, counts)
    known = None if kind is None else counts.of(tree)
    if kind is None or known is None:
        return None
    return Lookup(tree, kind, known.events, share(known.events, counts), known.places, known.entries)


def share(events: int, counts: Counts) -> float:
    """Of all events."""
    return min(1.0, events / counts.total) if counts.total else 0.0
