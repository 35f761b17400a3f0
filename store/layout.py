"""The protocol of layouts: how events are stored in tables and read again.

Queries and the ingest worker know a layout by this protocol only. Read ``Layout`` first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa

from watchfloor.schema.field import Field
from watchfloor.schema.filter.tree import Condition, Filter, Value
from watchfloor.schema.read_costs import ReadCosts
from watchfloor.schema.source import Source
from watchfloor.store.encoding.keys import KEY_COLUMN

from .reader import Reader
from .store import Store

FieldValue = tuple[Field, Value]
"""An indexed field and a typed value: the condition ``field = value``."""


@dataclass(frozen=True)
class IndexCount:
    """The answer of the index to a condition.

    About ``events`` events satisfy it. It leads to ``places``: events, or blocks of events, depending on the layout.
    ``entries`` of the index were read to learn that. No event is newer than ``newest`` (µs); None: not known.
    """

    events: int
    places: int
    entries: int
    newest: int | None = None


@dataclass(frozen=True)
class TableWrite:
    """Entries for one table: with ``wide`` a row per event and a column per cell, otherwise a row per entry."""

    table: str
    batch: pa.RecordBatch
    wide: bool
    entries: int


@dataclass(frozen=True)
class ReadRequest:
    """Asks for ``columns`` of the events in [since, until) (µs) that satisfy ``where``; None: of all of them.

    The first batch is handed over after about ``first_rows`` events. With a ``limit`` only the newest so many events
    are needed; more may be returned.
    """

    since: int
    until: int
    where: Filter | None
    columns: Sequence[str]
    first_rows: int
    limit: int | None = None


def make_event_schema(source: Source, columns: Sequence[str]) -> pa.Schema:
    """Returns the schema of the batches that a layout answers with: typed columns, and the events' keys."""
    fields = [pa.field(name, source.find_field(name).arrow) for name in columns]
    return pa.schema([*fields, pa.field(KEY_COLUMN, pa.binary())])


class Encoder(Protocol):
    """Turns the events of one work item into entries. The result does not depend on how events are cut into batches."""

    def encode(self, events: pa.RecordBatch) -> list[TableWrite]:
        """Returns entries of a batch of events, which has the source's columns and ``keys.OFFSET_COLUMN``.

        Some of them may come with a later batch.
        """

    def finish(self) -> list[TableWrite]:
        """Returns the remaining entries and those of the item's counts."""

    def sweep_earlier(self, store: Store, rejected: np.ndarray) -> None:
        """Removes what an earlier reading of the item wrote and this one, now durable, did not write again.

        ``rejected`` are the offsets of the item's lines that are not events any more. Events, index entries and counts
        are removed, so that all three agree. A sweep that was interrupted can be repeated.
        """


class ValueCounts(Protocol):
    """Counts the events in [since, until) (µs) by the values of indexed fields."""

    def estimate_conditions(
        self,
        reader: Reader,
        source: Source,
        conditions: Sequence[Condition],
        since: int,
        until: int,
        max_entries: int | None,
    ) -> list[IndexCount | None]:
        """Returns what the index tells about each condition on an indexed field.

        The result is None for a condition of many values that has more than ``max_entries`` in a shard: reading it is
        given up. With None nothing is given up.
        """

    def count_events(self, reader: Reader, source: Source, term: FieldValue, since: int, until: int) -> int:
        """Returns the exact number of events that have the value."""

    def count_over_time(
        self, reader: Reader, source: Source, term: FieldValue, width: int, since: int, until: int
    ) -> Counter[int]:
        """Returns exact counts by the start of their bucket, whose ``width`` (µs) is a minute, an hour or a day."""

    def count_values(self, reader: Reader, source: Source, field: Field, since: int, until: int) -> Counter[bytes]:
        """Returns the exact count of every value of an indexed field, values as they stand in index rows."""


class Layout(Protocol):
    """Writes the events of a source to its tables and reads them."""

    name: str
    hits_exact: bool
    """True if every hit of an equality is an event that satisfies it; false if it is a block that may hold some."""
    costs: ReadCosts
    """The costs of reading on a store on which they were not measured."""
    max_entries: int
    """A condition of many values with more index entries in a shard than this is not worth looking up."""

    @property
    def counts(self) -> ValueCounts: ...

    def make_encoder(
        self, source: Source, file_id: bytes, item_id: bytes, reread: Reader | None = None, again: bool = False
    ) -> Encoder:
        """Returns an encoder of one work item's events.

        ``reread`` is the store if the item was read to its end before, and may have been compacted since. ``again``
        says that parts of the item may have been written before, so that ``sweep_earlier`` will be called.
        """

    def scan_events(self, reader: Reader, source: Source, request: ReadRequest) -> Iterator[pa.RecordBatch]:
        """Returns the requested events, newest first, in batches by ``make_event_schema``. Ties are ordered by key."""

    def find_hits(
        self, reader: Reader, source: Source, conditions: Sequence[Condition], since: int, until: int
    ) -> list[pa.Array]:
        """Returns the hits of each condition in [since, until): opaque binary IDs, sorted, which is newest first."""

    def fetch_events(
        self, reader: Reader, source: Source, hits: pa.Array, request: ReadRequest
    ) -> Iterator[pa.RecordBatch]:
        """Returns events as ``scan_events`` does, of sorted hits.

        The hits are some of those that ``find_hits`` has returned for a time range that covers the request's.
        """
