"""Writes entries of clones to the files of a backup: sorted files of Accumulo (RFiles), and Parquet files."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from watchfloor.store.bridge import jvm
from watchfloor.store.bridge.call import BatchTransfer, call_java
from watchfloor.store.bridge.requests import EntryScan
from watchfloor.store.bridge.threads import JavaThreadPool
from watchfloor.store.encoding.keys import shard_names
from watchfloor.store.encoding.ranges import Ranges
from watchfloor.store.layouts.held_sources import Keep
from watchfloor.store.runtime.private_files import make_private_folder, open_private, sync_folder
from watchfloor.store.store import Store

from .entry_digest import DigestCounter, EntryDigest
from .manifest import BackupFile, TableBackup, describe_file

COLUMNS = ("row", "family", "qualifier", "visibility", "value")
_SCHEMA = pa.schema([pa.field(name, pa.binary(), nullable=False) for name in COLUMNS])
_THREADS = 2
_BATCH_ROWS = 1024
"""Entries of a batch: one may be a vector of some hundred kilobytes."""
_PARQUET = "0000.parquet"


def write_table(store: Store, clone: str, shards: int, keep: Keep, folder: Path) -> TableBackup:
    """Writes the entries of a clone that are kept, a file for each shard that has some. Raises ``StoreError``."""
    make_private_folder(folder)
    stopped = threading.Event()

    def write(number: int) -> tuple[EntryDigest, BackupFile | None]:
        try:
            return _write_shard(store, clone, number, keep, folder, stopped)
        except BaseException:
            stopped.set()
            raise

    with JavaThreadPool(_THREADS, "backup") as pool:
        parts = list(pool.map(write, range(shards)))
    sync_folder(folder)
    digest = sum((part for part, _ in parts), EntryDigest())
    return TableBackup(digest.entries, digest.to_hex(), tuple(file for _, file in parts if file is not None))


def write_entries(batches: Iterable[pa.RecordBatch], folder: Path) -> TableBackup:
    """Writes entries to a Parquet file."""
    make_private_folder(folder)
    counter, path = DigestCounter(), folder / _PARQUET
    with open_private(path, "wb") as file, pq.ParquetWriter(file, _SCHEMA, compression="zstd") as writer:
        for batch in batches:
            plain = batch.select(COLUMNS).cast(_SCHEMA)
            counter.add(plain)
            writer.write_batch(plain)
    sync_folder(folder)
    return TableBackup(counter.digest.entries, counter.digest.to_hex(), (describe_file(path, durable=True),))


def read_entries(folder: Path, table: TableBackup) -> Iterator[pa.RecordBatch]:
    """Reads the entries of Parquet files."""
    for described in table.files:
        with pq.ParquetFile(folder / described.name) as file:
            yield from file.iter_batches(_BATCH_ROWS)


def scan_shard(store: Store, table: str, number: int) -> Iterator[pa.RecordBatch]:
    """Reads the entries of a table's shard in the order of their keys."""
    names = [b"", *shard_names(number + 2)[1:]]
    ranges = Ranges()
    ranges.add_rows(names[number], names[number + 1])
    return store.scan(EntryScan(table, ranges, batch_rows=_BATCH_ROWS))


def _write_shard(
    store: Store, clone: str, number: int, keep: Keep, folder: Path, stopped: threading.Event
) -> tuple[EntryDigest, BackupFile | None]:
    """Writes the entries of one shard that are kept. Returns their digest and their file; None if there are none."""
    counter, writer = DigestCounter(), _SortedFile(store, clone, folder, number)
    for batch in scan_shard(store, clone, number):
        if stopped.is_set():
            break
        kept = keep(batch)
        if len(kept):
            counter.add(kept)
            writer.write(kept)
    return counter.digest, writer.finish()


class _SortedFile:
    """One RFile of a table's entries, which is made when it gets the first."""

    def __init__(self, store: Store, table: str, folder: Path, number: int) -> None:
        self._store, self._table, self._folder, self._number = store, table, folder, number
        self._java: Any = None

    def write(self, batch: pa.RecordBatch) -> None:
        """Appends entries, whose keys come after those of the batches before."""
        if self._java is None:
            java = jvm.java_class("watchfloor.bridge.sink.BulkFolder")
            path = f"file://{self._folder}/{self._number:04d}"
            self._java = call_java(java, self._store.connection.java, self._table, path, False)
            call_java(self._java.begin)
        transfer = BatchTransfer()
        call_java(self._java.writeEntries, *transfer.export_batch(batch))

    def finish(self) -> BackupFile | None:
        """Completes the file durably; returns its description, None if it has no entries."""
        if self._java is None:
            return None
        call_java(self._java.end)
        made = self._folder / f"{self._number:04d}"
        path = self._folder / f"{self._number:04d}.rf"
        (made / "000000.rf").rename(path)
        call_java(self._java.close)
        return describe_file(path, durable=True)
