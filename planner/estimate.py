"""Estimates of how long a query takes by an access path: until its first page is there, and until its end.

The model is rough on purpose: it has to tell paths apart that differ by factors. Its constants are the layout's, or
were measured once on the store (``watchfloor calibrate``). It assumes that matches are spread evenly over the time
range, from the newest on, and that conditions are independent of one another. A condition that was not counted is taken
to hold for every event. An index scan and a filtered scan then both need the same share more events than estimated,
so that the comparison suffers little, and the plan says that there may be fewer matches.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from watchfloor.planner.access.counts import Counts
from watchfloor.planner.access.index_use import find_lookup_kind, list_alternatives
from watchfloor.planner.access.paths import Access, IndexIntersection, IndexUnion, Lookup, Scan, Term, list_lookups
from watchfloor.schema.filter import tree as f
from watchfloor.schema.read_costs import ReadCosts
from watchfloor.schema.source import Source

PAGE = 100
"""Rows of a first page."""
FIRST_PLACES = 2
"""The number of places that an index scan fetches first, if there are so many."""
PAGE_DELAY_SHARE = 1 / 4
"""A scan's page counts as found with its first row if it is later by at most this share of the costs' ``scan``."""


@dataclass(frozen=True)
class Estimate:
    """The expected course of a query by one access path.

    ``matches`` events pass the filter; unless ``certain``, there may be fewer, as some conditions were not counted.
    The index leads to ``places``. ``page`` and ``end`` are the seconds to the first page and to the last row that is
    wanted. ``ahead`` is the number of seconds for reading the index entries that must be read before anything is
    fetched, if the whole range is one query batch. ``paged`` says that a page is found about as soon as its first row.
    """

    matches: float
    certain: bool
    places: float
    page: float
    end: float
    ahead: float = 0.0
    paged: bool = True


@dataclass(frozen=True)
class MatchEstimate:
    """The expected matches of a filter, whatever the access path.

    ``newer`` events are newer than all ``matches``. Each event is tested by ``patterns`` patterns.
    """

    matches: float
    certain: bool
    newer: int
    patterns: int


def estimate_matches(tree: f.Filter | None, source: Source, counts: Counts) -> MatchEstimate:
    """Returns what the counts say of a filter; without a filter all events match."""
    if tree is None:
        return MatchEstimate(counts.total, True, 0, 0)
    share = _estimate_share(tree, source, counts)
    newer = min(counts.total, share.newer)
    return MatchEstimate(counts.total * share.share, share.certain, newer, _count_patterns(tree))


def estimate_access(
    expected: MatchEstimate, access: Access, shards: int, total: int, costs: ReadCosts, limit: int | None = None
) -> Estimate:
    """Returns the estimate for a query by ``access`` among ``total`` events: for ``limit`` of the matches, or all."""
    matches, newer = expected.matches, expected.newer
    event_pattern = expected.patterns * costs.pattern
    all_places = max(math.ceil(total / costs.place_events), *(term.places for term in list_lookups(access)), 1)
    places = all_places if isinstance(access, Scan) else _estimate_places(access, all_places)
    # The entries of conditions of many values have been read already, to count them.
    ahead = sum(term.entries for term in list_lookups(access) if term.kind == "value") * costs.entry

    def estimate_seconds(rows: float) -> float:
        part = min(1.0, rows / matches) if matches > 0 else 1.0
        handed = min(rows, matches) * costs.row
        if isinstance(access, Scan):
            read = (newer + part * (total - newer)) * (costs.event + event_pattern)
            # Each shard hands its first blocks over, however few are wanted.
            hit = max(part * all_places * -math.expm1(-matches / all_places), min(matches, all_places, shards))
            return costs.scan + read + hit * costs.hit + handed
        fetched = max(min(places, FIRST_PLACES), part * places)
        filtered = fetched * (costs.place + event_pattern * total / all_places)
        return costs.look_up + part * ahead + filtered + handed

    wanted = math.inf if limit is None else limit
    page, end = estimate_seconds(min(PAGE, wanted)), estimate_seconds(min(matches, wanted))
    paged = True
    if isinstance(access, Scan) and matches >= PAGE:
        delay = PAGE * (estimate_seconds(matches) - estimate_seconds(0)) / matches
        paged = delay <= costs.scan * PAGE_DELAY_SHARE
    return Estimate(matches, expected.certain, places, page, end, ahead, paged)


def _estimate_places(term: Term, all_places: float) -> float:
    match term:
        case Lookup():
            return term.places
        case IndexUnion(terms):
            return min(all_places, sum(_estimate_places(part, all_places) for part in terms))
        case IndexIntersection(terms):
            return all_places * math.prod(min(1.0, _estimate_places(part, all_places) / all_places) for part in terms)


@dataclass(frozen=True)
class _Share:
    """The share of all events that satisfy a filter; ``newer`` events are known to be newer than all of these."""

    share: float = 1.0
    certain: bool = False
    newer: int = 0


def _estimate_share(tree: f.Filter, source: Source, counts: Counts) -> _Share:
    match tree:
        case f.And(children):
            parts = [_estimate_share(child, source, counts) for child in children]
            return _join_shares(math.prod(part.share for part in parts), max(part.newer for part in parts), parts)
        case f.Or(children):
            parts = [_estimate_share(child, source, counts) for child in children]
            return _join_shares(min(1.0, sum(part.share for part in parts)), min(part.newer for part in parts), parts)
        case f.Not():
            return _Share()
        case f.In():
            values = list_alternatives(tree, source)
            return _estimate_share(f.Or(values), source, counts) if values else _Share()
        case _:
            count = counts.find_count(tree) if find_lookup_kind(tree, source) else None
            return _Share() if count is None else _Share(counts.share_of_total(count.events), True, count.newer)


def _join_shares(share: float, newer: int, parts: Sequence[_Share]) -> _Share:
    return _Share(share, all(part.certain for part in parts) or share == 0, newer)


def _count_patterns(tree: f.Filter) -> int:
    """Returns how many conditions of ``tree`` are patterns."""
    if isinstance(tree, (f.And, f.Or)):
        return sum(map(_count_patterns, tree.children))
    return _count_patterns(tree.child) if isinstance(tree, f.Not) else isinstance(tree, (f.Matches, f.Wildcard))
