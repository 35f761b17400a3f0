"""Policy ``bisect``: widths are halved or doubled by the rows found."""

from __future__ import annotations

import math

from .distribution import MatchDistribution
from .policy import BatchRange, BatchRun, BatchWidth, WidthSettings, describe_rows


class BisectPolicy:
    """Halves and doubles the width by the rows found.

    For the first batch the range is halved until the counts expect no more than k_0 rows. If a batch gave more than
    twice the rows aimed at, the next is half as wide; if it gave less than half of them, the next is twice as wide.
    """

    name = "bisect"

    def __init__(self, settings: WidthSettings, expected: MatchDistribution | None) -> None:
        self._first_rows = settings.first_rows

    def choose_first_width(self, left: BatchRange, suggested: int) -> BatchWidth:
        whole = max(1, left.end - left.start)
        halvings = max(0, math.ceil(math.log2(whole / max(1, suggested))))
        because = f"halved {halvings} times, until the counts expect {describe_rows(self._first_rows)}"
        return BatchWidth(whole / 2**halvings, because)

    def choose_next_width(self, left: BatchRange, run: BatchRun) -> BatchWidth:
        batch, rows = run.batch, run.rows
        aim = f"the last one gave {describe_rows(rows)} where {describe_rows(batch.target_rows)} were aimed at"
        if rows > 2 * batch.target_rows:
            return BatchWidth(batch.width / 2, f"half as wide: {aim}")
        if rows < batch.target_rows / 2:
            return BatchWidth(batch.width * 2, f"twice as wide: {aim}")
        return BatchWidth(batch.width, f"as wide as before: {aim}")
