"""Exports sources as they are at one moment: definitions, entries, sightings, quarantined lines and ledger rows.

    hold a moment (``moment.py``) ─▶ for each source: write events, index, counts and sightings of whole items
        ─▶ write the ledger's and the quarantine's rows ─▶ write the manifest

Ingest, queries and compactions go on meanwhile: all is read from clones. An export that failed leaves an empty folder,
one that was killed has no manifest.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from watchfloor.ingest.formats.registry import sources_of_feed
from watchfloor.ingest.records.ledger import LedgerRow, item_key
from watchfloor.schema.errors import OperatorError, UserError
from watchfloor.schema.files.paths import describe_error
from watchfloor.store.admin.format_version import FORMAT
from watchfloor.store.admin.tables import ITEMS_TABLE, QUARANTINE_TABLE, SIGHTINGS_TABLE, source_tables
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
from watchfloor.store.bridge.requests import EntryScan
from watchfloor.store.encoding.ranges import Ranges
from watchfloor.store.runtime.private_files import make_private_folder, sync_folder
from watchfloor.store.store import Store

from .moment import Moment, SourceMoment, hold_moment

ReportStep = Callable[[str], None]
"""Called with a sentence about each step that was done."""


@dataclass(frozen=True)
class Export:
    """The outcome of an export: its manifest, the bytes of its files, and the seconds until its moment was ``held``.

    ``uncovered`` is the number of items of feeds that also write to sources which are not in the export. Their events
    are in it, and their rows of the ledger are not.
    """

    manifest: Manifest
    uncovered: int
    bytes: int
    seconds: float
    held: float


def export_sources(store: Store, names: Sequence[str], folder: Path, step: ReportStep = lambda done: None) -> Export:
    """Exports sources into a new or empty folder. ``store`` is open for ingest.

    Raises ``UserError`` for a folder with files, ``UnknownSourceError``, ``OperatorError``, ``StoreError``.
    """
    began = time.monotonic()
    folder = folder.absolute()
    _make_folder(folder)
    try:
        return _write_backup(store, names, folder, began, step)
    except BaseException as error:
        for path in folder.iterdir():
            shutil.rmtree(path, ignore_errors=True)
        if isinstance(error, OSError):
            raise OperatorError(f"{folder} cannot be written: {describe_error(error)}; nothing is left there") from None
        raise


def _write_backup(store: Store, names: Sequence[str], folder: Path, began: float, step: ReportStep) -> Export:
    with hold_moment(store, names) as moment:
        held = time.monotonic() - began
        step(f"the moment is held: {len(moment.rows):,} whole work items")
        sources = {}
        for name, source in moment.sources.items():
            sources[name] = _export_source(moment, source, folder / name)
            step(f"{name}: {sources[name].events:,} events")
        rows = [row for row in moment.rows if _is_covered(row, moment)]
        records = {
            "items": write_entries(_read_items(moment, rows), folder / RECORDS / "items"),
            "quarantine": write_entries(_read_quarantine(moment, rows), folder / RECORDS / "quarantine"),
        }
    manifest = Manifest(FORMAT, version("watchfloor"), moment.at, sources, records)
    sync_folder(folder)
    write_manifest(folder, manifest)
    size = sum(file.bytes for _, table in manifest.list_tables() for file in table.files)
    return Export(manifest, len(moment.rows) - len(rows), size, time.monotonic() - began, held)


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


def _export_source(moment: Moment, source: SourceMoment, folder: Path) -> SourceBackup:
    """Writes the entries of one source."""
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
        sum_counts(store, aggregate, definition, items),
        tables,
    )


def _read_sightings(moment: Moment, source: SourceMoment) -> Iterator[pa.RecordBatch]:
    """Reads the sightings of a source and their records, without the source's name in the keys."""
    everything = Ranges.everything()
    name = source.source.name
    scan = EntryScan(moment.clones[SIGHTINGS_TABLE], everything, [find_sightings(source.source)])
    keep = keep_sightings(moment.items)
    return (rename_sightings(keep(batch), name, "") for batch in moment.store.scan(scan))


def _read_items(moment: Moment, rows: Sequence[LedgerRow]) -> Iterator[pa.RecordBatch]:
    """Reads the ledger's rows of items."""
    keys = pa.array([item_key(row.item) for row in rows if row.item is not None], pa.binary())
    ranges = Ranges()
    ranges.add_prefix(b"i")
    for batch in moment.store.scan(EntryScan(moment.clones[ITEMS_TABLE], ranges)):
        yield batch.filter(pc.is_in(batch.column("row"), value_set=keys))


def _read_quarantine(moment: Moment, rows: Sequence[LedgerRow]) -> Iterator[pa.RecordBatch]:
    """Reads the quarantined lines of items."""
    items = pa.array([row.item.item_id for row in rows if row.item is not None], pa.binary())
    everything = Ranges.everything()
    for batch in moment.store.scan(EntryScan(moment.clones[QUARANTINE_TABLE], everything, batch_rows=64)):
        yield batch.filter(pc.is_in(pc.binary_slice(batch.column("row"), 0, ITEM_BYTES), value_set=items))


def _is_covered(row: LedgerRow, moment: Moment) -> bool:
    """Returns whether all sources of the item's feed are in the export, so that it is done where that is imported."""
    if row.item is None:
        return False
    sources = sources_of_feed(row.item.feed, moment.known)
    return bool(sources) and all(source.name in moment.sources for source in sources)
