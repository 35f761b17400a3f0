"""Computes rates of an ingest run from the ledger's rows of its work items: series, steady state, saturation.

An item's events count as spread evenly over the time in which its client worked on it. If they all counted at the
moment when the item became durable, a step of the series would depend on how many items happened to end in it.
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
"""The share of a run, from its beginning, that is not steady yet: caches and compiled code are still new, and the
servers' memory for entries is still empty.
"""
GAIN = 1.1
"""The factor by which more clients must raise the rate for the rate to count as not yet saturated."""
_LEAST_STEPS = 3


@dataclass(frozen=True)
class DurableItem:
    """A work item that a client has made durable; ``begun`` and ``ended`` are seconds since 1970."""

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
        """Returns the window without the beginning that is not steady yet."""
        return TimeWindow(self.since + SETTLING * self.seconds, self.until)


def find_busy_window(items: Sequence[DurableItem]) -> TimeWindow:
    """Returns the window in which all clients worked.

    It begins when the last client has ended its first item, and ends when the first client ends its last item.
    """
    ends: dict[str, list[float]] = defaultdict(list)
    for item in items:
        ends[item.client].append(item.ended)
    return TimeWindow(max(map(min, ends.values())), min(map(max, ends.values())))


def count_events(item: DurableItem) -> float:
    return item.events


def count_megabytes(item: DurableItem) -> float:
    return item.bytes / 1e6


def compute_series(
    items: Sequence[DurableItem], window: TimeWindow, count: Callable[[DurableItem], float] = count_events
) -> RateSeries:
    """Returns the rate over as many whole steps as the window has. Raises ``UserError`` if these are too few."""
    steps = int(window.seconds / STEP + 1e-9)
    if steps < _LEAST_STEPS:
        raise UserError(f"a run of {window.seconds:.1f} s is too short for a rate over time: give more --seconds")
    edges = window.since + STEP * np.arange(steps + 1)
    durable = np.zeros(steps + 1)
    for item in items:
        # The microsecond is for an item that took less time than the clock resolves.
        share = (edges - item.begun) / max(item.ended - item.begun, 1e-6)
        durable += count(item) * np.clip(share, 0.0, 1.0)
    return RateSeries(tuple((edges[:-1] + STEP / 2).tolist()), tuple((np.diff(durable) / STEP).tolist()))


def find_saturation(rates: Mapping[int, float]) -> int:
    """Returns the smallest number of clients from which no larger one of ``rates`` brings ``GAIN`` times its rate."""
    return next(
        clients
        for clients in sorted(rates)
        if all(rate < GAIN * rates[clients] for more, rate in rates.items() if more > clients)
    )
