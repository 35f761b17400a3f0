"""The seam between what events are and how they are stored.

Planner, batching and executor know a layout by this protocol only; so does the ingest worker.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import pyarrow as pa

from watchfloor.schema.filter import Filter, Value
from watchfloor.schema.source import Field, Source

if TYPE_CHECKING:
    from .store import Store


@dataclass(frozen=True)
class TableWrite:
    """Entries for one table. ``wide``: a row per event and a column per cell, else a row per entry."""

    table: str
    batch: pa.RecordBatch
    wide: bool
    entries: int


class Encoder(Protocol):
    """Turns the events of one work item into entries."""

    def encode(self, events: pa.RecordBatch) -> list[TableWrite]:
        """Entries of a batch of events (``source.arrow_schema`` and ``_offset``)."""

    def finish(self) -> list[TableWrite]:
        """The item's counts."""


class Layout(Protocol):
    name: str
    hits_exact: bool
    """Whether every hit of the index is an event that satisfies the condition, or only a candidate."""

    def encoder(self, source: Source, file_id: bytes, item_id: bytes) -> Encoder: ...

    def scan(
        self,
        store: Store,
        source: Source,
        since: int,
        until: int,
        where: Filter | None,
        columns: Sequence[str],
        first_rows: int,
    ) -> Iterator[pa.RecordBatch]:
        """Events in [since, until) that satisfy ``where``, newest first, as typed columns.

        ``first_rows`` is after how many events the first batch is handed over.
        """

    def hits(self, store: Store, source: Source, field: Field, value: Value, since: int, until: int) -> pa.Array:
        """What the index has for ``field = value`` in [since, until): opaque binary IDs that sort newest first."""

    def fetch(
        self,
        store: Store,
        source: Source,
        hits: pa.Array,
        where: Filter | None,
        columns: Sequence[str],
        first_rows: int,
    ) -> Iterator[pa.RecordBatch]:
        """The events of sorted hits that satisfy ``where``, newest first."""
