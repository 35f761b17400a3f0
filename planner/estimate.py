"""How long a query takes by an access path: until its first page is there, and until its end.

The model is rough on purpose: it has to tell paths apart that differ by factors. Its constants are measured once per
store (``watchfloor calibrate``). Matches are taken to be spread evenly over the time range, from the newest on, and
conditions to be independent of one another. Of a condition that has not been counted no estimate is made: it is taken
to hold for every event. Both ways need the same share more events where it does not, so that the comparison suffers
little, and the plan says that there may be fewer matches.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from watchfloor.planner.access.counts import Counts
from watchfloor.planner.access.paths import (
    Access,
    IndexIntersection,
    IndexUnion,
    Lookup,
    Scan,
    Term,
    alternatives,
    index_kind,
    lookups,
    share,
)
from watchfloor.schema.filter.tree import And, Filter, In, Matches, Not, Or, Wildcard
from watchfloor.schema.source import Source

PAGE = 100
"""Rows of a first page."""
FIRST_PLACES = 2
"""Places that are looked up at first, if there are so many."""
ABOUT_AS_SOON = 1 / 4
"""Of what a scan takes that finds all it wants at once: by no more than this is a page later than its first row."""


@dataclass(frozen=True)
class Costs:
    """What reading costs, in seconds. A place is what the index leads to: an event, or a block of events."""

    place_events: float
    """Events that a place has at most."""
    scan: float
    """A scan that finds all it wants at once."""
    event: float
    """Filtering one event in a scan."""
    pattern: float
    """Testing one event by a regular expression or a wildcard."""
    hit: float
    """What a place that has matches costs a scan more than others."""
    look_up: float
    """Fetching what the index leads to, if that is next to nothing."""
    place: float
    """Fetching and filtering one place."""
    entry: float
    """Reading one index entry of an equality."""
    row: float
    """Handing one match over, with all its fields."""


COSTS: Mapping[str, Costs] = {
    "cell": Costs(
        place_events=1,
        scan=5e-3,
        event=6.5e-6,
        pattern=0.5e-6,
        hit=0.0,
        look_up=5e-3,
        place=70e-6,
        entry=2e-6,
        row=1e-6,
    ),
    "block": Costs(
        place_events=16384,
        scan=6e-3,
        event=8e-9,
        pattern=40e-9,
        hit=6e-4,
        look_up=7e-3,
        place=1e-3,
        entry=0.0,
        row=1.4e-6,
    ),
}
"""By layout; measured with 2 cores and one tablet server. They serve until a store has its own."""


def costs_of(layout: str, measured: Mapping[str, float]) -> Costs:
    """The costs of a layout, with those that were measured; what is not known, or no cost, is left out."""
    known = {name: value for name, value in measured.items() if name in Costs.__dataclass_fields__ and value >= 0}
    return replace(COSTS[layout], **known)


@dataclass(frozen=True)
class Estimate:
    """What is expected of a query by one access path.

    ``matches``: events that the filter lets through; unless ``certain``, there may be fewer, as some of its conditions
    have not been counted. ``places``: what the index leads to. ``page`` and ``end``: seconds to the first page and to
    the last row that is wanted. ``ahead``: seconds for reading all of the index that has to be read before anything is
    fetched, if the whole range is one query batch. ``paged``: whether a page is found about as soon as its first row.
    """

    matches: float
    certain: bool
    places: float
    page: float
    end: float
    ahead: float = 0.0
    paged: bool = True


@dataclass(frozen=True)
class Expectation:
    """What is expected of a filter, whatever the access path: ``matches``, and whether that is ``certain``; the events
    that are ``newer`` than all of them; and how many ``patterns`` each event is tested by."""

    matches: float
    certain: bool
    newer: int
    patterns: int

    @classmethod
    def of(cls, tree: Filter | None, source: Source, counts: Counts) -> Expectation:
        if tree is None:
            return cls(counts.total, True, 0, 0)
        found = _share_of(tree, source, counts)
        return cls(counts.total * found.share, found.certain, min(counts.total, found.newer), _patterns(tree))


def estimate(
    expected: Expectation, source: Source, total: int, access: Access, costs: Costs, limit: int | None = None
) -> Estimate:
    """The estimate for ``access`` of a query for ``limit`` of the ``expected`` events, or for all, among ``total``."""
    matches, newer = expected.matches, expected.newer
    event_pattern = expected.patterns * costs.pattern
    every = max(math.ceil(total / costs.place_events), *(term.places for term in lookups(access)), 1)
    places = every if isinstance(access, Scan) else _places(access, every)
    # Those of many values have been read to know their counts.
    ahead = sum(term.entries for term in lookups(access) if term.kind == "value") * costs.entry

    def seconds(rows: float) -> float:
        part = min(1.0, rows / matches) if matches > 0 else 1.0
        handed = min(rows, matches) * costs.row
        if isinstance(access, Scan):
            read = (newer + part * (total - newer)) * (costs.event + event_pattern)
            # Each shard hands its first blocks over, however few are wanted.
            hit = max(part * every * -math.expm1(-matches / every), min(matches, every, source.shards))
            return costs.scan + read + hit * costs.hit + handed
        fetched = max(min(places, FIRST_PLACES), part * places)
        filtered = fetched * (costs.place + event_pattern * total / every)
        return costs.look_up + part * ahead + filtered + handed

    wanted = math.inf if limit is None else limit
    page, end = seconds(min(PAGE, wanted)), seconds(min(matches, wanted))
    paged = True
    if isinstance(access, Scan) and matches >= PAGE:
        paged = PAGE * (seconds(matches) - seconds(0)) / matches <= costs.scan * ABOUT_AS_SOON
    return Estimate(matches, expected.certain, places, page, end, ahead, paged)


def _places(term: Term, every: float) -> float:
    match term:
        case Lookup():
            return term.places
        case IndexUnion(terms):
            return min(every, sum(_places(part, every) for part in terms))
        case IndexIntersection(terms):
            return every * math.prod(min(1.0, _places(part, every) / every) for part in terms)


@dataclass(frozen=True)
class _Share:
    """The share of all events that satisfy a filter, whether it is certain, and how many are newer than all of them, as
    far as it is known."""

    share: float = 1.0
    certain: bool = False
    newer: int = 0


def _share_of(tree: Filter, source: Source, counts: Counts) -> _Share:
    match tree:
        case And(children):
            parts = [_share_of(child, source, counts) for child in children]
            return _together(math.prod(part.share for part in parts), max(part.newer for part in parts), parts)
        case Or(children):
            parts = [_share_of(child, source, counts) for child in children]
            return _together(min(1.0, sum(part.share for part in parts)), min(part.newer for part in parts), parts)
        case Not():
            return _Share()
        case In():
            terms = alternatives(tree, source)
            return _share_of(Or(terms), source, counts) if terms else _Share()
        case _:
            known = counts.of(tree) if index_kind(tree, source) else None
            return _Share() if known is None else _Share(share(known.events, counts), True, known.newer)


def _together(share: float, newer: int, parts: Sequence[_Share]) -> _Share:
    return _Share(share, all(part.certain for part in parts) or share == 0, newer)


def _patterns(tree: Filter) -> int:
    """How many conditions of ``tree`` are patterns."""
    if isinstance(tree, (And, Or)):
        return sum(map(_patterns, tree.children))
    return _patterns(tree.child) if isinstance(tree, Not) else isinstance(tree, (Matches, Wildcard))
