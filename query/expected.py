"""How many matches a query expects, and in which time: what the counts know before anything is read."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import accumulate

Span = tuple[int, int]
"""[since, until) in µs."""


@dataclass(frozen=True)
class Expected:
    """Matches over time: within each of some spans they are taken to be spread evenly, and there are none elsewhere.

    ``spans`` are disjoint and ascend; ``upto`` are the matches up to the end of each. ``page``: so many may be asked
    for at first and the newest come no later. ``streams``: the rows of a batch come one after the other from its
    newest on, none of them later for a wider batch.
    """

    spans: tuple[Span, ...]
    upto: tuple[float, ...]
    page: float = 0.0
    streams: bool = False

    @classmethod
    def of(cls, counts: Iterable[tuple[int, int, float]], page: float = 0.0, streams: bool = False) -> Expected:
        """From (since, until, matches) of disjoint spans in any order; those without matches are left out."""
        known = sorted(count for count in counts if count[2] > 0)
        upto = tuple(accumulate(rows for _, _, rows in known))
        return cls(tuple((lo, hi) for lo, hi, _ in known), upto, page, streams)

    def rows(self, since: int, until: int) -> float:
        """Matches in [since, until)."""
        return max(0.0, self._before(until) - self._before(since))

    def back(self, until: int, rows: float) -> int | None:
        """The latest time from which on there should be so many matches before ``until``; None if there are fewer."""
        wanted = self._before(until) - rows
        if wanted < 0:
            return None
        # Where the running total first is more than what shall lie before: within that span.
        place = bisect_right(self.upto, wanted)
        if place == len(self.spans):
            return until
        lo, hi = self.spans[place]
        before, after = self._base(place), self.upto[place]
        return min(until, lo + int((hi - lo) * (wanted - before) / (after - before)))

    def _before(self, time: int) -> float:
        """Matches older than ``time``."""
        place = bisect_left(self.spans, (time, time))
        if place and self.spans[place - 1][1] > time:
            lo, hi = self.spans[place - 1]
            base = self._base(place - 1)
            return base + (self.upto[place - 1] - base) * (time - lo) / (hi - lo)
        return self._base(place)

    def _base(self, place: int) -> float:
        return self.upto[place - 1] if place else 0.0
