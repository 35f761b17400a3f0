"""The first rows of an order, of the events that tablet servers have looked at so far."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing

import pyarrow as pa
import pyarrow.compute as pc

from watchfloor.query.preparation.read_range import fetch_found
from watchfloor.schema.filter.tree import And, In
from watchfloor.schema.times import from_micros
from watchfloor.store.layout import ReadRequest
from watchfloor.store.reader import Reader
from watchfloor.store.sorting.answer import FOUND
from watchfloor.store.sorting.keys import make_bound_condition, read_times

from .prepare import SortedPart

SORT_KEY = "(sort key)"
"""Name of the binary column with the rows' sort keys; no field has it."""
FETCHED = 1024
"""The most events that are fetched at once: the filter that finds them has the times of all."""


class FoundRows:
    """The ``most`` rows of the least sort keys after the key ``after``.

    Tablet servers find events by sort keys and hits. Their rows are fetched later, so that few are.
    """

    def __init__(self, parts: Sequence[SortedPart], most: int, after: bytes | None) -> None:
        self._parts, self._most, self._after = parts, most, after
        # By source: the events whose rows have not been fetched.
        self._missing = [FOUND.empty_table() for _ in parts]
        self._rows: pa.Table | None = None
        self.bound: bytes | None = None
        """The last sort key of the first ``most`` events; None while there are fewer. No event after it is wanted."""

    @property
    def rows(self) -> pa.Table | None:
        """The rows that have been fetched, in their order, with keys; None if there are none."""
        return None if self._rows is None else self._rows.drop_columns(SORT_KEY)

    def add_found(self, number: int, found: Iterable[pa.RecordBatch]) -> int:
        """Adds events of the source of this number, drops what is after the bound, and returns how many are left."""
        added = pa.Table.from_batches(found, FOUND)
        self._missing[number] = pa.concat_tables([self._missing[number], added])
        if len(added):
            self.bound = self._find_bound()
        if self.bound is not None:
            last = pa.scalar(self.bound, pa.binary())
            self._missing = [one.filter(pc.less_equal(one.column("key"), last)) for one in self._missing]
            added = added.filter(pc.less_equal(added.column("key"), last))
        return len(added)

    def fetch_rows(self, reader: Reader) -> None:
        """Fetches the rows of all events that were added. ``reader`` is the one by which they were found."""
        fetched = [] if self._rows is None else [self._rows]
        for number, part in enumerate(self._parts):
            found = self._missing[number].sort_by("hit")
            for start in range(0, len(found), FETCHED):
                fetched += self._fetch(reader, part, found.slice(start, FETCHED))
            self._missing[number] = FOUND.empty_table()
        if fetched:
            rows = pa.concat_tables(fetched)
            self._rows = rows.take(pc.sort_indices(rows.column(SORT_KEY))).slice(0, self._most)
            self.bound = self._find_bound()

    def _find_bound(self) -> bytes | None:
        fetched = [] if self._rows is None else self._rows.column(SORT_KEY).chunks
        chunks = [*fetched, *(chunk for found in self._missing for chunk in found.column("key").chunks)]
        keys = pa.chunked_array(chunks, pa.binary())
        if len(keys) < self._most:
            return None
        last: bytes = keys[pc.sort_indices(keys)[self._most - 1].as_py()].as_py()
        return last

    def _fetch(self, reader: Reader, part: SortedPart, found: pa.Table) -> Iterator[pa.Table]:
        """Yields the rows of some events.

        A hit may lead to other events too, so those are read that match, are of the same microseconds and not after the
        bound. What is read besides the wanted rows does no harm: it has its place in the order like all others.
        """
        times = sorted(set(read_times(found.column("key"), part.suffix)))
        conditions = [In(part.source.time_field, tuple(map(from_micros, times)))]
        within = None if self.bound is None else make_bound_condition(part.sort.orders, part.source, self.bound)
        tree = And(tuple(one for one in (*conditions, within, part.plan.tree) if one is not None))
        request = ReadRequest(times[0], times[-1] + 1, tree, part.read_columns, len(found))
        with closing(fetch_found(reader, part.source, found.column("hit"), request)) as batches:
            for events in batches:
                keys = part.make_keys(events)
                rows = part.convert_events(reader, events).append_column(SORT_KEY, keys)
                if self._after is not None:
                    rows = rows.filter(pc.greater(keys, pa.scalar(self._after, pa.binary())))
                yield pa.Table.from_batches([rows])
