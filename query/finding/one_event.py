"""Finds one event by its ID, with its neighbours: the events of its source that come next in time on both sides."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing
from dataclasses import dataclass
from typing import cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from watchfloor.query.preparation.request import choose_columns
from watchfloor.query.texts.event_ids import ID_COLUMN, format_ids, read_id
from watchfloor.schema.errors import UnknownEventError, UnknownSourceError
from watchfloor.schema.source import Source
from watchfloor.schema.times import clip_range
from watchfloor.store.encoding.keys import KEY_COLUMN, time_of_key
from watchfloor.store.layout import ReadRequest, make_event_schema
from watchfloor.store.layouts.count_reader import CountReader
from watchfloor.store.layouts.registry import find_layout
from watchfloor.store.snapshot import Snapshot

FIRST_ROWS = 1000
"""The number of events after which a scan without a limit hands over its first record batch."""
FIRST_WIDTH = 1_000_000
"""Width (µs) of the first time range in which newer events are looked for."""
GROWTH = 8
"""Factor from the width of such a range to the next one's."""


@dataclass(frozen=True)
class EventInTime:
    """An event with its neighbours. Each table has all columns of ``source`` and the IDs, newest event first."""

    source: Source
    event: pa.Table
    newer: pa.Table
    older: pa.Table


def find_event(snapshot: Snapshot, event_id: str, newer: int, older: int) -> EventInTime:
    """Returns the event of an ID, with at most so many newer and older ones beside it.

    Raises ``UnknownEventError`` if the reader sees no such event.
    """
    key, name = read_id(event_id)
    try:
        source = snapshot.catalog.find_source(name)
    except UnknownSourceError:
        raise UnknownEventError from None
    return _EventFinder(snapshot, source, key).find(newer, older)


class _EventFinder:
    """Reads events of one source around a key."""

    def __init__(self, snapshot: Snapshot, source: Source, key: bytes) -> None:
        self._snapshot, self._source, self._key, self._time = snapshot, source, key, time_of_key(key)
        self._columns = choose_columns(source, None)

    def find(self, newer: int, older: int) -> EventInTime:
        since, until = cast(tuple[int, int], clip_range(self._time, self._time + 1))
        # The events of the same microsecond are in the order of their keys.
        same = self._read(since, until)
        place = pc.index(same.column(KEY_COLUMN), pa.scalar(self._key, pa.binary())).as_py()
        if place < 0:
            raise UnknownEventError
        first, last = CountReader(self._snapshot, self._source).find_bounds() or (since, until)
        before, after = same.slice(0, place), same.slice(place + 1)
        if len(before) < newer:
            oldest = self._find_newer(newer - len(before), until, last)
            before = pa.concat_tables([self._read(until, oldest + 1), before]) if oldest is not None else before
        if len(after) < older and first < since:
            after = pa.concat_tables([after, self._read(first, since, older - len(after))])
        shown = (same.slice(place, 1), before.slice(max(0, len(before) - newer)), after.slice(0, older))
        return EventInTime(self._source, *map(self._add_ids, shown))

    def _find_newer(self, count: int, since: int, end: int) -> int | None:
        """Returns the time (µs) of the ``count``-th event from ``since`` on, or of the last one; None without any.

        ``end`` is a time after all events. Ranges that grow are looked at, so that few events are read.
        """
        width = FIRST_WIDTH
        while since < end:
            until = min(end, since + width)
            found = self._read_oldest_times(count, since, until)
            if len(found) >= count or until == end:
                return int(found[0]) if len(found) else None
            width *= GROWTH
        return None

    def _read_oldest_times(self, count: int, since: int, until: int) -> np.ndarray:
        """Returns the times (int64 µs) of the oldest ``count`` events in [since, until), newest first."""
        oldest = np.empty(0, np.int64)
        for batch in self._scan(since, until, (self._source.time_field,)):
            oldest = np.concatenate((oldest, batch.column(0).cast(pa.int64()).to_numpy()))[-count:]
        return oldest

    def _read(self, since: int, until: int, limit: int | None = None) -> pa.Table:
        """Returns the events in [since, until), of which only the newest ``limit`` are wanted, newest first."""
        batches: list[pa.RecordBatch] = []
        with closing(self._scan(since, until, self._columns, limit)) as found:
            for batch in found:
                batches.append(batch)
                if limit is not None and sum(map(len, batches)) >= limit:
                    break
        return pa.Table.from_batches(batches, make_event_schema(self._source, self._columns))

    def _scan(
        self, since: int, until: int, columns: tuple[str, ...], limit: int | None = None
    ) -> Generator[pa.RecordBatch, None, None]:
        request = ReadRequest(since, until, None, columns, limit or FIRST_ROWS, limit)
        yield from find_layout(self._source).scan_events(self._snapshot, self._source, request)

    def _add_ids(self, events: pa.Table) -> pa.Table:
        """Returns events with their IDs instead of their keys."""
        keys = events.column(KEY_COLUMN).combine_chunks()
        return events.drop_columns([KEY_COLUMN]).append_column(ID_COLUMN, format_ids(keys, self._source.name))
