"""Cuts a time range into slices of growing numbers of events, so that the first part of an answer is there soon."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

FIRST_EVENTS = 200_000
"""Events of the newest slice, about as many as two tablet servers aggregate in a tenth of a second."""
GROWTH = 4
"""Factor between the events of a slice and those of the next, so that few slices are enough for any range."""


@dataclass(frozen=True)
class Slice:
    """A part [since, until) (µs) of a time range."""

    since: int
    until: int


def cut_slices(since: int, until: int, hours: np.ndarray, events: np.ndarray) -> list[Slice]:
    """Returns the slices of [since, until), newest first.

    ``hours`` are the starts (µs) of the hours with events, ascending, and ``events`` their numbers of events. Slices
    begin at hours. Time without events is part of the slice after it.
    """
    slices, end, held, most = [], until, 0, FIRST_EVENTS
    for hour, count in zip(hours[::-1].tolist(), events[::-1].tolist(), strict=True):
        held += count
        # What is older than the oldest hour belongs to the oldest slice.
        if held >= most and since < hour < end and hour != hours[0]:
            slices.append(Slice(hour, end))
            end, held, most = hour, 0, most * GROWTH
    if held:
        slices.append(Slice(since, end))
    return slices


def cut_oldest_first(since: int, until: int, hours: np.ndarray, events: np.ndarray) -> list[Slice]:
    """Returns the slices of [since, until), oldest first; time without events is part of the slice before it."""
    slices, begin, held, most = [], since, 0, FIRST_EVENTS
    for hour, count in zip(hours.tolist(), events.tolist(), strict=True):
        if held >= most and begin < hour < until:
            slices.append(Slice(begin, hour))
            begin, held, most = hour, 0, most * GROWTH
        held += count
    if held:
        slices.append(Slice(begin, until))
    return slices
