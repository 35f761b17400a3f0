"""The yardstick of ingest: the same entries as mutations made beforehand, written by a plain loop in Java."""

from __future__ import annotations

import pyarrow as pa

from watchfloor.store.bridge import jvm
from watchfloor.store.bridge.sources import _Handover, _java
from watchfloor.store.store import Store


class PlainWriter:
    """Takes what an ``EntrySink`` takes, so that an ``ItemWriter`` can fill it, and holds it until ``write``.

    Entries are held in Java's memory, some 100 bytes each; they are written with the settings of the store's sinks.
    """

    def __init__(self, store: Store) -> None:
        s = store.settings
        java = jvm.java_class("watchfloor.bridge.sink.PlainWriter")
        self._java = _java(java, store.connection.java, s.sink_memory_mb << 20, s.sink_threads, s.sink_latency_ms)

    def write_entries(self, table: str, batch: pa.RecordBatch) -> None:
        handover = _Handover()
        _java(self._java.hold, table, *handover.give(batch), False)

    def write_rows(self, table: str, batch: pa.RecordBatch) -> None:
        handover = _Handover()
        _java(self._java.hold, table, *handover.give(batch), True)

    def flush(self) -> None:
        """Nothing: what is held is written by ``write``."""

    def write(self) -> float:
        """Writes all that is held, durably; the seconds that it took. Raises ``StoreError``."""
        return float(_java(self._java.write)) / 1e9
