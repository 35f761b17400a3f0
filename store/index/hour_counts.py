"""Counts of the values of one field by hour, within one work item."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from watchfloor.store.encoding.keys import HOUR

_FOLD_AFTER = 200_000
"""Pending counts are summed when their number exceeds this, to bound memory."""
_MOST_CELLS = 1 << 20
"""Up to this number of possible numbers, numbers are counted in an array with an element per possible number."""


@dataclass(frozen=True)
class ValueHours:
    """The number of events (``counts``) of each value and hour (since 1970) that occur.

    ``codes`` are positions in ``values``, which are distinct; ``newest`` has the time (µs) of each value's last event.
    """

    values: pa.BinaryArray
    newest: np.ndarray
    codes: np.ndarray
    hours: np.ndarray
    counts: np.ndarray


class HourCounts:
    """Sums the events of each value and hour."""

    def __init__(self) -> None:
        self._pending: list[ValueHours] = []

    def add(self, values: pa.BinaryArray, codes: np.ndarray, times: np.ndarray) -> None:
        """Counts events, whose times are int64 µs. ``codes`` has the position of each event's value in ``values``.

        ``values`` are distinct.
        """
        if not len(codes):
            return
        hours = times // HOUR
        first, span = int(hours.min()), int(hours.max() - hours.min()) + 1
        groups, counts = count_numbers(codes.astype(np.int64) * span + (hours - first), len(values) * span)
        newest = _find_newest(codes, times, len(values))
        self._pending.append(ValueHours(values, newest, groups // span, groups % span + first, counts))
        if sum(len(part.codes) for part in self._pending) > _FOLD_AFTER:
            self._pending = [self.sum()]

    def sum(self) -> ValueHours:
        """Returns the sums of all that was added, at least once: values ascend, and so do the hours of each."""
        numbers = pa.concat_arrays([part.values for part in self._pending]).dictionary_encode()
        ascending = pc.sort_indices(numbers.dictionary)
        rank = np.empty(len(ascending), np.int64)
        rank[ascending.to_numpy()] = np.arange(len(ascending))
        places = np.cumsum([0, *(len(part.values) for part in self._pending)])
        code_of = rank[numbers.indices.to_numpy()]
        codes = np.concatenate([code_of[p.codes + start] for p, start in zip(self._pending, places, strict=False)])
        hours, counts = (np.concatenate([getattr(p, name) for p in self._pending]) for name in ("hours", "counts"))
        first, span = int(hours.min()), int(hours.max() - hours.min()) + 1
        groups, of = np.unique(codes * span + (hours - first), return_inverse=True)
        sums = np.zeros(len(groups), np.int64)
        np.add.at(sums, of, counts)
        newest = _find_newest(code_of, np.concatenate([p.newest for p in self._pending]), len(ascending))
        return ValueHours(numbers.dictionary.take(ascending), newest, groups // span, groups % span + first, sums)


def _find_newest(codes: np.ndarray, times: np.ndarray, values: int) -> np.ndarray:
    """Returns the newest of the times of each of so many values; those that have none get one before all times."""
    newest = np.full(values, np.iinfo(np.int64).min)
    np.maximum.at(newest, codes, times)
    return newest


def count_numbers(numbers: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Returns the distinct numbers among ``numbers``, all below ``most``, ascending, and how often each occurs."""
    if most > max(_MOST_CELLS, 4 * len(numbers)):
        return np.unique(numbers, return_counts=True)
    counts = np.bincount(numbers, minlength=1)
    found = np.flatnonzero(counts)
    return found, counts[found]
