"""Policy ``density``, the default: widths by the counts, corrected by what is found."""

from __future__ import annotations

import math

from watchfloor.planner.estimate import PAGE
from watchfloor.schema.text import format_percent

from .adaptive import SHORTEST_SECONDS, AdaptivePolicy, describe_bound
from .distribution import MatchDistribution
from .policy import BatchRange, BatchRun, BatchWidth, WidthSettings, describe_rows

SPARE = 1.25
"""The rows that a batch should hold by the counts, as a multiple of the rows that are wanted. Without spare rows about
every other batch would by chance hold too few, and another batch would be needed."""
FIRST_PAGE = SPARE * PAGE
"""The rows that the first batch should hold by the counts, for a page. They hardly delay the first rows: the newest are
handed over first."""
FEW_PAGES = 10 * PAGE
"""The largest number of wanted rows for which the first batch is made wide enough for all of them: a second batch would
cost as much as it saves."""
STREAMED_ROWS = 1 << 21
"""The rows that the first batch should hold by the counts if they are handed over one after the other: a batch that is
wider than needed costs nothing then, and the counts of what is not counted are those of all events, which a tablet
server filters in a second or two."""
PRIOR_ROWS = 10.0
"""Rows that count as expected and found in addition to a batch's own, so that few rows change the correction little."""


class DensityPolicy:
    """Chooses widths that by the counts hold the rows aimed at, and corrects the counts by the rows found.

    If the rows of a batch arrive one after the other (``MatchDistribution.streams``), a query ends its batch where it
    has what it wants: the first batch is for ``STREAMED_ROWS``. Otherwise, and for all rows of a dense filter, it is
    for a page, for all wanted rows if they are a few pages at most, or for k_0 rows if these are more.

    The counts may be too high, because they leave out conditions that are not counted. After a batch gave r rows where
    e were expected, the counts are multiplied by (r + 10) / (e + 10). If rows arrive one after the other, a later batch
    should run T_max. Otherwise it is for all rows that are left if the batch before found rows and the query has a
    limit, and should run T_min at least if not. No batch should run longer than T_max.
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
        brief = expected.dense and math.isinf(left.rows_left)
        rows = max(page, STREAMED_ROWS) if expected.streams and not brief else page
        if expected.count_rows(left.start, left.end) < rows:
            because = f"the whole time range: by the counts it has fewer than {describe_rows(rows)}"
            return BatchWidth(left.end - left.start, because)
        return _fit_rows(left, expected, rows, f"for {describe_rows(rows)} by the counts")

    def choose_next_width(self, left: BatchRange, run: BatchRun) -> BatchWidth:
        expected, batch, rows = self._expected, run.batch, run.rows
        if expected is None:
            return self._without_counts.choose_next_width(left, run)
        share = (rows + PRIOR_ROWS) / (expected.count_rows(batch.since, batch.until) + PRIOR_ROWS)
        correction = f"by the counts, of which {format_percent(share)} are found"
        longest = _fit_seconds(run, expected, "at most", self._settings.max_seconds)
        all_left = left.end - left.start
        if not expected.count_rows(left.start, left.end - math.ceil(min(longest.micros, all_left))):
            # What comes before is the time before the first events that are known.
            longest = BatchWidth(max(longest.micros, all_left), longest.because)
        if expected.streams:
            return longest
        if rows and math.isfinite(left.rows_left):
            because = f"for the {describe_rows(left.rows_left)} still wanted {correction}"
            return _narrower(longest, _fit_rows(left, expected, SPARE * left.rows_left / share, because))
        shortest = _fit_seconds(run, expected, "at least", self._settings.min_seconds)
        because = f"for {describe_rows(left.target_rows)} {correction}"
        return _narrower(longest, _wider(shortest, _fit_rows(left, expected, left.target_rows / share, because)))


def _fit_rows(left: BatchRange, expected: MatchDistribution, rows: float, because: str) -> BatchWidth:
    """Returns the width of the batch that ends at ``left.end`` and should hold ``rows``."""
    since = expected.find_start(left.end, rows)
    return BatchWidth(left.end - (left.start if since is None else since), because)


def _fit_seconds(run: BatchRun, expected: MatchDistribution, bound: str, seconds: float) -> BatchWidth:
    """Returns the width of a batch that should run ``seconds`` at the speed of the batch before.

    The time after all events that are expected, which an open end adds to the first batch, takes none.
    """
    since, until = run.batch.since, run.batch.until
    if len(expected.ends):
        until = max(since + 1, min(until, int(expected.ends[-1])))
    speed = (until - since) / max(run.seconds, SHORTEST_SECONDS)
    return BatchWidth(speed * seconds, describe_bound(bound, seconds))


def _narrower(one: BatchWidth, other: BatchWidth) -> BatchWidth:
    """Returns the narrower of two widths."""
    return min(one, other, key=lambda width: (width.micros, width.because))


def _wider(one: BatchWidth, other: BatchWidth) -> BatchWidth:
    """Returns the wider of two widths."""
    return max(one, other, key=lambda width: (width.micros, width.because))
