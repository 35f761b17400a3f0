"""The seam between what events are and how they are stored.

Planner, batching and executor know a layout by this protocol only; so does the ingest worker.
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
"""``field = value``, typed, of an indexed field."""


@dataclass(frozen=True)
class IndexCount:
    """What the index knows of a condition: about how many ``events`` satisfy it, to how many ``places`` it leads
    (events, or blocks of events), and how many ``entries`` were read to know that. ``newest``: none of the events is
    newer (µs); None if that is not known."""

    events: int
    places: int
    entries: int
    newest: int | None = None


@dataclass(frozen=True)
class TableWrite:
    """Entries for one table. ``wide``: a row per event and a column per cell, else a row per entry."""

    table: str
    batch: pa.RecordBatch
    wide: bool
    entries: int


@dataclass(frozen=True)
class ReadRequest:
    """Which events a read is for: those in [since, until) (µs) that satisfy ``where``, and which ``columns`` of them.

    ``first_rows`` is after how many events the first batch is handed over. With a ``limit`` no more than the newest so
    many are wanted; others may come too.
    """

    since: int
    until: int
    where: Filter | None
    columns: Sequence[str]
    first_rows: int
    limit: int | None = None


def event_schema(source: Source, columns: Sequence[str]) -> pa.Schema:
    """Returns the schema of the batches that a layout answers with: typed columns, and the events' keys."""
    fields = [pa.field(name, source.find_field(name).arrow) for name in columns]
    return pa.schema([*fields, pa.field(KEY_COLUMN, pa.binary())])


class Encoder(Protocol):
    """Turns the events of one work item into entries. How they are cut into batches makes no difference."""

    def encode(self, events: pa.RecordBatch) -> list[TableWrite]:
        """Returns entries of a batch of events, which has the source's columns and ``keys.OFFSET_COLUMN``.

        Some of them may come with a later batch.
        """

    def finish(self) -> list[TableWrite]:
        """What is left, and the item's counts."""

    def sweep_earlier(self, store: Store, rejected: np.ndarray) -> None:
        """After a second reading, which is durable: removes what an earlier one wrote and this one did not write again.

        ``rejected`` are the offsets of lines of the item that are no events now. What is removed are events, index
        entries and counts, so that all three say the same. A sweep that is cut off can be done again.
        """


class ValueCounts(Protocol):
    """Counts of the events that have a value, in [since, until) (µs)."""

    def estimate_conditions(
        self, reader: Reader, source: Source, conditions: Sequence[Condition], since: int, until: int, most: int | None
    ) -> list[IndexCount | None]:
        """What there is of each condition on an indexed field: equalities, and those of many values.

        None for one of many values of which a shard has more than ``most`` entries; those are not read to the end.
        """

    def count_events(self, reader: Reader, source: Source, term: FieldValue, since: int, until: int) -> int:
        """Exactly how many events have the term."""

    def count_over_time(
        self, reader: Reader, source: Source, term: FieldValue, width: int, since: int, until: int
    ) -> Counter[int]:
        """Exact counts by the start of their bucket. ``width`` (µs): a minute, an hour or a day."""

    def count_values(self, reader: Reader, source: Source, field: Field, since: int, until: int) -> Counter[bytes]:
        """Exact counts of all values of an indexed field, as they stand in index rows."""


class Layout(Protocol):
    name: str
    hits_exact: bool
    """Whether every hit of an equality is an event that satisfies it, or only leads to some."""
    costs: ReadCosts
    most_entries: int
    """So many entries a shard may a condition of many values have, for its look-up to be worth its while."""

    @property
    def counts(self) -> ValueCounts: ...

    def make_encoder(
        self, source: Source, file_id: bytes, item_id: bytes, reread: Reader | None = None, again: bool = False
    ) -> Encoder:
        """Returns an encoder of one work item's events.

        ``reread`` is the store, if the item was read to its end before, and may have been compacted since. ``again``
        says that some of the item may have been written before, so that ``sweep`` will be called.
        """

    def scan_events(self, reader: Reader, source: Source, wanted: ReadRequest) -> Iterator[pa.RecordBatch]:
        """Returns the events that are wanted, newest first: batches by ``event_schema``. Ties are ordered by key."""

    def find_hits(
        self, reader: Reader, source: Source, conditions: Sequence[Condition], since: int, until: int
    ) -> list[pa.Array]:
        """What the index has for each condition in [since, until): opaque binary IDs, sorted, which is newest first."""

    def fetch_events(
        self, reader: Reader, source: Source, hits: pa.Array, wanted: ReadRequest
    ) -> Iterator[pa.RecordBatch]:
        """As ``scan``, of the events of sorted hits: some of those that ``hits`` gave for no wider a time range."""
