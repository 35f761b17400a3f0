"""A sink that writes record batches as entries of tables."""

from __future__ import annotations

from types import TracebackType

import pyarrow as pa

from watchfloor.schema.errors import StoreError

from . import jvm
from .call import BatchTransfer, JavaResource, call_java
from .connection import Connection


class EntrySink(JavaResource):
    """Writes record batches as entries. Must not be used by several threads at once.

    After a ``StoreError`` the sink refuses all further use. Entries that it held back may be lost, so the caller must
    write everything since the last ``flush`` again, with another sink.
    """

    def __init__(self, connection: Connection, memory_bytes: int, threads: int, latency_millis: int) -> None:
        """Opens a sink with ``memory_bytes`` and ``threads`` per table.

        Entries are sent after ``latency_millis`` at the latest; with 0 only when the memory is full, or by ``flush``.
        """
        sink = jvm.java_class("watchfloor.bridge.sink.EntrySink")
        super().__init__(call_java(sink, connection.java, memory_bytes, threads, latency_millis))

    def write_entries(self, table: str, batch: pa.RecordBatch) -> None:
        """Writes an entry per row: ``row``, ``family``, ``qualifier``, ``visibility``, ``value``, int64 ``timestamp``.

        Columns are binary or dictionaries of binary; all but ``row`` may be missing. Entries of one row should
        follow each other.
        """
        transfer = BatchTransfer()
        call_java(self._java.writeEntries, table, *transfer.export_batch(batch))

    def write_rows(self, table: str, batch: pa.RecordBatch) -> None:
        """Writes an entry per value that is not null. The first column is the row; each other one is a qualifier.

        A field's metadata ``family`` (otherwise none), ``qualifier`` (otherwise the column's name) and ``visibility``
        are those of its entries.
        """
        transfer = BatchTransfer()
        call_java(self._java.writeRows, table, *transfer.export_batch(batch))

    def write_ahead(self, table: str, batch: pa.RecordBatch) -> None:
        """Writes entries as ``write_entries`` does. Returns when all written entries of this table are durable."""
        self.write_entries(table, batch)
        call_java(self._java.flushTable, table)

    def delete_entries(self, table: str, batch: pa.RecordBatch) -> None:
        """Deletes entries by their keys: the columns of ``write_entries`` without value and timestamp."""
        transfer = BatchTransfer()
        call_java(self._java.deleteEntries, table, *transfer.export_batch(batch))

    def flush(self) -> None:
        """Returns when all written entries are durable."""
        call_java(self._java.flush)

    def close(self) -> None:
        """Flushes, unless the sink has failed."""
        super().close()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self.close()
            return
        try:
            self.close()
        except StoreError as second:
            error.add_note(f"and closing the sink: {second}")
