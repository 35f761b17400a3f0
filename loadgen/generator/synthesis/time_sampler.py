"""Event times: an activity profile of days and weeks, and a sampler that spreads any number of events by it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

DAY = 86_400_000_000  # µs
HOUR = DAY // 24

MicrosArray = npt.NDArray[np.int64]
"""Times in µs since 1970 UTC."""


@dataclass(frozen=True)
class ActivityProfile:
    """The relative number of events in each hour of the day, UTC.

    ``weekend_factor`` is the ratio of an hour of a weekend to the same hour of another day.
    """

    hour_weights: tuple[int, ...]
    weekend_factor: float


CONSTANT_PROFILE = ActivityProfile((1,) * 24, 1.0)


class TimeSampler:
    """Samples event times in [``since``, ``until``), µs since 1970 UTC, by the profile's inverse cumulative curve.

    The curve is linear between ``edges``, the whole hours; ``edge_shares`` are the shares of all events before each.
    """

    def __init__(self, since: int, until: int, rhythm: ActivityProfile) -> None:
        inner = np.arange(since // HOUR + 1, (until - 1) // HOUR + 1, dtype=np.int64) * HOUR
        self.edges = np.concatenate(([since], inner, [until])).astype(np.int64)
        starts = self.edges[:-1]
        # 1970-01-01 was a Thursday: days 2 and 3 of each seven are a weekend.
        weekend = np.isin((starts // DAY) % 7, (2, 3))
        rate = np.array(rhythm.hour_weights)[(starts // HOUR) % 24] * np.where(weekend, rhythm.weekend_factor, 1.0)
        mass = rate * np.diff(self.edges)
        self.edge_shares = np.concatenate(([0.0], np.cumsum(mass) / mass.sum()))
        self.edge_shares[-1] = 1.0

    def sample_times(self, rng: np.random.Generator, first: int, size: int, total: int) -> MicrosArray:
        """Returns ascending times of the events ``first`` … ``first + size`` of ``total``."""
        share = (first + np.sort(rng.random(size)) * size) / total
        offset = np.interp(share, self.edge_shares, (self.edges - self.edges[0]).astype(np.float64))
        return np.minimum(self.edges[0] + offset.astype(np.int64), self.edges[-1] - 1)
