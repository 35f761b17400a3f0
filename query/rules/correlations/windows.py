"""Windows of time over matches, as numbers of rows.

Matches are sorted by group and time. A window ends at each match and reaches back for less than its length: a match at
the time t ends the window (t - span, t] of its group. Matches at one time end the same window.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Windows:
    """The windows of sorted matches, one for each row; ``span`` is their length in µs."""

    groups: Numbers
    times: Numbers
    span: int

    @cached_property
    def ends(self) -> Numbers:
        """The last row of each window."""
        rows = np.arange(len(self.times))
        is_last = np.ones(len(rows), bool)
        is_last[:-1] = (self.groups[1:] != self.groups[:-1]) | (self.times[1:] != self.times[:-1])
        last = rows[is_last]
        return last[np.searchsorted(last, rows)]

    @cached_property
    def starts(self) -> Numbers:
        """The first row of each window."""
        many = len(self.times)
        groups, times = np.tile(self.groups, 2), np.concatenate([self.times, self.times - self.span])
        # A row at the time at which a window begins is not in it, so that rows stand before beginnings.
        is_beginning = np.repeat([False, True], many)
        order = np.lexsort((is_beginning, times, groups))
        before = np.cumsum(~is_beginning[order])
        starts = np.empty(2 * many, np.int64)
        starts[order] = before
        return starts[many:]

    def count_rows(self) -> Numbers:
        """Returns the number of matches in each window."""
        return self.ends - self.starts + 1

    def count_distinct(self, values: Numbers) -> Numbers:
        """Returns the number of distinct values of the matches in each window."""
        many = len(values)
        order = np.lexsort((np.arange(many), values, self.groups))
        following = np.full(many, many, np.int64)  # the next row of the group with the same value
        same = (values[order][1:] == values[order][:-1]) & (self.groups[order][1:] == self.groups[order][:-1])
        following[order[:-1][same]] = order[1:][same]
        # A row is the last of its value in the windows that end at it or later, before the next row of the value, and
        # that have not begun after it. These windows are neighbours, because both bounds ascend.
        first = np.searchsorted(self.ends, np.arange(many), "left")
        last = np.minimum(
            np.searchsorted(self.ends, following, "left"), np.searchsorted(self.starts, np.arange(many), "right")
        )
        steps = np.zeros(many + 1, np.int64)
        counted = first < last
        np.add.at(steps, first[counted], 1)
        np.add.at(steps, last[counted], -1)
        return np.cumsum(steps)[:-1]

    def find_any(self, mask: Mask) -> Mask:
        """Returns for each window whether a match of it is in ``mask``."""
        before = np.concatenate([[0], np.cumsum(mask)])
        return before[self.ends + 1] > before[self.starts]

    def find_ordered(self, steps: Sequence[Mask]) -> Mask:
        """Returns for each window whether it has matches of all ``steps`` whose times ascend in their order.

        Matches at one time stand in any order.
        """
        rows = np.arange(len(self.times))
        latest = rows  # the latest row at which a chain of matches began that is complete so far
        for number, step in enumerate(steps):
            begun = np.where(step, latest if number == 0 else latest[self.ends], -1)
            latest = np.maximum.accumulate(begun)
        return latest[self.ends] >= self.starts

    def find_episodes(self, fulfilled: Mask) -> tuple[Numbers, Numbers]:
        """Returns the first and the last rows of the runs of windows that fulfil a condition.

        A run ends before a window of its group that does not fulfil it, and before one that has nothing of the window
        before.
        """
        linked = np.zeros(len(fulfilled), bool)
        linked[1:] = fulfilled[:-1] & (self.starts[1:] <= np.arange(len(fulfilled) - 1))
        first = fulfilled & ~linked
        goes_on = np.zeros(len(fulfilled), bool)
        goes_on[:-1] = fulfilled[1:] & linked[1:]
        last = fulfilled & ~goes_on
        return first.nonzero()[0], last.nonzero()[0]
