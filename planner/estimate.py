"""Estimates the seconds that a query takes by an access path: until its first page, and until its end.

The model is rough on purpose, because it only has to tell apart paths whose times differ by factors. Its constants are
the layout's, or were measured once on the store (``watchfloor calibrate``). It assumes that matches are spread evenly
over the time from the newest match back to the start of the range, and that conditions are independent of one another.

A condition that was not counted is taken to hold for every event, and the plan says that there may be fewer matches.
With fewer matches an index scan and a filtered scan both read more events than estimated, by the same factor, so
their comparison suffers little.
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

_PATTERNS = (f.Matches, f.Wildcard, f.ExpressionTest, f.ExpressionCompare)
PAGE = 100
"""The number of rows of a first page."""
FIRST_PLACES = 2
"""The number of places that an index scan fetches first; fewer if the index leads to fewer."""


@dataclass(frozen=True)
class Estimate:
    """The expected course of a query by one access path.

    ``matches`` is the number of events that pass the filter; if ``certain`` is False, some conditions were not counted,
    and there may be fewer. ``places`` is the number of places that the query reads if it runs to its end. ``page`` and
    ``end`` are the seconds to the first page and to the last row that is wanted. ``ahead`` is the number of seconds for
    the index entries that are read before anything is fetched, if the whole range is one query batch.
    """

    matches: float
    certain: bool
    places: float
    page: float
    end: float
    ahead: float = 0.0


@dataclass(frozen=True)
class MatchEstimate:
    """The expected matches of a filter, which do not depend on the access path.

    ``newer`` is the number of events that are newer than every match. ``patterns`` is the number of patterns in the
    filter. ``certain`` is False if there may be fewer matches, because some conditions were not counted.
    """

    matches: float
    certain: bool
    newer: int
    patterns: int


def estimate_matches(tree: f.Filter | None, source: Source, counts: Counts) -> MatchEstimate:
    """Returns the matches of a filter that the counts let expect; without a filter all events match."""
    if tree is None:
        return MatchEstimate(counts.total, True, 0, 0)
    share = _estimate_share(tree, source, counts)
    newer = min(counts.total, share.newer)
    return MatchEstimate(counts.total * share.share, share.certain, newer, _count_patterns(tree))


def estimate_access(
    expected: MatchEstimate, access: Access, shards: int, total: int, costs: ReadCosts, limit: int | None = None
) -> Estimate:
    """Returns the estimate for a query by ``access`` among ``total`` events, for ``limit`` matches (None: all)."""
    matches, newer = expected.matches, expected.newer
    event_pattern = expected.patterns * costs.pattern
    all_places = max(math.ceil(total / costs.place_events), *(term.places for term in list_lookups(access)), 1)
    places = all_places if isinstance(access, Scan) else _estimate_places(access, all_places)
    # Counting reads the entries of all conditions but equalities, so only those of equalities remain to be read.
    ahead = sum(term.entries for term in list_lookups(access) if term.kind == "value") * costs.entry

    def estimate_seconds(rows: float) -> float:
        """Returns the seconds until ``rows`` matches have been handed over."""
        part = min(1.0, rows / matches) if matches > 0 else 1.0
        handed = min(rows, matches) * costs.row
        if isinstance(access, Scan):
            read = (newer + part * (total - newer)) * (costs.event + event_pattern)
            # 1 - exp(-matches / places) is the share of places that hold a match, if matches lie at random. Each shard
            # hands over its first place with matches, even if fewer are wanted.
            hit = max(part * all_places * -math.expm1(-matches / all_places), min(matches, all_places, shards))
            return costs.scan + read + hit * costs.hit + handed
        fetched = max(min(places, FIRST_PLACES), part * places)
        filtered = fetched * (costs.place + event_pattern * total / all_places)
        return costs.look_up + part * ahead + filtered + handed

    wanted = math.inf if limit is None else limit
    page, end = estimate_seconds(min(PAGE, wanted)), estimate_seconds(min(matches, wanted))
    return Estimate(matches, expected.certain, places, page, end, ahead)


def _estimate_places(term: Term, all_places: float) -> float:
    """Returns the number of places that a term leads to; parts of an intersection are taken to be independent."""
    match term:
        case Lookup():
            return term.places
        case IndexUnion(terms):
            return min(all_places, sum(_estimate_places(part, all_places) for part in terms))
        case IndexIntersection(terms):
            return all_places * math.prod(min(1.0, _estimate_places(part, all_places) / all_places) for part in terms)


@dataclass(frozen=True)
class _Share:
    """The share of all events that satisfy a filter, from 0 to 1.

    ``newer`` is the number of events that are known to be newer than every event that satisfies the filter. The default
    stands for a filter that was not counted.
    """

    share: float = 1.0
    certain: bool = False
    newer: int = 0


def _estimate_share(tree: f.Filter, source: Source, counts: Counts) -> _Share:
    """Returns the share of events that satisfy ``tree``; whatever was not counted is taken to hold for every event."""
    match tree:
        case f.And(children):
            parts = [_estimate_share(child, source, counts) for child in children]
            return _join_shares(math.prod(part.share for part in parts), max(part.newer for part in parts), parts)
        case f.Or(children):
            parts = [_estimate_share(child, source, counts) for child in children]
            return _join_shares(min(1.0, sum(part.share for part in parts)), min(part.newer for part in parts), parts)
        case f.Not() | f.ExpressionTest() | f.ExpressionCompare():
            return _Share()
        case f.In():
            values = list_alternatives(tree, source)
            return _estimate_share(f.Or(values), source, counts) if values else _Share()
        case _:
            count = counts.find_count(tree) if find_lookup_kind(tree, source) else None
            return _Share() if count is None else _Share(counts.share_of_total(count.events), True, count.newer)


def _join_shares(share: float, newer: int, parts: Sequence[_Share]) -> _Share:
    """Returns the share of an ``and`` or ``or``; it is certain if all its parts are, or if nothing matches."""
    return _Share(share, all(part.certain for part in parts) or share == 0, newer)


def _count_patterns(tree: f.Filter) -> int:
    """Returns the number of conditions in ``tree`` that are patterns, or on expressions, which take about as long."""
    if isinstance(tree, (f.And, f.Or)):
        return sum(map(_count_patterns, tree.children))
    return _count_patterns(tree.child) if isinstance(tree, f.Not) else isinstance(tree, _PATTERNS)
