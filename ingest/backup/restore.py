"""Imports sources from a backup that ``watchfloor export`` wrote.

    read and check manifest and files ─▶ claim each source ─▶ import its entries and compare them ─▶ publish all
        ─▶ write the quarantine's and the ledger's rows ─▶ remove the claims

Nothing is changed before all files were checked. A source appears at one moment. An import that broke off is begun
again by the same command; what it left is not seen, and is removed then.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from watchfloor.ingest.queue.item import FILE_ID_BYTES
from watchfloor.ingest.records.ledger import Ledger, item_key
from watchfloor.ingest.records.long_files import LongFiles
from watchfloor.ingest.records.old_files import OldFiles
from watchfloor.schema.definition import parse_definition
from watchfloor.schema.errors import UserError
from watchfloor.schema.source import Source
from watchfloor.store.admin.tables import ITEMS_TABLE, QUARANTINE_TABLE, drop_source
from watchfloor.store.backup.entry_files import read_entries
from watchfloor.store.backup.import_claim import claim_source, publish_source, release_source
from watchfloor.store.backup.manifest import RECORDS, Manifest, TableBackup, check_files, read_manifest
from watchfloor.store.backup.restore import restore_records, restore_source
from watchfloor.store.backup.saved import choose_saved, restore_saved
from watchfloor.store.layouts.held_sources import Keep
from watchfloor.store.store import Store

from .export import ReportStep

_FAILED = b'"state":"failed"'
"""The part of a cell that ends an item which has failed. In a text within the cell each quote has a backslash."""


@dataclass(frozen=True)
class Import:
    """The outcome of an import: the imported sources with their numbers of events, and its cost."""

    events: dict[str, int]
    bytes: int
    seconds: float


def import_sources(
    store: Store, folder: Path, new_name: str | None = None, step: ReportStep = lambda done: None
) -> Import:
    """Imports all sources of a backup; the only one under ``new_name`` if that is given.

    A source under another name has no rows in ledger and quarantine: these belong to its feed. ``store`` is open for
    ingest. Raises ``UserError`` for a backup that is not whole, was changed, or has a source that exists;
    ``DefinitionError``, ``NoRoomError``, ``OperatorError``, ``StoreError``.
    """
    began = time.monotonic()
    folder = folder.absolute()
    manifest, digest = read_manifest(folder)
    sources = _name_sources(manifest, new_name)
    size = sum(file.bytes for _, table in manifest.list_tables() for file in table.files)
    store.check_room(size)
    check_files(folder, manifest)
    step(f"{len(list(manifest.list_tables()))} tables are as they were exported")
    saved = None if new_name is not None else choose_saved(store, folder, manifest)
    claimed: dict[str, Source] = {}
    try:
        for old, source in sources.items():
            if claim_source(store, source, digest):
                claimed[old] = source
        for old, source in claimed.items():
            restore_source(store, source, manifest.sources[old], folder / old)
            step(f"{source.name}: {manifest.sources[old].events:,} events")
    except BaseException:
        for source in claimed.values():
            drop_source(store.connection, source)
        raise
    for old, source in claimed.items():
        publish_source(store, source, manifest.sources[old])
    if saved is not None:
        restore_saved(store, folder, manifest, saved)
        # A worker that finds a done item reads no line of it: so the ledger comes last.
        quarantine, items = (manifest.records[kind] for kind in ("quarantine", "items"))
        restore_records(store, QUARANTINE_TABLE, quarantine, folder / RECORDS / "quarantine")
        keep = _spare_done(store, items, folder / RECORDS / "items")
        restore_records(store, ITEMS_TABLE, items, folder / RECORDS / "items", keep)
        OldFiles(store).index()
        LongFiles(store).index()
    for source in sources.values():
        release_source(store, source)
    events = {source.name: manifest.sources[old].events for old, source in sources.items()}
    return Import(events, size, time.monotonic() - began)


def _spare_done(store: Store, backup: TableBackup, folder: Path) -> Keep:
    """Leaves out the rows of failed items that the ledger calls done: the store has all of their events already."""
    failed: set[bytes] = set()
    for batch in read_entries(folder, backup):
        has_failed = pc.and_(
            pc.equal(batch.column("qualifier"), b"end"), pc.match_substring(batch.column("value"), _FAILED)
        )
        failed.update(batch.column("row").filter(has_failed).to_pylist())
    files = {key[1 : 1 + FILE_ID_BYTES] for key in failed}
    rows = Ledger(store).read_files(files) if files else ()
    done = {item_key(row.item) for row in rows if row.item is not None and row.state == "done"}
    spared = pa.array(sorted(done & failed), pa.binary())
    return lambda batch: batch.filter(pc.invert(pc.is_in(batch.column("row"), value_set=spared)))


def _name_sources(manifest: Manifest, new_name: str | None) -> dict[str, Source]:
    """Returns the sources as they will be, by their names in the backup."""
    if new_name is None:
        return {name: backup.source for name, backup in manifest.sources.items()}
    if len(manifest.sources) > 1:
        raise UserError(f"--as is for a backup of one source; this one has {', '.join(sorted(manifest.sources))}")
    ((old, backup),) = manifest.sources.items()
    return {old: parse_definition({**backup.definition, "name": new_name}, "--as")}
