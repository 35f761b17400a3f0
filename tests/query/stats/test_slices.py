"""Slices of a time range hold each of its events once, newest first, and grow.

In `make test`: pure functions.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from watchfloor.query.batches.slices import FIRST_EVENTS, GROWTH, cut_slices
from watchfloor.store.encoding.keys import HOUR

hours = st.dictionaries(st.integers(0, 200), st.integers(1, 5 * FIRST_EVENTS), max_size=40)


@given(hours, st.integers(0, 3 * HOUR), st.integers(1, 3 * HOUR))
def test_slices_tile_the_range_and_grow(counts: dict[int, int], early: int, late: int) -> None:
    starts = np.array(sorted(counts), np.int64) * HOUR
    events = np.array([counts[start // HOUR] for start in starts.tolist()], np.int64)
    # A range may begin and end within hours, and before or after all events.
    since = int(starts[0]) - HOUR + early if len(starts) else early
    until = max(since + 1, int(starts[-1]) + late) if len(starts) else early + late
    slices = cut_slices(since, until, starts, events)
    if not counts:
        assert slices == []
        return
    assert slices[0].until == until and slices[-1].since == since
    assert all(newer.since == older.until for newer, older in pairwise(slices))
    held = [int(events[(starts < one.until) & (starts + HOUR > one.since)].sum()) for one in slices]
    for number, count in enumerate(held[:-1]):
        assert count >= FIRST_EVENTS * GROWTH**number
    assert len(slices) <= 2 + np.log(max(1, events.sum() / FIRST_EVENTS)) / np.log(GROWTH) + 1
