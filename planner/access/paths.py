"""Access paths: the ways in which a plan finds its events."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, Union

from watchfloor.schema.filter.print import to_text
from watchfloor.schema.filter.tree import Condition

LookupKind = Literal["value", "range", "suffix", "values", "list"]
"""The kinds of look-up by which the index answers a condition.

``value`` reads one index row a shard, ``range`` a range of sorted values, ``suffix`` a range of reversed values,
``values`` tests the values of the field one after the other, and ``list`` looks for those of a sorted list.
"""


@dataclass(frozen=True)
class Lookup:
    """An index look-up of one condition.

    ``count`` is the number of events in the time range that satisfy the condition, and ``density`` their share of all
    events. The look-up reads ``entries`` index entries, which lead to ``places``.
    """

    condition: Condition
    kind: LookupKind
    count: int
    density: float
    places: int
    entries: int

    @property
    def text(self) -> str:
        """The condition as text of the filter language."""
        return to_text(self.condition)


@dataclass(frozen=True)
class Scan:
    """An access path that reads every event of the time range; the tablet servers evaluate the residual."""


@dataclass(frozen=True)
class IndexUnion:
    """An access path that fetches all that any of its terms leads to."""

    terms: tuple[Term, ...]


@dataclass(frozen=True)
class IndexIntersection:
    """An access path that fetches only that to which each of its terms leads."""

    terms: tuple[Term, ...]


Term = Union[Lookup, IndexUnion, IndexIntersection]
"""A part of an access path through the index."""
Access = Union[Scan, IndexUnion, IndexIntersection]
"""A whole access path."""


def list_lookups(access: Access | Term) -> Iterator[Lookup]:
    """Yields all look-ups of an access path, left to right."""
    if isinstance(access, Lookup):
        yield access
    elif not isinstance(access, Scan):
        for term in access.terms:
            yield from list_lookups(term)


def estimate_density(term: Term) -> float:
    """Returns the estimated share of all events that a term leads to, from 0 to 1.

    Parts of an intersection are taken to be independent of one another, parts of a union not to overlap.
    """
    match term:
        case Lookup():
            return term.density
        case IndexUnion(terms):
            return min(1.0, sum(map(estimate_density, terms)))
        case IndexIntersection(terms):
            return math.prod(map(estimate_density, terms))
