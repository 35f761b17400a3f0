"""Counts of a store's sources as they were read a while ago: for estimates, and for them alone.

A plan needs counts that are right within a factor. So a query that needs them for nothing else does not wait for them
to be read: it takes those of the queries before it, and reads all of its time range, whatever they say. These are the
events of each hour, and what the index has of conditions, for the plan of a scan: it evaluates the whole filter.
"""

from __future__ import annotations

import math
import threading
import time
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from watchfloor.schema.errors import WatchfloorError
from watchfloor.schema.filter.tree import Condition, InList, InQuery
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
from watchfloor.store.layout import IndexCount
from watchfloor.store.reader import Batches, Reader, Slot

FRESH_SECONDS = 5.0
"""Age from which the counts of a source that is asked for are read again, beside the query that asks for it."""
USED_SECONDS = 60.0
"""Age from which counts are no longer used."""
MOST_COUNTS = 1024
"""The largest number of counts of conditions that are remembered."""


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


@dataclass(frozen=True)
class CountedRange:
    """A time range [since, until) (µs; None: open) of a source, in which conditions are counted."""

    source: str
    since: int | None
    until: int | None


@dataclass(frozen=True)
class _KnownCount:
    count: IndexCount | None
    total: int
    read_at: float


class CountMemory:
    """Remembers counts as readers with the same authorizations see them. Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: dict[str, HourlyEvents] = {}
        self._asked: set[str] = set()
        self._reading: set[str] = set()
        self._counts: OrderedDict[tuple[CountedRange, Condition], _KnownCount] = OrderedDict()

    def recall_hours(self, reader: Reader, source: Source) -> HourlyEvents | None:
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
            start_thread(partial(self._refresh_hours, reader, source), "hour-memory")
        return known if age < USED_SECONDS else None

    def put_hours(self, source: Source, found: HourlyEvents) -> None:
        """Remembers the events of all hours of a source."""
        with self._lock:
            self._known[source.name] = found

    def recall_counts(
        self, counted: CountedRange, conditions: Sequence[Condition], total: int
    ) -> list[IndexCount | None] | None:
        """Returns the index's answers about conditions, as shares of now ``total`` events; None if one is not known."""
        oldest, found = time.monotonic() - USED_SECONDS, []
        with self._lock:
            for condition in conditions:
                known = self._counts.get((counted, condition))
                if known is None or known.read_at < oldest:
                    return None
                found.append(known)
        return [None if one.count is None else _scale_count(one.count, total / one.total) for one in found]

    def put_counts(
        self,
        counted: CountedRange,
        counts: Mapping[Condition, IndexCount | None],
        total: int,
        read_at: float,
    ) -> None:
        """Remembers the index's answers about conditions among ``total`` events, the last ``MOST_COUNTS`` of them.

        Those about lists are left out, as they would keep the lists in memory.
        """
        with self._lock:
            for condition, count in counts.items():
                if not isinstance(condition, (InList, InQuery)):
                    self._counts[counted, condition] = _KnownCount(count, total, read_at)
                    self._counts.move_to_end((counted, condition))
            while len(self._counts) > MOST_COUNTS:
                self._counts.popitem(last=False)

    def _refresh_hours(self, reader: Reader, source: Source) -> None:
        """Reads the counts of a source. If that fails they grow old, and a query that needs them says what is wrong."""
        began = time.monotonic()
        try:
            with begin_hours(reader, source, *close_range(None, None)) as read:
                self.put_hours(source, HourlyEvents(*sum_buckets(read), began))
        except WatchfloorError:
            pass
        finally:
            with self._lock:
                self._reading.discard(source.name)


def _scale_count(count: IndexCount, factor: float) -> IndexCount:
    """Returns a count with as large a share of another number of events."""
    return replace(count, events=math.ceil(count.events * factor))


@dataclass(frozen=True)
class Recall:
    """A memory from which a query may recall counts, and the reader by which it is refreshed."""

    memory: CountMemory
    reader: Reader

    def find_hours(self, source: Source) -> HourlyEvents | None:
        """Returns the events of each hour of a source as they are remembered, or None."""
        return self.memory.recall_hours(self.reader, source)


COUNT_MEMORY: Slot[CountMemory] = Slot(CountMemory)
