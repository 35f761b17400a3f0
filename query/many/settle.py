"""Settles sources that cannot have a match, by one look at the table of sightings instead of one at each source."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from watchfloor.query.preparation.prepare import CheckedRequest
from watchfloor.schema.field import IndexKind
from watchfloor.schema.filter.tree import And, Compare, Filter, In, Or
from watchfloor.store.index.index_hits import is_equality
from watchfloor.store.sightings.read_sightings import read_sightings
from watchfloor.store.sightings.sighted_rows import SightedRange, find_sighted_range
from watchfloor.store.snapshot import Snapshot

_MOST_VALUES = 16
"""The largest number of different values that are looked up in the table."""


def find_settled(snapshot: Snapshot, parts: Sequence[CheckedRequest]) -> frozenset[str]:
    """Returns the names of the sources of which the table of sightings says that they have no match.

    ``parts`` have one time range. A source can be settled if its filter needs one of some equalities on fields that are
    in the table. Events of a work item that is still being written may not be in it.
    """
    values = {
        (part.source.name, equality): value
        for part in parts
        for equality in _list_equalities(part.tree)
        if (value := _find_value(part, equality)) is not None
    }
    distinct = set(values.values())
    if not distinct or len(distinct) > _MOST_VALUES:
        return frozenset()
    found = read_sightings(snapshot, distinct, parts[0].since, parts[0].until)

    def can_match(part: CheckedRequest) -> bool:
        name = part.source.name

        def is_sighted(equality: Compare) -> bool:
            value = values.get((name, equality))
            return value is None or (name, equality.field) in found[value]

        return part.tree is None or _can_hold(part.tree, is_sighted)

    return frozenset(part.source.name for part in parts if not can_match(part))


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


def _can_hold(tree: Filter, is_sighted: Callable[[Compare], bool]) -> bool:
    """Returns whether an event may satisfy ``tree``; ``is_sighted`` tells it of equalities."""
    match tree:
        case And(children):
            return all(_can_hold(child, is_sighted) for child in children)
        case Or(children):
            return any(_can_hold(child, is_sighted) for child in children)
        case In(field, values):
            return any(is_sighted(Compare(field, "=", value)) for value in values)
        case Compare() if is_equality(tree):
            return is_sighted(tree)
    return True
