"""The protocol by which the store is read: by a ``Store``, or by a ``Snapshot`` of it for one query.

The index and the layouts use the store through this protocol only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

import pyarrow as pa

from watchfloor.store.bridge.requests import EntryScan, EventScan

T = TypeVar("T")
Batches = AbstractContextManager[Iterable[pa.RecordBatch]]
"""A scan that reads ahead from the moment it was begun; leaving the ``with`` block closes it."""


@dataclass(frozen=True)
class CatalogRow:
    """The entries of one source in the catalog, and the time by the monotonic clock at which their reading began."""

    entries: pa.RecordBatch
    read_at: float
    _parsed: dict[Callable[[CatalogRow], Any], Any] = field(default_factory=dict, repr=False, compare=False)

    def parse(self, parse_row: Callable[[CatalogRow], T]) -> T:
        """Returns what a function makes of this row, which is made once. The result must not be changed."""
        if parse_row not in self._parsed:
            self._parsed[parse_row] = parse_row(self)
        parsed: T = self._parsed[parse_row]
        return parsed


@dataclass(frozen=True, eq=False)
class Slot(Generic[T]):
    """Identifies a value that a snapshot keeps for the module that declares the slot; ``make`` returns a new value."""

    make: Callable[[], T]


class Reader(Protocol):
    """Reads entries and events with one set of authorizations. Its methods raise ``StoreError``."""

    @property
    def authorizations(self) -> tuple[str, ...]:
        """The labels with which this reader reads: it sees the entries whose visibility they satisfy."""

    @property
    def grace(self) -> float:
        """Seconds for which data that was replaced is kept for queries that may still read it."""

    def snapshot(self) -> Reader:
        """Returns a reader for one query, which sees the same state of each source all the time."""

    def scan(self, request: EntryScan) -> Iterator[pa.RecordBatch]:
        """Returns entries as batches of row, family, qualifier, visibility and value."""

    def begin_scan(self, request: EntryScan) -> Batches:
        """Begins a scan for entries. It reads ahead from now on, so that several scans may run at once."""

    def begin_events(self, request: EventScan) -> Batches:
        """Begins a scan for events, which reads ahead: batches of the row and a column per field of the request."""

    def read_catalog_row(self, source: str, max_age: float = 0.0) -> CatalogRow:
        """Returns a source's entries in the catalog, as they were read at most ``max_age`` seconds ago."""

    def get_slot(self, slot: Slot[T]) -> T:
        """Returns the value of a slot. A snapshot keeps that value; a store returns a new one each time."""
