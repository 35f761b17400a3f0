"""How long until the first page of results is there: by the index, and by a filtered scan.

Rough on purpose: it has to tell a rare value from a dense one, and the two differ by orders of magnitude. Conditions
without counts are taken to hold for every event; as both ways need the same share more events to fill a page where
they do not, the comparison suffers little.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from .access import Access, Equality, IndexUnion, Scan


@dataclass(frozen=True)
class Costs:
    """Constants of the cost comparison, in seconds; measured on the cell layout, 2 cores, one tablet server.

    They serve for blocks too, where index and scan differ less (``docs/planner.md``).
    """

    index_start: float = 5e-3
    """An index look-up that finds nothing: index scans on every shard and the way back."""
    index_hit: float = 70e-6
    """Fetching one event by its row ID."""
    index_entry: float = 2e-6
    """Reading one index entry at the client, to intersect."""
    scan_event: float = 6.5e-6
    """Evaluating a filter on one event on the tablet servers: 6.5 s for a million."""
    page: int = 100
    """Rows of a first page."""


COSTS = Costs()


@dataclass(frozen=True)
class Estimate:
    """What is expected of a query, from the densities of its equalities.

    ``hits``: events that the index leads to. ``matches``: events that the filter lets through. ``index`` and ``scan``:
    seconds to the first page. Unless ``certain``, the filter has conditions without counts: there may be fewer
    matches, and the times may be longer.
    """

    hits: float
    matches: float
    index: float
    scan: float
    certain: bool


def estimate(
    total: int, access: Access, left_out: Sequence[Equality] = (), certain: bool = True, costs: Costs = COSTS
) -> Estimate:
    """The estimate for an access path over ``total`` events.

    ``left_out`` are equalities that the residual holds; ``certain`` says that it holds nothing else.

    Densities of terms that must all hold are taken to be independent of one another. For a ``Scan`` both times are
    those of the scan.
    """
    if isinstance(access, Scan):
        seconds = scan_seconds(total, total, costs)
        return Estimate(total, total, seconds, seconds, certain)
    densities = [term.density for term in access.terms]
    union = isinstance(access, IndexUnion)
    hits = total * (min(1.0, sum(densities)) if union else math.prod(densities))
    share = math.prod(term.density for term in left_out)
    matches = hits * share
    # Events that must be fetched to fill a page, and the share of all hits (so of the time range) that this takes.
    fetched = min(hits, costs.page / share) if share else hits
    part = min(1.0, fetched / hits) if hits else 1.0
    entries = 0.0 if union else part * total * sum(densities)
    index = costs.index_start + fetched * costs.index_hit + entries * costs.index_entry
    certain = certain and all(term.count is not None for term in (*access.terms, *left_out))
    return Estimate(hits, matches, index, scan_seconds(total, matches, costs), certain)


def scan_seconds(total: int, matches: float, costs: Costs = COSTS) -> float:
    """Seconds until a scan of ``total`` events has met a page of its ``matches``, spread evenly."""
    return total * costs.scan_event * min(1.0, costs.page / matches if matches > 0 else 1.0)
