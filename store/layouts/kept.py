"""A layout of which readers see only the events that are kept (``store/retention/policy.py``)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

import pyarrow as pa

from watchfloor.schema.filter.tree import Condition
from watchfloor.schema.source import Source
from watchfloor.store.layout import (
    Encoder,
    FieldValue,
    IndexCount,
    Layout,
    ReadRequest,
    StatsRequest,
    TopRequest,
    ValueCounts,
)
from watchfloor.store.reader import Reader
from watchfloor.store.retention.policy import cut_range
from watchfloor.store.stats.answer import PartialGroups

_Request = TypeVar("_Request", ReadRequest, StatsRequest, TopRequest)


class KeptCounts:
    """Counts as another ``ValueCounts`` does, but only events that are kept."""

    def __init__(self, counts: ValueCounts) -> None:
        self._counts = counts

    def estimate_conditions(
        self,
        reader: Reader,
        source: Source,
        conditions: Sequence[Condition],
        since: int,
        until: int,
        max_entries: int | None,
    ) -> list[IndexCount | None]:
        span = cut_range(reader, source.name, since, until)
        return self._counts.estimate_conditions(reader, source, conditions, *span, max_entries)

    def count_events(self, reader: Reader, source: Source, term: FieldValue, since: int, until: int) -> int:
        return self._counts.count_events(reader, source, term, *cut_range(reader, source.name, since, until))

    def count_over_time(
        self, reader: Reader, source: Source, condition: Condition, width: int, since: int, until: int
    ) -> Counter[int] | None:
        span = cut_range(reader, source.name, since, until)
        return self._counts.count_over_time(reader, source, condition, width, *span)

    def count_values(
        self, reader: Reader, source: Source, condition: Condition, since: int, until: int, most: int | None
    ) -> Counter[bytes] | None:
        span = cut_range(reader, source.name, since, until)
        return self._counts.count_values(reader, source, condition, *span, most)


class KeptLayout:
    """Writes and reads events as another layout does, but readers see only those that are kept.

    Hits of ``find_hits`` are of kept events, so look-ups of hits need no further cut.
    """

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self.name, self.hits_exact = layout.name, layout.hits_exact
        self.costs, self.max_entries = layout.costs, layout.max_entries
        self.counts: ValueCounts = KeptCounts(layout.counts)

    def make_encoder(self, source: Source, file_id: bytes, item_id: bytes, again: bool = False) -> Encoder:
        return self._layout.make_encoder(source, file_id, item_id, again)

    def scan_events(self, reader: Reader, source: Source, request: ReadRequest) -> Iterator[pa.RecordBatch]:
        return self._layout.scan_events(reader, source, _cut_request(reader, source, request))

    def find_hits(
        self, reader: Reader, source: Source, conditions: Sequence[Condition], since: int, until: int
    ) -> list[pa.Array]:
        return self._layout.find_hits(reader, source, conditions, *cut_range(reader, source.name, since, until))

    def fetch_events(
        self, reader: Reader, source: Source, hits: pa.Array, request: ReadRequest
    ) -> Iterator[pa.RecordBatch]:
        return self._layout.fetch_events(reader, source, hits, _cut_request(reader, source, request))

    def aggregate_events(
        self, reader: Reader, source: Source, request: StatsRequest, hits: pa.Array | None = None
    ) -> Iterator[PartialGroups]:
        return self._layout.aggregate_events(reader, source, _cut_request(reader, source, request), hits)

    def find_top(
        self, reader: Reader, source: Source, request: TopRequest, hits: pa.Array | None = None
    ) -> Iterator[pa.RecordBatch]:
        return self._layout.find_top(reader, source, _cut_request(reader, source, request), hits)


def _cut_request(reader: Reader, source: Source, request: _Request) -> _Request:
    since, until = cut_range(reader, source.name, request.since, request.until)
    return replace(request, since=since, until=until)
