"""Sorts events newest first: within a block, and over blocks whose times overlap."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from watchfloor.store.encoding.byte_arrays import to_byte_rows
from watchfloor.store.encoding.keys import KEY_BYTES, KEY_COLUMN, hashes_of_keys, times_of_keys

PIECE_ROWS = 4096
"""Largest number of events in a batch that ``EventMerger`` yields."""


def order_newest_first(times: np.ndarray, hashes: np.ndarray) -> np.ndarray:
    """Returns the positions of events in their order: newest first, events of the same time by hash."""
    order = np.argsort(-times, kind="stable")
    ordered = times[order]
    same = ordered[1:] == ordered[:-1]
    if same.any():
        tied = np.flatnonzero(np.concatenate(([False], same)) | np.concatenate((same, [False])))
        events = order[tied]
        order[tied] = events[np.lexsort((hashes[events], -times[events]))]
    return order


def sort_newest_first(events: pa.RecordBatch, times: np.ndarray, hashes: np.ndarray) -> pa.RecordBatch:
    """Returns the events newest first."""
    same = times[1:] == times[:-1]
    if (times[1:] <= times[:-1]).all() and (hashes[:-1][same] <= hashes[1:][same]).all():
        return events
    return events.take(pa.array(order_newest_first(times, hashes)))


class EventMerger:
    """Merges batches of events, each newest first, into one order.

    The column ``KEY_COLUMN`` of a batch has its events' keys.
    """

    def __init__(self) -> None:
        self._runs: list[tuple[pa.RecordBatch, np.ndarray]] = []

    def add_run(self, run: pa.RecordBatch, times: np.ndarray | None = None) -> None:
        """Adds a batch, newest first, to the events that ``take_newer`` yields; ``times`` are theirs, if known."""
        if len(run):
            if times is None:
                times = times_of_keys(to_byte_rows(run.column(KEY_COLUMN), KEY_BYTES))
            self._runs.append((run, -times))

    def take_newer(self, than: int | None = None) -> Iterator[pa.RecordBatch]:
        """Yields the events newer than ``than`` (µs; None: all), in batches, and keeps the others for later."""
        heads, held = [], []
        for run, ages in self._runs:
            cut = len(ages) if than is None else int(np.searchsorted(ages, -than))
            if cut:
                heads.append(run.slice(0, cut))
            if cut < len(ages):
                held.append((run.slice(cut), ages[cut:]))
        self._runs = held
        if heads:
            merged = _merge_runs(heads)
            for start in range(0, len(merged), PIECE_ROWS):
                yield merged.slice(start, PIECE_ROWS)


def _merge_runs(runs: list[pa.RecordBatch]) -> pa.RecordBatch:
    """Returns the events of all runs as one batch, newest first."""
    if len(runs) == 1:
        return runs[0]
    merged = pa.concat_batches(runs)
    keys = to_byte_rows(merged.column(KEY_COLUMN), KEY_BYTES)
    return sort_newest_first(merged, times_of_keys(keys), hashes_of_keys(keys))
