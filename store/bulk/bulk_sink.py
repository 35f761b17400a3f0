"""Writes entries as sorted files, which tables import whole: the sink of a backfill (``docs/bulk.md``)."""

from __future__ import annotations

import logging
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from dataclasses import dataclass, field
from functools import partial
from types import TracebackType
from typing import Any

import jpype
import pyarrow as pa

from watchfloor.store.bridge import jvm
from watchfloor.store.bridge.call import BatchTransfer, call_java
from watchfloor.store.bridge.sinks import EntrySink
from watchfloor.store.bridge.threads import JavaThreadPool
from watchfloor.store.encoding.key_order import sort_entries, sort_rows
from watchfloor.store.store import Store

from .import_folders import import_root, name_import_folder
from .tablet_files import find_fullest_table

BUFFER_BYTES = 192 << 20
"""Bytes of buffered entries at which they are written, each table's to a file. As many more may be in writing."""
FILES_PER_IMPORT = 4
"""Number of files of a table at which they are imported without waiting for ``flush``."""
MAX_TABLET_FILES = 30
"""Files of a tablet above which nothing more is imported.

Accumulo compacts from 15 on (``table.file.max``), and cannot read a tablet of more than 100
(``tserver.scan.files.open.max``).
"""
_THREADS = 2
_POLL_SECONDS = 1.0
_WARNING_SECONDS = 30.0
_Sort = Callable[[list[pa.RecordBatch]], Iterator[pa.RecordBatch]]
log = logging.getLogger("watchfloor.bulk")


class BulkSink:
    """Takes the same batches as an ``EntrySink``. Entries may be missing in their tables until ``flush`` has returned.

    While entries are buffered, the sink's own threads write the earlier entries to files and import these files. A sink
    serves one work item and is then closed. It must not be used by several threads at once.
    """

    def __init__(self, store: Store, check_stop: Callable[[], None]) -> None:
        """Sets up a sink. ``check_stop`` is called every second while the sink waits for files; it may raise."""
        self._store, self._check_stop = store, check_stop
        self._root = import_root(store.settings, store.connection)
        self._buffers: dict[str, _TableBuffer] = {}
        self._buffered_bytes = 0
        self._folders: dict[str, _ImportFolder] = {}
        self._threads = JavaThreadPool(_THREADS, "bulk")
        self._jobs: list[Future[None]] = []
        self._closed = threading.Event()
        self._ahead: EntrySink | None = None
        """The sink of entries that cannot wait for an import."""

    def write_entries(self, table: str, batch: pa.RecordBatch) -> None:
        self._buffer_batch(table, batch, sort_entries)

    def write_rows(self, table: str, batch: pa.RecordBatch) -> None:
        self._buffer_batch(table, batch, sort_rows)

    def write_ahead(self, table: str, batch: pa.RecordBatch) -> None:
        if self._ahead is None:
            self._ahead = self._store.sink()
        self._ahead.write_ahead(table, batch)

    def flush(self) -> None:
        """Returns when all entries are part of their tables. Raises ``StoreError``."""
        self._await_jobs()
        self._start_jobs([partial(self._write_file, table, buffer) for table, buffer in self._take_buffers()])
        self._await_jobs()
        self._start_jobs([self._import_folders])
        self._await_jobs()

    def close(self) -> None:
        """Drops entries that were not flushed, and waits for an import that has begun."""
        self._closed.set()
        self._threads.shutdown(cancel_futures=True)
        self._remove_folders()
        if self._ahead is not None:
            self._ahead.close()

    def __enter__(self) -> BulkSink:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _buffer_batch(self, table: str, batch: pa.RecordBatch, sort: _Sort) -> None:
        """Buffers a batch, and has all buffers written to files if they are full."""
        if not len(batch):
            return
        self._buffers.setdefault(table, _TableBuffer(sort)).batches.append(batch)
        self._buffered_bytes += batch.nbytes
        if self._buffered_bytes >= BUFFER_BYTES:
            self._await_jobs()
            self._start_jobs([partial(self._write_files, self._take_buffers())])

    def _take_buffers(self) -> list[tuple[str, _TableBuffer]]:
        """Returns the buffers by table, and replaces them by empty ones."""
        buffers, self._buffers, self._buffered_bytes = self._buffers, {}, 0
        return list(buffers.items())

    def _start_jobs(self, jobs: list[Callable[[], None]]) -> None:
        self._jobs = [self._threads.submit(job) for job in jobs]

    def _await_jobs(self) -> None:
        """Returns when all jobs have ended. Raises the exception of a job that has failed."""
        for job in self._jobs:
            while not wait([job], _POLL_SECONDS).done:
                self._check_stop()
            job.result()

    # The sink's own threads call the methods below.

    def _write_files(self, buffers: list[tuple[str, _TableBuffer]]) -> None:
        for table, buffer in buffers:
            self._write_file(table, buffer)
        if max(folder.files for folder in self._folders.values()) >= FILES_PER_IMPORT:
            self._import_folders()

    def _write_file(self, table: str, buffer: _TableBuffer) -> None:
        if table not in self._folders:
            path = f"{self._root}/{name_import_folder(secrets.token_hex(4), table)}"
            self._folders[table] = _ImportFolder(self._store, table, path)
        self._folders[table].write_file(buffer)

    def _import_folders(self) -> None:
        """Imports all files that were written so far, unless the sink is closed before there is room."""
        if self._folders and self._await_room():
            java = jvm.java_class("watchfloor.bridge.sink.BulkFolder")
            call_java(java.load, jpype.JArray(java)([folder.java for folder in self._folders.values()]))
            self._remove_folders()

    def _remove_folders(self) -> None:
        for folder in self._folders.values():
            folder.close()
        self._folders.clear()

    def _await_room(self) -> bool:
        """Waits until no tablet of the tables has too many files. Returns false if the sink is closed first."""
        warned_at = -_WARNING_SECONDS
        while not self._closed.is_set():
            table, files = find_fullest_table(self._store, list(self._folders))
            if files <= MAX_TABLET_FILES:
                return True
            if time.monotonic() - warned_at >= _WARNING_SECONDS:
                warned_at = time.monotonic()
                log.warning("waiting: a tablet of %s has %d files, more than %d", table, files, MAX_TABLET_FILES)
            self._closed.wait(_POLL_SECONDS)
        return False


@dataclass(frozen=True)
class _TableBuffer:
    """Entries of one table that will become one file."""

    sort: _Sort
    batches: list[pa.RecordBatch] = field(default_factory=list)


class _ImportFolder:
    """Sorted files of one table that are imported together."""

    def __init__(self, store: Store, table: str, path: str) -> None:
        java = jvm.java_class("watchfloor.bridge.sink.BulkFolder")
        self.java: Any = call_java(java, store.connection.java, table, path, store.settings.durability == "sync")
        self.files = 0

    def write_file(self, buffer: _TableBuffer) -> None:
        """Writes the entries of a buffer, sorted, to a file."""
        call_java(self.java.begin)
        append = self.java.writeRows if buffer.sort is sort_rows else self.java.writeEntries
        for batch in buffer.sort(buffer.batches):
            transfer = BatchTransfer()
            call_java(append, *transfer.export_batch(batch))
        call_java(self.java.end)
        self.files += 1

    def close(self) -> None:
        call_java(self.java.close)
