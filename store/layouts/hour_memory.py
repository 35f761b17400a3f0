"""The events of each hour of a store's sources, as they were counted a while ago: for estimates, and for them alone.

A plan needs counts that are right within a factor. So a query that needs them for nothing else does not wait for them
to be read: it takes those of the queries before it, and reads all of its time range, whatever they say.
"""

from __future__ import annotations

import math
import threading
import time
from dataclasses import dataclass
from functools import partial

import numpy as np

from watchfloor.schema.errors import WatchfloorError
from watchfloor.schema.source import Source
from watchfloor.schema.times import close_range
from watchfloor.store.bridge.threads import start_thread
from watchfloor.store.encoding.keys import HOUR
from watchfloor.store.index.count_buckets import (
    begin_counts,
    make_bucket_cells,
    make_bucket_row,
    make_row_range,
    sum_buckets,
    widen_to_hours,
)
from watchfloor.store.reader import Batches, Reader, Slot

FRESH_SECONDS = 5.0
"""Age from which the counts of a source that is asked for are read again, beside the query that asks for it."""
USED_SECONDS = 60.0
"""Age from which counts are no longer used."""


@dataclass(frozen=True, eq=False)
class HourlyEvents:
    """The ``events`` in each of the hours that have some; ``hours`` are their starts (µs), ascending.

    ``read_at`` is the time by the monotonic clock at which reading them began.
    """

    hours: np.ndarray
    events: np.ndarray
    read_at: float


def begin_hours(reader: Reader, source: Source, since: int, until: int) -> Batches:
    """Begins to read the events of the hours that touch [since, until) (µs), for ``sum_buckets``."""
    rows, hours = make_row_range(make_bucket_row(source, None)), make_bucket_cells(HOUR, widen_to_hours(since, until))
    return begin_counts(reader, source, rows, hours, "bucket")


class HourMemory:
    """Remembers the events of each hour of sources, as readers with the same authorizations see them.

    Safe to use from several threads.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: dict[str, HourlyEvents] = {}
        self._asked: set[str] = set()
        self._reading: set[str] = set()

    def recall(self, reader: Reader, source: Source) -> HourlyEvents | None:
        """Returns what is known of a source; None if that is nothing, or too old.

        If a source is asked for again, what is not fresh is read by ``reader``, which outlives the query, in another
        thread.
        """
        with self._lock:
            known = self._known.get(source.name)
            age = math.inf if known is None else time.monotonic() - known.read_at
            is_due = age >= FRESH_SECONDS and source.name in self._asked - self._reading
            self._asked.add(source.name)
            if is_due:
                self._reading.add(source.name)
        if is_due:
            start_thread(partial(self._refresh, reader, source), "hour-memory")
        return known if age < USED_SECONDS else None

    def put(self, source: Source, found: HourlyEvents) -> None:
        """Remembers the counts of all hours of a source."""
        with self._lock:
            self._known[source.name] = found

    def _refresh(self, reader: Reader, source: Source) -> None:
        """Reads the counts of a source. If that fails they grow old, and a query that needs them says what is wrong."""
        began = time.monotonic()
        try:
            with begin_hours(reader, source, *close_range(None, None)) as read:
                self.put(source, HourlyEvents(*sum_buckets(read), began))
        except WatchfloorError:
            pass
        finally:
            with self._lock:
                self._reading.discard(source.name)


@dataclass(frozen=True)
class HourRecall:
    """What a query may recall: a memory, and the reader by which it is refreshed."""

    memory: HourMemory
    reader: Reader

    def find(self, source: Source) -> HourlyEvents | None:
        """Returns the events of each hour of a source as they are remembered, or None."""
        return self.memory.recall(self.reader, source)


HOUR_MEMORY: Slot[HourMemory] = Slot(HourMemory)
