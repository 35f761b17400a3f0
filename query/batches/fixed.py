"""Policy ``fixed``: all batches have the same width."""

from __future__ import annotations

from .distribution import MatchDistribution
from .policy import BatchRange, BatchRun, BatchWidth, WidthSettings


class FixedPolicy:
    """Chooses the width of the settings for every batch."""

    name = "fixed"

    def __init__(self, settings: WidthSettings, expected: MatchDistribution | None) -> None:
        self._width = BatchWidth(settings.width, "the width of the settings")

    def choose_first_width(self, left: BatchRange, suggested: int) -> BatchWidth:
        return self._width

    def choose_next_width(self, left: BatchRange, run: BatchRun) -> BatchWidth:
        return self._width
