"""Policy ``none``: the whole range is one batch."""

from __future__ import annotations

from .distribution import MatchDistribution
from .policy import BatchRange, BatchRun, BatchWidth, WidthSettings


class SinglePolicy:
    """Runs the whole time range as one batch."""

    name = "none"

    def __init__(self, settings: WidthSettings, expected: MatchDistribution | None) -> None:
        """Ignores the arguments, which the other policies need."""

    def choose_first_width(self, left: BatchRange, suggested: int) -> BatchWidth:
        return _whole_range(left)

    def choose_next_width(self, left: BatchRange, run: BatchRun) -> BatchWidth:
        return _whole_range(left)


def _whole_range(left: BatchRange) -> BatchWidth:
    return BatchWidth(left.end - left.start, "the whole time range")
