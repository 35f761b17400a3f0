"""When events happen: a rhythm of days and weeks, and a clock that spreads any number of events by it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

DAY = 86_400_000_000  # µs
HOUR = DAY // 24

Micros = npt.NDArray[np.int64]
"""Times in µs since 1970 UTC."""


@dataclass(frozen=True)
class Rhythm:
    """Events in each hour of the day, UTC, relative to each other; ``weekend``: of a weekend's hour to another's."""

    hours: tuple[int, ...]
    weekend: float


STEADY = Rhythm((1,) * 24, 1.0)


class Clock:
    """Turns shares of all events into times: its inverse cumulative curve follows the rhythm.

    Times are in [``since``, ``until``), µs since 1970 UTC.
    """

    def __init__(self, since: int, until: int, rhythm: Rhythm) -> None:
        inner = np.arange(since // HOUR + 1, (until - 1) // HOUR + 1, dtype=np.int64) * HOUR
        self.knots = np.concatenate(([since], inner, [until])).astype(np.int64)
        starts = self.knots[:-1]
        # 1970-01-01 was a Thursday: days 2 and 3 of each seven are a weekend.
        weekend = np.isin((starts // DAY) % 7, (2, 3))
        rate = np.array(rhythm.hours)[(starts // HOUR) % 24] * np.where(weekend, rhythm.weekend, 1.0)
        mass = rate * np.diff(self.knots)
        self.share = np.concatenate(([0.0], np.cumsum(mass) / mass.sum()))
        self.share[-1] = 1.0

    def times(self, rng: np.random.Generator, first: int, size: int, total: int) -> Micros:
        """Ascending times of the events ``first`` … ``first + size`` of ``total``."""
        share = (first + np.sort(rng.random(size)) * size) / total
        offset = np.interp(share, self.share, (self.knots - self.knots[0]).astype(np.float64))
        return np.minimum(self.knots[0] + offset.astype(np.int64), self.knots[-1] - 1)
