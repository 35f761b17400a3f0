"""Access paths: the ways to the events that a plan reads."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, Union

from watchfloor.schema.filter.print import to_text
from watchfloor.schema.filter.tree import Condition

LookupKind = Literal["value", "range", "suffix", "values"]
"""How the index answers a condition.

``value`` reads one index row a shard, ``range`` a range of sorted values, ``suffix`` a range of reversed values, and
``values`` tests the values of the field one after the other.
"""


@dataclass(frozen=True)
class Lookup:
    """An index look-up of a condition, with its count of events and their density in the time range.

    The index leads to ``places`` by reading ``entries``.
    """

    condition: Condition
    kind: LookupKind
    count: int
    density: float
    places: int
    entries: int

    @property
    def text(self) -> str:
        return to_text(self.condition)


@dataclass(frozen=True)
class Scan:
    """Reads every event of the time range and evaluates the residual on the tablet servers."""


@dataclass(frozen=True)
class IndexUnion:
    """Fetches what any of the terms leads to."""

    terms: tuple[Term, ...]


@dataclass(frozen=True)
class IndexIntersection:
    """Fetches what all of the terms lead to."""

    terms: tuple[Term, ...]


Term = Union[Lookup, IndexUnion, IndexIntersection]
Access = Union[Scan, IndexUnion, IndexIntersection]


def list_lookups(access: Access | Term) -> Iterator[Lookup]:
    """Yields all look-ups of an access path, left to right."""
    if isinstance(access, Lookup):
        yield access
    elif not isinstance(access, Scan):
        for term in access.terms:
            yield from list_lookups(term)


def estimate_density(term: Term) -> float:
    """Returns the share of all events that a term leads to, if its parts are independent of one another."""
    match term:
        case Lookup():
            return term.density
        case IndexUnion(terms):
            return min(1.0, sum(map(estimate_density, terms)))
        case IndexIntersection(terms):
            return math.prod(map(estimate_density, terms))
