"""Entries as sorted files that Accumulo's tables take in whole: how a backfill writes (``docs/bulk.md``)."""

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
from watchfloor.store.bridge.threads import JavaThreadPool
from watchfloor.store.encoding.key_order import sort_entries, sort_rows
from watchfloor.store.store import Store

from .import_folders import import_root, name_import_folder
from .tablet_files import find_fullest_table

BUFFER_BYTES = 192 << 20
"""Bytes of entries, as they are held here, that become a file of each table. Once more as much may be on its way."""
FILES_PER_IMPORT = 4
"""Files of a table that are imported without waiting for ``flush``."""
MAX_TABLET_FILES = 30
"""Files of a tablet above which nothing more is imported: Accumulo compacts from 15 on (``table.file.max``), and cannot
read a tablet of more than 100 (``tserver.scan.files.open.max``)."""
_THREADS = 2
_POLL_SECONDS = 1.0
_WARNING_SECONDS = 30.0
_Sort = Callable[[list[pa.RecordBatch]], Iterator[pa.RecordBatch]]
log = logging.getLogger("watchfloor.bulk")


class BulkSink:
    """Takes what an ``EntrySink`` takes; it may not be in the tables before ``flush`` has returned.

    While entries gather, those before them are written to a file, and imported, by a thread of the sink's own. For one
    work item, then to be closed. Not for use by several threads at once.
    """

    def __init__(self, store: Store, check_stop: Callable[[], None]) -> None:
        """``waiting`` is called every second while files are waited for; may raise to stop."""
        self._store, self._check_stop = store, check_stop
        self._root = import_root(store.settings, store.connection)
        self._buffers: dict[str, _TableBuffer] = {}
        self._buffered_bytes = 0
        self._folders: dict[str, _ImportFolder] = {}
        self._threads = JavaThreadPool(_THREADS, "bulk")
        self._jobs: list[Future[None]] = []
        self._closed = threading.Event()

    def write_entries(self, table: str, batch: pa.RecordBatch) -> None:
        self._buffer_batch(table, batch, sort_entries)

    def write_rows(self, table: str, batch: pa.RecordBatch) -> None:
        self._buffer_batch(table, batch, sort_rows)

    def flush(self) -> None:
        """Returns when all that was written is part of its tables. Raises ``StoreError``."""
        self._await_jobs()
        self._start_jobs([partial(self._write_file, *held) for held in self._take_buffers()])
        self._await_jobs()
        self._start_jobs([self._import_folders])
        self._await_jobs()

    def close(self) -> None:
        """Drops what was not flushed; waits for an import that has begun."""
        self._closed.set()
        self._threads.shutdown(cancel_futures=True)
        self._remove_folders()

    def __enter__(self) -> BulkSink:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _buffer_batch(self, table: str, batch: pa.RecordBatch, ordered: _Sort) -> None:
        if not len(batch):
            return
        self._buffers.setdefault(table, _TableBuffer(ordered)).batches.append(batch)
        self._buffered_bytes += batch.nbytes
        if self._buffered_bytes >= BUFFER_BYTES:
            self._await_jobs()
            self._start_jobs([partial(self._write_files, self._take_buffers())])

    def _take_buffers(self) -> list[tuple[str, _TableBuffer]]:
        """What was held."""
        held, self._buffers, self._buffered_bytes = self._buffers, {}, 0
        return list(held.items())

    def _start_jobs(self, jobs: list[Callable[[], None]]) -> None:
        self._jobs = [self._threads.submit(job) for job in jobs]

    def _await_jobs(self) -> None:
        """Returns when nothing is being written; raises what went wrong there."""
        for writing in self._jobs:
            while not wait([writing], _POLL_SECONDS).done:
                self._check_stop()
            writing.result()

    # What follows is done in the sink's threads.

    def _write_files(self, all_held: list[tuple[str, _TableBuffer]]) -> None:
        for table, held in all_held:
            self._write_file(table, held)
        if max(folder.files for folder in self._folders.values()) >= FILES_PER_IMPORT:
            self._import_folders()

    def _write_file(self, table: str, held: _TableBuffer) -> None:
        if table not in self._folders:
            path = f"{self._root}/{name_import_folder(secrets.token_hex(4), table)}"
            self._folders[table] = _ImportFolder(self._store, table, path)
        self._folders[table].write_file(held)

    def _import_folders(self) -> None:
        if self._folders and self._await_room():
            java = jvm.java_class("watchfloor.bridge.sink.BulkFolder")
            call_java(java.load, jpype.JArray(java)([folder.java for folder in self._folders.values()]))
            self._remove_folders()

    def _remove_folders(self) -> None:
        for folder in self._folders.values():
            folder.close()
        self._folders.clear()

    def _await_room(self) -> bool:
        """Waits until none of the tables has a tablet of too many files; False if the sink is closed first."""
        said = -_WARNING_SECONDS
        while not self._closed.is_set():
            table, files = find_fullest_table(self._store, list(self._folders))
            if files <= MAX_TABLET_FILES:
                return True
            if time.monotonic() - said >= _WARNING_SECONDS:
                said = time.monotonic()
                log.warning("waiting: a tablet of %s has %d files, more than %d", table, files, MAX_TABLET_FILES)
            self._closed.wait(_POLL_SECONDS)
        return False


@dataclass(frozen=True)
class _TableBuffer:
    """Entries of one table that will be one file."""

    sort: _Sort
    batches: list[pa.RecordBatch] = field(default_factory=list)


class _ImportFolder:
    """Sorted files of one table that are imported together."""

    def __init__(self, store: Store, table: str, path: str) -> None:
        java = jvm.java_class("watchfloor.bridge.sink.BulkFolder")
        self.java: Any = call_java(java, store.connection.java, table, path, store.settings.durability == "sync")
        self.files = 0

    def write_file(self, held: _TableBuffer) -> None:
        call_java(self.java.begin)
        append = self.java.writeRows if held.sort is sort_rows else self.java.writeEntries
        for batch in held.sort(held.batches):
            transfer = BatchTransfer()
            call_java(append, *transfer.export_batch(batch))
        call_java(self.java.end)
        self.files += 1

    def close(self) -> None:
        call_java(self.java.close)
