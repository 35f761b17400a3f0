"""The matches that a query expects over time, estimated from counts before any event is read."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

Span = tuple[int, int]
"""A time range [since, until) in µs."""


@dataclass(frozen=True, eq=False)
class MatchDistribution:
    """Expected matches over time, which are spread evenly within each of several spans; there are none outside.

    The spans [``starts``, ``ends``), in µs, are disjoint and ascend. ``running_totals`` are the matches up to the end
    of each span. ``streams`` is True if the rows of a batch arrive one after the other, newest first, and none arrives
    later because the batch is wider. ``dense`` is True if a batch without a limit puts all rows of a place together
    before it hands over the first, and if a narrow one is sure to have its matches.
    """

    starts: np.ndarray
    ends: np.ndarray
    running_totals: np.ndarray
    streams: bool = False
    dense: bool = False

    @classmethod
    def from_counts(cls, counts: Iterable[tuple[int, int, float]], streams: bool = False) -> MatchDistribution:
        """Returns the distribution for disjoint spans in any order, each given as (since, until, matches)."""
        ordered = sorted(counts)
        starts, ends = (np.array([count[end] for count in ordered], np.int64) for end in (0, 1))
        return cls.from_arrays(starts, ends, np.array([count[2] for count in ordered], float), streams)

    @classmethod
    def from_arrays(
        cls, starts: np.ndarray, ends: np.ndarray, matches: np.ndarray, streams: bool = False, dense: bool = False
    ) -> MatchDistribution:
        """Returns the distribution for ascending disjoint spans; leaves out empty spans and spans without matches."""
        used = (matches > 0) & (starts < ends)
        return cls(starts[used], ends[used], np.cumsum(matches[used]), streams, dense)

    def count_rows(self, since: int, until: int) -> float:
        """Returns the matches expected in [since, until)."""
        return max(0.0, self._count_before(until) - self._count_before(since))

    def count_before(self, times: np.ndarray) -> np.ndarray:
        """Returns the matches expected before each of some times (µs)."""
        ends, totals = self._ends_of_spans
        return np.interp(times, ends, totals)

    def find_start(self, until: int, rows: float) -> int | None:
        """Returns the latest start, in µs, of a range that ends at ``until`` and should hold ``rows`` matches.

        Returns None if fewer matches are expected before ``until``.
        """
        older = self._count_before(until) - rows
        if older < 0:
            return None
        # The start lies in the first span at whose end the running total exceeds the matches that must be older.
        index = int(np.searchsorted(self.running_totals, older, "right"))
        if index == len(self.running_totals):
            return until
        start, end = int(self.starts[index]), int(self.ends[index])
        before, after = self._total_before_span(index), float(self.running_totals[index])
        return min(until, start + int((end - start) * (older - before) / (after - before)))

    @cached_property
    def _ends_of_spans(self) -> tuple[np.ndarray, np.ndarray]:
        """The starts and ends of all spans, and the matches before each; one time without any if there is no span."""
        ends = np.stack((self.starts, self.ends), axis=1).reshape(-1)
        totals = np.repeat(np.concatenate(([0.0], self.running_totals)), 2)[1:-1]
        return (ends, totals) if len(ends) else (np.zeros(1, np.int64), np.zeros(1))

    def _count_before(self, time: int) -> float:
        return float(self.count_before(np.array([time], np.int64))[0])

    def _total_before_span(self, index: int) -> float:
        return float(self.running_totals[index - 1]) if index else 0.0
