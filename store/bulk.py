"""Entries as sorted files that Accumulo's tables take in whole: how a backfill writes (``docs/bulk.md``)."""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any

import jpype
import pyarrow as pa

from . import jvm
from .bridge import _Handover, _java
from .bulk_folders import folder_name, folder_root
from .key_order import sorted_entries, sorted_rows
from .store import Store
from .tablet_files import most_files

FILE_BYTES = 64 << 20
"""Bytes of a table's entries, as they are held here, that become one file."""
FILES_AT_ONCE = 4
"""Files of a table that are imported without waiting for ``flush``."""
MOST_FILES = 30
"""Files of a tablet above which nothing more is imported: Accumulo compacts from 15 on (``table.file.max``), and cannot
read a tablet of more than 100 (``tserver.scan.files.open.max``)."""
_LOOK_SECONDS = 1.0
_SAY_SECONDS = 30.0
log = logging.getLogger("watchfloor.bulk")


class BulkSink:
    """Takes what an ``EntrySink`` takes; it may not be in the tables before ``flush`` has returned.

    For one work item, then to be closed. Not for use by several threads at once.
    """

    def __init__(self, store: Store, waiting: Callable[[], None]) -> None:
        """``waiting`` is called every second while tablets have too many files; may raise to stop."""
        self._store, self._waiting = store, waiting
        self._root = folder_root(store.settings, store.connection)
        self._tables: dict[str, _Files] = {}

    def write_entries(self, table: str, batch: pa.RecordBatch) -> None:
        self._hold(table, batch, wide=False)

    def write_rows(self, table: str, batch: pa.RecordBatch) -> None:
        self._hold(table, batch, wide=True)

    def flush(self) -> None:
        """Returns when all that was written is part of its tables. Raises ``StoreError``."""
        for files in self._tables.values():
            files.write()
        self._wait_for_room()
        java = jvm.java_class("watchfloor.bridge.BulkFolder")
        _java(java.load, jpype.JArray(java)([files.folder for files in self._tables.values()]))
        self.close()

    def close(self) -> None:
        """Drops what was not flushed."""
        for files in self._tables.values():
            files.close()
        self._tables.clear()

    def __enter__(self) -> BulkSink:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _hold(self, table: str, batch: pa.RecordBatch, wide: bool) -> None:
        if not len(batch):
            return
        files = self._tables.get(table)
        if files is None:
            path = f"{self._root}/{folder_name(secrets.token_hex(4), table)}"
            files = self._tables[table] = _Files(self._store, table, path, wide)
        files.hold(batch)
        if files.written == FILES_AT_ONCE:
            self.flush()

    def _wait_for_room(self) -> None:
        said = -_SAY_SECONDS
        while True:
            table, files = most_files(self._store, list(self._tables))
            if files <= MOST_FILES:
                return
            if time.monotonic() - said >= _SAY_SECONDS:
                said = time.monotonic()
                log.warning("waiting: a tablet of %s has %d files, more than %d", table, files, MOST_FILES)
            self._waiting()
            time.sleep(_LOOK_SECONDS)


class _Files:
    """The entries of one table: held, and written as a sorted file when they are many."""

    def __init__(self, store: Store, table: str, path: str, wide: bool) -> None:
        java = jvm.java_class("watchfloor.bridge.BulkFolder")
        self.folder: Any = _java(java, store.connection.java, table, path, store.settings.durability == "sync")
        self.written = 0
        self._wide = wide
        self._held: list[pa.RecordBatch] = []
        self._bytes = 0

    def hold(self, batch: pa.RecordBatch) -> None:
        self._held.append(batch)
        self._bytes += batch.nbytes
        if self._bytes >= FILE_BYTES:
            self.write()

    def write(self) -> None:
        """Writes what is held, if anything, as one file."""
        held, self._held, self._bytes = self._held, [], 0
        if not held:
            return
        _java(self.folder.begin)
        append = self.folder.writeRows if self._wide else self.folder.writeEntries
        for batch in sorted_rows(held) if self._wide else sorted_entries(held):
            handover = _Handover()
            _java(append, *handover.give(batch))
        _java(self.folder.end)
        self.written += 1

    def close(self) -> None:
        _java(self.folder.close)
