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

from watchfloor.schema.definition import parse_definition
from watchfloor.schema.errors import UserError
from watchfloor.schema.source import Source
from watchfloor.store.admin.tables import ITEMS_TABLE, QUARANTINE_TABLE, drop_source
from watchfloor.store.backup.import_claim import claim_source, publish_source, release_source
from watchfloor.store.backup.manifest import RECORDS, Manifest, check_files, read_manifest
from watchfloor.store.backup.restore import restore_records, restore_source
from watchfloor.store.store import Store

from .export import ReportStep


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
    ``DefinitionError``, ``OperatorError``, ``StoreError``.
    """
    began = time.monotonic()
    folder = folder.absolute()
    manifest, digest = read_manifest(folder)
    sources = _name_sources(manifest, new_name)
    check_files(folder, manifest)
    step(f"{len(list(manifest.list_tables()))} tables are as they were exported")
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
    if new_name is None:
        # A worker that finds a done item reads no line of it: so the ledger comes last.
        for table, kind in ((QUARANTINE_TABLE, "quarantine"), (ITEMS_TABLE, "items")):
            restore_records(store, table, manifest.records[kind], folder / RECORDS / kind)
    for source in sources.values():
        release_source(store, source)
    size = sum(file.bytes for _, table in manifest.list_tables() for file in table.files)
    events = {source.name: manifest.sources[old].events for old, source in sources.items()}
    return Import(events, size, time.monotonic() - began)


def _name_sources(manifest: Manifest, new_name: str | None) -> dict[str, Source]:
    """Returns the sources as they will be, by their names in the backup."""
    if new_name is None:
        return {name: backup.source for name, backup in manifest.sources.items()}
    if len(manifest.sources) > 1:
        raise UserError(f"--as is for a backup of one source; this one has {', '.join(sorted(manifest.sources))}")
    ((old, backup),) = manifest.sources.items()
    return {old: parse_definition({**backup.definition, "name": new_name}, "--as")}
