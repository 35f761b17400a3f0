"""Finds the minutes of a source that have events which were not looked at, from the counts of events alone.

Counts are exact and cheap to read, and they tell late events too: an event that arrives with an old time changes the
count of an old minute.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import numpy as np
import numpy.typing as npt

from watchfloor.store.encoding.keys import HOUR, MINUTE

MinuteCounts = Mapping[int, npt.NDArray[np.int64]]
"""The numbers of events in the minutes of hours, by the start of the hour (µs)."""
Span = tuple[int, int]
"""A time range [since, until) in µs."""
MINUTES = HOUR // MINUTE


class CountSource(Protocol):
    """Counts the events of sources over time, as ``QueryService`` does."""

    def count_over_time(
        self, source: str, since: int | None = None, until: int | None = None, bucket: str = "hour"
    ) -> list[tuple[int, int]]: ...


def read_minute_counts(counts: CountSource, source: str, since: int | None, until: int | None) -> MinuteCounts:
    """Returns the counts of a range of whole hours."""
    found: dict[int, npt.NDArray[np.int64]] = {}
    for start, count in counts.count_over_time(source, since, until, "minute"):
        hour = start // HOUR * HOUR
        found.setdefault(hour, np.zeros(MINUTES, np.int64))[(start - hour) // MINUTE] = count
    return found


def find_changes(counts: CountSource, source: str, seen: MinuteCounts) -> tuple[list[Span], MinuteCounts]:
    """Returns the spans of minutes whose counts differ from those seen, oldest first, and their hours' counts now."""
    changed = [
        hour
        for hour, count in counts.count_over_time(source, None, None, "hour")
        if hour not in seen or int(seen[hour].sum()) != count
    ]
    spans: list[Span] = []
    now: dict[int, npt.NDArray[np.int64]] = {}
    for since, until in _join_spans([(hour, hour + HOUR) for hour in changed]):
        for hour, minutes in sorted(read_minute_counts(counts, source, since, until).items()):
            now[hour] = minutes
            before = seen.get(hour, np.zeros(MINUTES, np.int64))
            places = (minutes != before).nonzero()[0].tolist()
            spans += [(hour + place * MINUTE, hour + (place + 1) * MINUTE) for place in places]
    return _join_spans(spans), now


def _join_spans(spans: list[Span]) -> list[Span]:
    """Returns spans, which ascend, with neighbours joined up to a day."""
    joined: list[Span] = []
    for since, until in spans:
        if joined and joined[-1][1] == since and until - joined[-1][0] <= 24 * HOUR:
            joined[-1] = (joined[-1][0], until)
        else:
            joined.append((since, until))
    return joined
