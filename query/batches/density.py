"""Policy ``density``, the default: widths by the counts, corrected by what is found."""

from __future__ import annotations

import math

from watchfloor.planner.estimate import PAGE
from watchfloor.schema.text import format_percent

from .adaptive import SHORTEST_SECONDS, AdaptivePolicy, describe_bound
from .distribution import MatchDistribution
from .policy import BatchRange, BatchRun, BatchWidth, WidthSettings, describe_rows

SPARE = 1.25
"""The rows that a batch should hold by the counts, as a multiple of the rows that are wanted. With just as many, chance
would ask for another batch every other time."""
FIRST_PAGE = SPARE * PAGE
"""Rows that the first batch should hold by the counts, for a page of 100: the newest of them are handed over first,
whether they are scanned for or looked up."""
FEW_PAGES = 10 * PAGE
"""The first batch is for all rows of the query if these are no more: a second batch costs as much as what it saves."""
PRIOR_ROWS = 10.0
"""Rows that are taken to have been expected and found before the first batch, so that few finds change little."""


class DensityPolicy:
    """Gives batches the width that by the counts holds the rows aimed at, whatever the batch before happened to give.

    The first batch is for a page, for all rows that are wanted if these are a few pages, or for k_0 rows if that is
    more. If the first rows of a page arrive later than those of fewer (``MatchDistribution.paged``), the first batch is
    for k_0 rows and the second for a page.

    The rows of a batch correct the counts, which know nothing of conditions that are not counted: after r rows where e
    were expected the counts are taken to be (r + 10) / (e + 10) of what they say. As soon as a batch has found
    something, the next batch of a query with a limit is for all rows that are left. Otherwise a batch should run T_min
    at least, and T_max if its rows arrive as soon as those of a narrow one (``MatchDistribution.streams``). No batch
    should run longer than T_max.
    """

    name = "density"

    def __init__(self, settings: WidthSettings, expected: MatchDistribution | None) -> None:
        self._settings, self._expected = settings, expected
        self._without_counts = AdaptivePolicy(settings, None)

    def choose_first_width(self, left: BatchRange, suggested: int) -> BatchWidth:
        expected, few = self._expected, self._settings.first_rows
        if expected is None:
            return self._without_counts.choose_first_width(left, suggested)
        page = max(few, FIRST_PAGE, SPARE * left.rows_left if left.rows_left <= FEW_PAGES else 0)
        if expected.count_rows(left.start, left.end) < page:
            because = f"the whole time range: by the counts it has fewer than {describe_rows(page)}"
            return BatchWidth(left.end - left.start, because)
        rows = page if expected.paged else few
        return _fit_rows(left, expected, rows, f"for {describe_rows(rows)} by the counts")

    def choose_next_width(self, left: BatchRange, run: BatchRun) -> BatchWidth:
        expected, batch, rows = self._expected, run.batch, run.rows
        if expected is None:
            return self._without_counts.choose_next_width(left, run)
        share = (rows + PRIOR_ROWS) / (expected.count_rows(batch.since, batch.until) + PRIOR_ROWS)
        correction = f"by the counts, of which {format_percent(share)} are found"
        longest = _fit_seconds(run, "at most", self._settings.max_seconds)
        if batch.number == 0 and not expected.paged and left.rows_left > PAGE:
            return _narrower(longest, _fit_rows(left, expected, SPARE * PAGE / share, f"for a page {correction}"))
        if rows and math.isfinite(left.rows_left):
            because = f"for the {describe_rows(left.rows_left)} still wanted {correction}"
            return _narrower(longest, _fit_rows(left, expected, SPARE * left.rows_left / share, because))
        if expected.streams:
            return longest
        shortest = _fit_seconds(run, "at least", self._settings.min_seconds)
        because = f"for {describe_rows(left.target_rows)} {correction}"
        return _narrower(longest, _wider(shortest, _fit_rows(left, expected, left.target_rows / share, because)))


def _fit_rows(left: BatchRange, expected: MatchDistribution, rows: float, because: str) -> BatchWidth:
    """Returns the width of the batch that ends at ``left.end`` and should hold ``rows``."""
    since = expected.find_start(left.end, rows)
    return BatchWidth(left.end - (left.start if since is None else since), because)


def _fit_seconds(run: BatchRun, bound: str, seconds: float) -> BatchWidth:
    """Returns the width of a batch that should run ``seconds`` at the speed of the last one."""
    speed = run.batch.width / max(run.seconds, SHORTEST_SECONDS)
    return BatchWidth(speed * seconds, describe_bound(bound, seconds))


def _narrower(one: BatchWidth, other: BatchWidth) -> BatchWidth:
    return min(one, other, key=lambda width: (width.micros, width.because))


def _wider(one: BatchWidth, other: BatchWidth) -> BatchWidth:
    return max(one, other, key=lambda width: (width.micros, width.because))
