"""Exports sources as they are at one moment: definitions, entries, sightings, quarantined lines and ledger rows.

    hold a moment (``moment.py``) ─▶ for each source: write events, index, counts and sightings of whole items
        ─▶ write the ledger's and the quarantine's rows ─▶ write the manifest

Ingest, queries and compactions go on meanwhile: all is read from clones. An export that failed leaves an empty folder,
one that was killed has no manifest.
"""

from __future__ import annotations

import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from watchfloor.ingest.records.ledger import LedgerRow, item_key
from watchfloor.ingest.records.long_files import FILE_ID_OF_LONG, LONG_FILE
from watchfloor.schema.errors import OperatorError, UserError
from watchfloor.schema.files.paths import describe_error
from watchfloor.store.admin.format_version import FORMAT
from watchfloor.store.admin.tables import (
    ITEMS_TABLE,
    QUARANTINE_TABLE,
    SIGHTINGS_TABLE,
    have_zones,
    source_tables,
)
from watchfloor.store.backup.entry_files import write_entries, write_table
from watchfloor.store.backup.kept_entries import (
    ITEM_BYTES,
    find_sightings,
    keep_counts,
    keep_sightings,
    rename_sightings,
    sum_counts,
)
from watchfloor.store.backup.manifest import RECORDS, Manifest, SourceBackup, write_manifest
from watchfloor.store.backup.restore import TABLE_KINDS
from watchfloor.store.backup.saved import SAVED_TABLES, read_saved
from watchfloor.store.bridge.requests import EntryScan
from watchfloor.store.encoding.keys import aggregate_table
from watchfloor.store.encoding.ranges import Ranges
from watchfloor.store.runtime.private_files import make_private_folder, sync_folder
from watchfloor.store.store import Store

from .exported_items import ExportedItems, choose_items, make_partial_ends
from .moment import Moment, SourceMoment, hold_moment

ReportStep = Callable[[str], None]
"""Called with a sentence about each step that was done."""


@dataclass(frozen=True)
class Export:
    """The outcome of an export: its manifest, the bytes of its files, and the seconds until its moment was ``held``.

    ``partial`` and ``untold`` are the numbers of items of which only a part of the events is in it: where it is
    imported the ledger says so of the ``partial`` ones, and knows nothing of the ``untold`` ones.
    """

    manifest: Manifest
    partial: int
    untold: int
    bytes: int
    seconds: float
    held: float


def export_sources(
    store: Store, names: Sequence[str], folder: Path, step: ReportStep = lambda done: None, saved: bool = False
) -> Export:
    """Exports sources into a new or empty folder, with ``saved`` lists and searches too. ``store`` is open for ingest.

    Raises ``UserError`` for a folder with files, ``UnknownSourceError``, ``OperatorError``, ``StoreError``.
    """
    folder = folder.absolute()
    _make_folder(folder)
    try:
        return _write_backup(store, names, folder, step, saved)
    except BaseException as error:
        for path in folder.iterdir():
            shutil.rmtree(path, ignore_errors=True)
        if isinstance(error, OSError):
            raise OperatorError(f"{folder} cannot be written: {describe_error(error)}; nothing is left there") from None
        raise


def _write_backup(store: Store, names: Sequence[str], folder: Path, step: ReportStep, saved: bool) -> Export:
    began = time.monotonic()
    with hold_moment(store, names, list(SAVED_TABLES.values()) if saved else ()) as moment:
        held = time.monotonic() - began
        step(f"the moment is held: {len(moment.rows):,} whole work items")
        sources = {}
        counts: Counter[bytes] = Counter()
        for name, source in moment.sources.items():
            own = sum_counts(moment.store, moment.clones[aggregate_table(source.source)], source.source, moment.items)
            sources[name] = _export_source(moment, source, sum(own.values()), folder / name)
            counts.update(own)
            step(f"{name}: {sources[name].events:,} events")
        items = choose_items(moment.rows, moment.known, moment.sources, moment.claims, counts)
        records = {
            "items": write_entries(_read_items(moment, items), folder / RECORDS / "items"),
            "quarantine": write_entries(_read_quarantine(moment, items.all), folder / RECORDS / "quarantine"),
        }
        for kind, table in SAVED_TABLES.items() if saved else ():
            records[kind] = write_entries(read_saved(store, kind, moment.clones[table]), folder / RECORDS / kind)
    manifest = Manifest(FORMAT, version("watchfloor"), moment.at, sources, records)
    sync_folder(folder)
    write_manifest(folder, manifest)
    size = sum(file.bytes for _, table in manifest.list_tables() for file in table.files)
    return Export(manifest, len(items.some), items.untold, size, time.monotonic() - began, held)


def _make_folder(folder: Path) -> None:
    """Makes the folder of an export, which its owner alone can enter."""
    try:
        make_private_folder(folder)
        if any(folder.iterdir()):
            raise UserError(f"{folder} is not empty: name a new folder, or remove what is there")
        folder.chmod(0o700)
        free = shutil.disk_usage(folder).free
    except OSError as error:
        raise UserError(f"{folder} cannot be made: {describe_error(error)}") from None
    if free < 64 << 20:
        raise UserError(f"{folder}: only {free:,} bytes are free there: name a folder with more room")


def _export_source(moment: Moment, source: SourceMoment, events: int, folder: Path) -> SourceBackup:
    """Writes the entries of one source, which has so many events."""
    definition, store, items = source.source, moment.store, moment.items
    event, index, aggregate = (moment.clones[table] for table in source_tables(definition))
    tables = {
        kind: write_table(store, clone, definition.shards, keep, folder / kind)
        for kind, clone, keep in zip(
            TABLE_KINDS, (event, index, aggregate), (*source.keeps, keep_counts(items)), strict=True
        )
    }
    tables["sightings"] = write_entries(_read_sightings(moment, source), folder / "sightings")
    policy = source.policy
    return SourceBackup(
        definition.definition,
        policy.keep,
        policy.removed_before,
        source.epoch,
        events,
        tables,
        have_zones(store.connection, event),
    )


def _read_sightings(moment: Moment, source: SourceMoment) -> Iterator[pa.RecordBatch]:
    """Reads the sightings of a source and their records, without the source's name in the keys."""
    everything = Ranges.everything()
    name = source.source.name
    scan = EntryScan(moment.clones[SIGHTINGS_TABLE], everything, [find_sightings(source.source)])
    keep = keep_sightings(moment.items)
    return (rename_sightings(keep(batch), name, "") for batch in moment.store.scan(scan))


def _read_items(moment: Moment, items: ExportedItems) -> Iterator[pa.RecordBatch]:
    """Reads the ledger's rows of items, and of long files; items in part have failed where they are imported."""
    every, some = (
        pa.array([item_key(row.item) for row in rows if row.item is not None], pa.binary())
        for rows in (items.all, items.some)
    )
    files = pa.array(sorted({row.item.file_id for row in (*items.all, *items.some) if row.item}), pa.binary())
    ranges = Ranges()
    ranges.add_prefix(b"i")
    ranges.add_prefix(LONG_FILE)
    for batch in moment.store.scan(EntryScan(moment.clones[ITEMS_TABLE], ranges)):
        rows, has_ended = batch.column("row"), pc.equal(batch.column("qualifier"), b"end")
        is_open = pc.and_not(pc.is_in(rows, value_set=some), has_ended)
        is_file = pc.is_in(pc.binary_slice(rows, *FILE_ID_OF_LONG), value_set=files)
        yield batch.filter(pc.or_(pc.or_(pc.is_in(rows, value_set=every), is_open), is_file))
    yield make_partial_ends(items.some, moment.sources)


def _read_quarantine(moment: Moment, rows: Sequence[LedgerRow]) -> Iterator[pa.RecordBatch]:
    """Reads the quarantined lines of items."""
    items = pa.array([row.item.item_id for row in rows if row.item is not None], pa.binary())
    everything = Ranges.everything()
    for batch in moment.store.scan(EntryScan(moment.clones[QUARANTINE_TABLE], everything, batch_rows=64)):
        yield batch.filter(pc.is_in(pc.binary_slice(batch.column("row"), 0, ITEM_BYTES), value_set=items))
