"""Cuts a query's time range into batches, newest first.

A sequence is a pure state machine: ``first_batch`` returns the first batch, ``next_batch`` the one after a batch that
has run. Batches are half-open ranges of whole microseconds that touch and do not overlap. Together they cover
[since, until) exactly once, except for the time that is known to be empty, which is skipped.

A query has at most ``FREE_BATCHES`` batches and as many more as ``growth`` needs to grow one microsecond to the whole
range (at most 107 at the default, 4,320 at the smallest growth): batch ``FREE_BATCHES + n`` is at least ``growth ** n``
µs wide, even if the policy asks for less.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from watchfloor.schema.errors import InternalError

from .distribution import MatchDistribution, Span
from .policy import Batch, BatchRange, BatchRun, BatchWidth, WidthPolicy
from .registry import POLICIES
from .settings import MAX_WIDTH, BatchSettings

FREE_BATCHES = 10_000
"""The number of batches of one query whose width the policy alone decides."""
MAX_TARGET_ROWS = 1e12
"""The largest number of rows that a batch aims at; without a bound it would grow with each batch."""


@dataclass(frozen=True)
class BatchSequence:
    """The batches of one query.

    ``busy`` are the disjoint spans that may hold events, oldest first; None stands for all of time. ``expected`` is
    the distribution of the query's matches, None if it is not known.
    """

    settings: BatchSettings
    policy: WidthPolicy
    busy: tuple[Span, ...] | None = None
    expected: MatchDistribution | None = None

    def first_batch(
        self, since: int, until: int, suggested_width: int | None = None, rows_left: int | None = None
    ) -> Batch | None:
        """Returns the newest batch of [since, until), or None if the range has no events.

        ``suggested_width``, in µs, should hold the first rows. ``rows_left`` is the number of rows that the query
        wants; None stands for all.
        """
        end = self._skip_empty_time(since, until)
        if end <= since:
            return None
        left = BatchRange(since, end, self.settings.first_rows, math.inf if rows_left is None else rows_left)
        suggested = until - since if suggested_width is None else suggested_width
        return self._cut_batch(left, 0, self.policy.choose_first_width(left, suggested))

    def next_batch(self, run: BatchRun, rows_left: int | None = None) -> Batch | None:
        """Returns the batch before the one that has run, or None when nothing is left.

        ``rows_left`` is the number of rows that the query still wants; None stands for all.
        """
        batch = run.batch
        if run.rows < 0 or not run.seconds >= 0:
            raise InternalError(f"a batch cannot give {run.rows} rows in {run.seconds} s")
        end = self._skip_empty_time(batch.start, batch.since)
        if end <= batch.start:
            return None
        target_rows = min(MAX_TARGET_ROWS, self.settings.growth * batch.target_rows)
        left = BatchRange(batch.start, end, target_rows, math.inf if rows_left is None else rows_left)
        return self._cut_batch(left, batch.number + 1, self.policy.choose_next_width(left, run))

    def _skip_empty_time(self, start: int, until: int) -> int:
        """Returns the end of the newest time in [start, until) that may have events; ``start`` if there is none."""
        if self.busy is None:
            return until
        return next((min(until, hi) for lo, hi in reversed(self.busy) if lo < until), start)

    def _cut_batch(self, left: BatchRange, number: int, width: BatchWidth) -> Batch:
        """Returns the newest batch of what is left, as wide as the policy asks for, within the bounds on widths."""
        micros, because = width.micros, width.because
        # Beyond FREE_BATCHES the least width grows with each batch, which bounds the number of batches.
        excess = max(0, number - FREE_BATCHES)
        floor = self.settings.growth ** min(excess, math.log(MAX_WIDTH) / math.log(self.settings.growth))
        least = max(1.0, floor, self.settings.min_width)
        if micros < least:
            because = "the least width" if floor <= self.settings.min_width else "wider: there are too many batches"
        since = max(left.start, left.end - int(min(MAX_WIDTH, max(micros, least))))
        if since == left.start and left.end - since < micros:
            because = f"{because}, which is all that is left" if because else "all that is left"
        expected_rows = None if self.expected is None else self.expected.count_rows(since, left.end)
        return Batch(since, left.end, left.start, number, left.target_rows, expected_rows, because)


def make_sequence(
    settings: BatchSettings, busy: Iterable[Span] | None = None, expected: MatchDistribution | None = None
) -> BatchSequence:
    """Returns the sequence of batches that ``settings`` describe.

    ``busy`` are the time ranges, in µs, that may hold events, in any order; None stands for all of time. The rest is
    skipped, so they must be complete. ``expected`` is the distribution of matches by the counts; it may be wrong.
    """
    spans = None if busy is None else _merge_spans(busy)
    return BatchSequence(settings, POLICIES[settings.policy](settings, expected), spans, expected)


def suggest_first_width(
    matches: float, since: int, until: int, settings: BatchSettings, busy: Iterable[Span] | None = None
) -> int:
    """Returns b_0 in µs: the width that should hold ``settings.first_rows`` of the ``matches`` in [since, until).

    With ``busy`` the matches are taken to lie in these spans, and not in the empty time between them.
    """
    whole = max(0, until - since)
    occupied = whole
    if busy is not None:
        occupied = sum(max(0, min(until, hi) - max(since, lo)) for lo, hi in _merge_spans(busy))
    if matches <= settings.first_rows:
        return max(1, whole)
    return max(1, min(whole, max(settings.min_width, int(occupied * settings.first_rows / matches))))


def _merge_spans(spans: Iterable[Span]) -> tuple[Span, ...]:
    """Returns disjoint spans, oldest first, that cover the same time as ``spans``."""
    merged: list[Span] = []
    for lo, hi in sorted(span for span in spans if span[0] < span[1]):
        if merged and lo <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(hi, merged[-1][1]))
        else:
            merged.append((lo, hi))
    return tuple(merged)
