"""Bounds what each source of a query can match, by one look at the table of sightings instead of one at each source."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

from watchfloor.query.preparation.prepare import CheckedRequest
from watchfloor.schema.field import IndexKind
from watchfloor.schema.filter.tree import And, Compare, Filter, In, Or
from watchfloor.store.index.index_hits import is_equality
from watchfloor.store.sightings.read_sightings import read_sightings
from watchfloor.store.sightings.sighted_rows import SightedRange, find_sighted_range
from watchfloor.store.snapshot import Snapshot

_MOST_VALUES = 16
"""The largest number of different values that are looked up in the table."""


@dataclass(frozen=True)
class MatchBound:
    """The most matches that there can be in each hour, by its start (µs), all of them before ``end`` (µs)."""

    hours: Counter[int]
    end: int

    @property
    def is_empty(self) -> bool:
        return not self.hours


_NONE = MatchBound(Counter(), 0)


def find_match_bounds(snapshot: Snapshot, parts: Sequence[CheckedRequest]) -> Mapping[str, MatchBound]:
    """Returns a bound by the name of each source about which the table of sightings tells one.

    ``parts`` have one time range. A source is bounded if its filter needs one of some equalities on fields that are in
    the table. Events of a work item that is still being written may not be in it.
    """
    values = {
        (part.source.name, equality): value
        for part in parts
        for equality in _list_equalities(part.tree)
        if (value := _find_value(part, equality)) is not None
    }
    distinct = set(values.values())
    if not distinct or len(distinct) > _MOST_VALUES:
        return {}
    found = read_sightings(snapshot, distinct, parts[0].since, parts[0].until)

    def bound_part(part: CheckedRequest) -> MatchBound | None:
        name = part.source.name

        def look_up(equality: Compare) -> MatchBound | None:
            value = values.get((name, equality))
            if value is None:
                return None
            sighted = found[value].get((name, equality.field))
            return _NONE if sighted is None else MatchBound(sighted.hours, sighted.end)

        return None if part.tree is None else _bound_tree(part.tree, look_up)

    bounds = {part.source.name: bound_part(part) for part in parts}
    return {name: bound for name, bound in bounds.items() if bound is not None}


def list_unsighted(bounds: Mapping[str, MatchBound]) -> frozenset[str]:
    """Returns the names of the sources that have no match."""
    return frozenset(name for name, bound in bounds.items() if bound.is_empty)


def _list_equalities(tree: Filter | None) -> Iterator[Compare]:
    """Yields the equalities of a filter that are under no ``not``."""
    match tree:
        case And(children) | Or(children):
            for child in children:
                yield from _list_equalities(child)
        case In(field, values):
            yield from (Compare(field, "=", value) for value in values)
        case Compare() if is_equality(tree):
            yield tree


def _find_value(part: CheckedRequest, equality: Compare) -> SightedRange | None:
    """Returns the value of an equality, if the table covers its field in the range of the query."""
    field = part.source.find_field(equality.field)
    return find_sighted_range(field, equality) if field.is_covered(part.since, IndexKind.SIGHTINGS) else None


def _bound_tree(tree: Filter, look_up: Callable[[Compare], MatchBound | None]) -> MatchBound | None:
    """Returns the bound of the events that satisfy ``tree``, None if there is none; ``look_up`` has the equalities'."""
    match tree:
        case And(children):
            known = [bound for child in children if (bound := _bound_tree(child, look_up)) is not None]
            return reduce(_meet, known) if known else None
        case Or(children):
            return _join_all(_bound_tree(child, look_up) for child in children)
        case In(field, values):
            return _join_all(look_up(Compare(field, "=", value)) for value in values)
        case Compare() if is_equality(tree):
            return look_up(tree)
    return None


def _meet(one: MatchBound, other: MatchBound) -> MatchBound:
    """Returns the bound of the events that are within both."""
    return MatchBound(one.hours & other.hours, min(one.end, other.end))


def _join_all(bounds: Iterator[MatchBound | None]) -> MatchBound | None:
    """Returns the bound of the events that are within one of several; None if one of them has none."""
    joined = _NONE
    for bound in bounds:
        if bound is None:
            return None
        # Most often one field of several has the value.
        if joined.is_empty or bound.is_empty:
            joined = bound if joined.is_empty else joined
        else:
            joined = MatchBound(joined.hours + bound.hours, max(joined.end, bound.end))
    return joined
