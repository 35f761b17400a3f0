"""Snapshots of the store: a snapshot shows one query the same state of each source all the time."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any, Protocol, TypeVar

import pyarrow as pa

from watchfloor.store.bridge.requests import EntryScan, EventScan
from watchfloor.store.bridge.streams import ScanStream

from .catalog import Catalog
from .open_scans import OpenScans
from .reader import Batches, CatalogRow, Slot

T = TypeVar("T")
GRACE_SECONDS = 60.0
"""Seconds for which data that was replaced is kept, for queries that may still read it."""
FRESH_SHARE = 1 / 12
"""Share of the grace during which a snapshot, or a row of the catalog, is used again after it was read: 5 s."""


class _SnapshotStore(Protocol):
    """The part of ``Store`` that a snapshot needs."""

    grace: float
    authorizations: tuple[str, ...]

    @property
    def catalog(self) -> Catalog: ...

    def begin_scan(self, request: EntryScan) -> ScanStream: ...

    def begin_events(self, request: EventScan) -> ScanStream: ...


class Snapshot:
    """The ``Reader`` of one query. The values in its slots are kept as long as the snapshot."""

    def __init__(self, store: _SnapshotStore, open_scans: OpenScans | None = None) -> None:
        """Takes over the ``open_scans`` of the snapshot that this one replaces, so that all are ended together."""
        self._store = store
        self._open_scans = open_scans or OpenScans()
        self._made_at = time.monotonic()
        self._slots: dict[Slot[Any], Any] = {}
        self.catalog = store.catalog.read_through(self)

    @property
    def authorizations(self) -> tuple[str, ...]:
        return self._store.authorizations

    @property
    def grace(self) -> float:
        return self._store.grace

    def snapshot(self) -> Snapshot:
        """Returns self while this snapshot is fresh; otherwise a new one, whose scans end with those of this one."""
        if time.monotonic() - self._made_at < self.grace * FRESH_SHARE:
            return self
        return Snapshot(self._store, self._open_scans)

    def end_scans(self) -> None:
        """Ends all scans at once, also those that are begun later. May be called from any thread.

        A thread that waits for one of them gets a ``StoreError``.
        """
        self._open_scans.end_scans()

    def scan(self, request: EntryScan) -> Iterator[pa.RecordBatch]:
        with self.begin_scan(request) as batches:
            yield from batches

    def begin_scan(self, request: EntryScan) -> Batches:
        if not len(request.ranges):
            return nullcontext(())  # A query often has what it wants already; a scan of nothing costs calls into Java.
        return self._open_scans.hold_scan(self._store.begin_scan(request))

    def begin_events(self, request: EventScan) -> Batches:
        if not len(request.ranges):
            return nullcontext(())
        return self._open_scans.hold_scan(self._store.begin_events(request))

    def read_catalog_row(self, source: str, max_age: float = 0.0) -> CatalogRow:
        return self.catalog.read_row(source, max_age)

    def get_slot(self, slot: Slot[T]) -> T:
        # One step, so that two threads of a query never keep different values.
        value: T = self._slots.setdefault(slot, slot.make())
        return value
