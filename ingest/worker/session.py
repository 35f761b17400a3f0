"""The connections of a worker: store, sink and ledger, opened at their first use and again after a failure."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from watchfloor.ingest.formats.registry import load_formats
from watchfloor.ingest.records.dead_letters import DeadLetters
from watchfloor.ingest.records.ledger import Ledger
from watchfloor.schema.definition import builtin_definitions
from watchfloor.schema.errors import StoreError, WatchfloorError
from watchfloor.schema.settings.settings import Settings
from watchfloor.store.bridge.sinks import EntrySink
from watchfloor.store.bulk.bulk_sink import BulkSink
from watchfloor.store.bulk.import_folders import remove_stale_folders
from watchfloor.store.layouts.item_writer import WriteSink
from watchfloor.store.runtime.disk_space import DiskGuard
from watchfloor.store.runtime.process_identity import name_this_process
from watchfloor.store.store import Store


class WorkerSession:
    """Holds store, sink and ledger open for one item at a time. ``disk`` tells whether there is room to write.

    Its properties raise ``StoreError`` while the store is down.
    """

    def __init__(self, settings: Settings, log: logging.Logger, disk: DiskGuard) -> None:
        self.settings, self._log, self.disk = settings, log, disk
        self._opening = threading.Lock()
        self._store: Store | None = None
        self._sink: EntrySink | None = None
        self._ledger: Ledger | None = None
        self._bulk = settings.ingest_mode == "bulk"
        self._tidied = False
        self.name = name_this_process()
        self.topic = settings.topic

    def open_ahead(self) -> None:
        """Opens the store before the first item needs it, if it answers. May be called beside the work on items.

        What the first item needs besides, formats and definitions, is read too.
        """
        with suppress(WatchfloorError):
            self.store.catalog.read_sources()
        load_formats()
        builtin_definitions()

    @property
    def store(self) -> Store:
        with self._opening:
            if self._store is None:
                self._store = Store.open(self.settings)
            return self._store

    @property
    def sink(self) -> EntrySink:
        if self._sink is None:
            self._sink = self.store.sink()
        return self._sink

    @contextmanager
    def event_sink(self, waiting: Callable[[], None]) -> Iterator[WriteSink]:
        """Opens the sink for the events of one item; ``waiting`` is called now and then while it waits for servers."""
        if not self._bulk:
            yield self.sink
            return
        if not self._tidied:
            for name in remove_stale_folders(self.store):
                self._log.info("removed what a killed worker has left: %s", name)
            self._tidied = True
        with BulkSink(self.store, waiting) as sink:
            yield sink

    @property
    def ledger(self) -> Ledger:
        if self._ledger is None:
            self._ledger = Ledger(self.store)
        return self._ledger

    @property
    def dead_letters(self) -> DeadLetters:
        return DeadLetters(self.store)

    def reopen_after(self, error: StoreError) -> bool:
        """Closes all connections; each is opened again at its next use.

        Returns true if the store answers nevertheless, so that ``error`` concerns the item.
        """
        self.close()
        try:
            self.store.catalog.read_sources()
        except WatchfloorError as now:
            self._log.error("the store does not answer: %s", now)
            self.close()
            return False
        return True

    def close(self) -> None:
        """Closes all connections, and ignores errors of a store that is down."""
        for thing in (self._sink, self._ledger, self._store):
            with suppress(Exception):
                if thing is not None:
                    thing.close()
        self._store = self._sink = self._ledger = None
