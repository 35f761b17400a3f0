"""Puts the entries of a backup's source into a store, and compares what is there then with the manifest."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa

from watchfloor.schema.errors import StoreError
from watchfloor.schema.source import Source
from watchfloor.store.admin.tables import SIGHTINGS_TABLE, source_tables
from watchfloor.store.bridge.requests import EntryScan
from watchfloor.store.bridge.threads import JavaThreadPool
from watchfloor.store.bulk.bulk_sink import BulkSink
from watchfloor.store.bulk.import_files import import_files
from watchfloor.store.encoding.ranges import Ranges
from watchfloor.store.layouts.held_sources import Keep
from watchfloor.store.store import Store

from .entry_digest import EntryDigest, digest_batches
from .entry_files import read_entries, scan_shard
from .kept_entries import find_sightings, rename_sightings
from .manifest import SourceBackup, TableBackup

TABLE_KINDS = ("event", "index", "aggregate")
_THREADS = 2


def restore_source(store: Store, source: Source, backup: SourceBackup, folder: Path) -> None:
    """Imports all entries of a claimed source, which ``source`` describes, from its folder, and compares them.

    Nobody sees them before the definition is published. Raises ``StoreError``.
    """
    store.make_tables(source, backup.zones)
    store = store.seeing_all_of(source)
    for kind, table in zip(TABLE_KINDS, source_tables(source), strict=True):
        import_files(store, table, [folder / kind / file.name for file in backup.tables[kind].files])
    with BulkSink(store, lambda: None) as sink:
        for batch in read_entries(folder / "sightings", backup.tables["sightings"]):
            sink.write_entries(SIGHTINGS_TABLE, rename_sightings(batch, "", source.name))
        sink.flush()
    _compare_entries(store, source, backup)


def restore_records(
    store: Store, table: str, backup: TableBackup, folder: Path, keep: Keep = lambda batch: batch
) -> None:
    """Writes those rows of the ledger or of the quarantine durably that ``keep`` chooses. Raises ``StoreError``."""
    with store.sink() as sink:
        for batch in read_entries(folder, backup):
            sink.write_entries(table, keep(batch))
        sink.flush()


def _compare_entries(store: Store, source: Source, backup: SourceBackup) -> None:
    """Raises ``StoreError`` if the store has other entries of a source than its backup."""

    def scan(table: str, number: int) -> Callable[[], EntryDigest]:
        return lambda: digest_batches(scan_shard(store, table, number))

    with JavaThreadPool(_THREADS, "compare") as pool:
        for kind, table in zip(TABLE_KINDS, source_tables(source), strict=True):
            parts = [pool.submit(scan(table, number)) for number in range(source.shards)]
            found = sum((part.result() for part in parts), EntryDigest())
            _compare(f"{source.name}: {kind}", found, backup.tables[kind])
    _compare(f"{source.name}: sightings", digest_batches(_scan_sightings(store, source)), backup.tables["sightings"])


def _scan_sightings(store: Store, source: Source) -> Iterator[pa.RecordBatch]:
    everything = Ranges.everything()
    for batch in store.scan(EntryScan(SIGHTINGS_TABLE, everything, [find_sightings(source)])):
        yield rename_sightings(batch, source.name, "")


def _compare(place: str, found: EntryDigest, backup: TableBackup) -> None:
    if (found.entries, found.to_hex()) != (backup.entries, backup.digest):
        have, wanted = (
            f"{entries:,} entries (digest {digest})"
            for entries, digest in ((found.entries, found.to_hex()), (backup.entries, backup.digest))
        )
        raise StoreError(f"{place}: the store has {have} after the import, the backup {wanted}: nothing of it is shown")
