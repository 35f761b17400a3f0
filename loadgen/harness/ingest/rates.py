"""Rates of an ingest run from what the ledger says of its work items: series, steady state, saturation. Pure.

An item's events count as spread evenly over the time in which its client worked on it. To count them all at the moment
at which they became durable would make the series a matter of how the ends of a few items fall into its steps.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np

from watchfloor.schema.errors import UserError

STEP = 0.5
"""Seconds of one sample of a series."""
SETTLING = 0.2
"""Share of a run, from its beginning, that is not yet steady: caches and compiled code are still new, and the servers'
memory for entries is still empty."""
GAIN = 1.1
"""More clients are worth having if they bring the rate to so many times what it was."""
_LEAST_STEPS = 3


@dataclass(frozen=True)
class DurableItem:
    """A work item that a client has made durable. ``begun`` and ``ended`` in seconds since 1970."""

    client: str
    begun: float
    ended: float
    events: int
    bytes: int


@dataclass(frozen=True)
class RateSeries:
    """``per_second[i]`` is the mean rate in the ``STEP`` around ``at[i]``, seconds since 1970."""

    at: tuple[float, ...]
    per_second: tuple[float, ...]

    @property
    def mean(self) -> float:
        return fmean(self.per_second)


@dataclass(frozen=True)
class TimeWindow:
    """A part of a run, in seconds since 1970."""

    since: float
    until: float

    @property
    def seconds(self) -> float:
        return self.until - self.since

    def drop_settling(self) -> TimeWindow:
        """Without the beginning that is not steady yet."""
        return TimeWindow(self.since + SETTLING * self.seconds, self.until)


def find_busy_window(items: Sequence[DurableItem]) -> TimeWindow:
    """From when each client has ended an item until the first of them ends its last one."""
    ends: dict[str, list[float]] = defaultdict(list)
    for item in items:
        ends[item.client].append(item.ended)
    return TimeWindow(max(map(min, ends.values())), min(map(max, ends.values())))


def count_events(item: DurableItem) -> float:
    return item.events


def count_megabytes(item: DurableItem) -> float:
    return item.bytes / 1e6


def compute_series(
    items: Sequence[DurableItem], window: TimeWindow, of: Callable[[DurableItem], float] = count_events
) -> RateSeries:
    """The rate over a window, as many whole steps as it has. Raises ``UserError`` if these are too few to speak of."""
    steps = int(window.seconds / STEP + 1e-9)
    if steps < _LEAST_STEPS:
        raise UserError(f"a run of {window.seconds:.1f} s is too short for a rate over time: give more --seconds")
    edges = window.since + STEP * np.arange(steps + 1)
    durable = np.zeros(steps + 1)
    for item in items:
        # The last microsecond is there for an item that took less time than the clock can tell.
        share = (edges - item.begun) / max(item.ended - item.begun, 1e-6)
        durable += of(item) * np.clip(share, 0.0, 1.0)
    return RateSeries(tuple((edges[:-1] + STEP / 2).tolist()), tuple((np.diff(durable) / STEP).tolist()))


def find_saturation(rates: Mapping[int, float]) -> int:
    """The smallest number of clients from which no larger one of ``rates`` brings ``GAIN`` times its rate."""
    return next(
        clients
        for clients in sorted(rates)
        if all(rate < GAIN * rates[clients] for more, rate in rates.items() if more > clients)
    )
