"""How many matches a query expects, and in which time: what the counts know before anything is read."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

Span = tuple[int, int]
"""[since, until) in µs."""


@dataclass(frozen=True, eq=False)
class Expected:
    """Matches over time: within each of some spans they are taken to be spread evenly, and there are none elsewhere.

    The spans [``starts``, ``ends``), in µs, are disjoint and ascend; ``upto`` are the matches up to the end of each.
    ``streams``: the rows of a batch come one after the other from its newest on, none of them later for a wider batch.
    ``paged``: a batch with a page of rows has the first of them about as soon as one with few.
    """

    starts: np.ndarray
    ends: np.ndarray
    upto: np.ndarray
    streams: bool = False
    paged: bool = True

    @classmethod
    def of(cls, counts: Iterable[tuple[int, int, float]], streams: bool = False, paged: bool = True) -> Expected:
        """From (since, until, matches) of disjoint spans in any order."""
        known = sorted(counts)
        starts, ends = (np.array([count[end] for count in known], np.int64) for end in (0, 1))
        return cls.among(starts, ends, np.array([count[2] for count in known], float), streams, paged)

    @classmethod
    def among(
        cls, starts: np.ndarray, ends: np.ndarray, matches: np.ndarray, streams: bool = False, paged: bool = True
    ) -> Expected:
        """From the ``matches`` of each of ascending disjoint spans; those without matches, or empty, are left out."""
        known = (matches > 0) & (starts < ends)
        return cls(starts[known], ends[known], np.cumsum(matches[known]), streams, paged)

    def rows(self, since: int, until: int) -> float:
        """Matches in [since, until)."""
        return max(0.0, self._before(until) - self._before(since))

    def back(self, until: int, rows: float) -> int | None:
        """The latest time from which on there should be so many matches before ``until``; None if there are fewer."""
        wanted = self._before(until) - rows
        if wanted < 0:
            return None
        # Where the running total first is more than what shall lie before: within that span.
        place = int(np.searchsorted(self.upto, wanted, "right"))
        if place == len(self.upto):
            return until
        start, end = int(self.starts[place]), int(self.ends[place])
        before, after = self._base(place), float(self.upto[place])
        return min(until, start + int((end - start) * (wanted - before) / (after - before)))

    def _before(self, time: int) -> float:
        """Matches older than ``time``."""
        place = int(np.searchsorted(self.starts, time))
        if place and self.ends[place - 1] > time:
            start, end, base = int(self.starts[place - 1]), int(self.ends[place - 1]), self._base(place - 1)
            return base + (float(self.upto[place - 1]) - base) * (time - start) / (end - start)
        return self._base(place)

    def _base(self, place: int) -> float:
        return float(self.upto[place - 1]) if place else 0.0
