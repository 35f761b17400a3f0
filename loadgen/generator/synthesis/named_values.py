"""Puts named values among drawn ones at known frequencies, for queries that need a dense, a middling or a rare value.

- *popular*: 20 % of the events, less those that the other two replace (at most a thousandth and 10);
- *middling*: one in every 1,000 events (none in fewer than 1,000 if its position is beyond the end);
- *rare*: exactly 10 events, one in each tenth of the range, when there are 1,000 events or more (else one per 100).
"""

from __future__ import annotations

import numpy as np

from .event_feed import EventFeed
from .sampling import IntArray, draw_indices

GROUP_EVENTS = 1_000
POPULAR_SHARE = 0.2
RARE_EVENTS = 10


def assign_values(rng: np.random.Generator, feed: EventFeed, first: int, size: int, total: int) -> IntArray:
    """Returns the indices of the main field's values for the events ``first`` … ``first + size`` of ``total``.

    ``first`` must be a multiple of ``GROUP_EVENTS``.
    """
    values = draw_indices(rng, feed.value_table, size)
    values[rng.permutation(size)[: round(size * POPULAR_SHARE)]] = feed.popular.index
    rare_events = RARE_EVENTS if total >= GROUP_EVENTS else total // 100
    rare = [(2 * k + 1) * total // (2 * rare_events) for k in range(rare_events)]
    starts = np.arange(0, size, GROUP_EVENTS)
    middling = starts + (rng.random(len(starts)) * GROUP_EVENTS).astype(np.int64)
    # A rare event has at least 99 others before the next, so the event after it is free.
    middling += np.isin(first + middling, rare)
    values[middling[middling < size]] = feed.middling.index
    values[[i - first for i in rare if first <= i < first + size]] = feed.rare.index
    return values
