"""A sink for benchmarks: it keeps entries as Accumulo mutations and writes them later in a plain loop."""

from __future__ import annotations

import pyarrow as pa

from watchfloor.schema.settings.settings import Settings

from . import jvm
from .call import BatchTransfer, call_java
from .connection import Connection


class MutationRecorder:
    """Takes the same batches as an ``EntrySink``, and keeps their mutations until ``replay`` writes them.

    The mutations are kept in Java's memory, some 100 bytes per entry. They are written with the settings of the store's
    sinks. The time that an ``EntrySink`` needs beyond this for the same entries is the bridge's own cost.
    """

    def __init__(self, connection: Connection, settings: Settings) -> None:
        java = jvm.java_class("watchfloor.bridge.sink.MutationRecorder")
        options = settings.sink_memory_mb << 20, settings.sink_threads, settings.sink_latency_ms
        self._java = call_java(java, connection.java, *options)

    def write_entries(self, table: str, batch: pa.RecordBatch) -> None:
        transfer = BatchTransfer()
        call_java(self._java.recordEntries, table, *transfer.export_batch(batch))

    def write_rows(self, table: str, batch: pa.RecordBatch) -> None:
        transfer = BatchTransfer()
        call_java(self._java.recordRows, table, *transfer.export_batch(batch))

    def write_ahead(self, table: str, batch: pa.RecordBatch) -> None:
        self.write_entries(table, batch)

    def flush(self) -> None:
        """Does nothing: ``replay`` makes durable what it writes."""

    def replay(self) -> float:
        """Writes all mutations durably, forgets them, and returns the seconds it took. Raises ``StoreError``."""
        return float(call_java(self._java.replay)) / 1e9
