"""Lists and saved searches in a backup of all sources: the entries of their tables, and back into a store.

Of a list the newest version is exported. A list or a search that the store has already stays if its content is the
same; otherwise the import is refused before it changes anything.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from watchfloor.schema.errors import UserError
from watchfloor.schema.text import list_names
from watchfloor.schema.visibility.expressions import list_labels
from watchfloor.store.admin.labels import read_user_labels
from watchfloor.store.admin.tables import LISTS_TABLE, SEARCHES_TABLE
from watchfloor.store.bridge.requests import EntryScan
from watchfloor.store.encoding.ranges import Ranges
from watchfloor.store.reader import Reader
from watchfloor.store.store import Store
from watchfloor.store.value_lists import StoredList, make_list_row, read_lists

from .entry_digest import EntryDigest, digest_batches
from .entry_files import COLUMNS, read_entries
from .manifest import RECORDS, Manifest

SAVED_TABLES = {"lists": LISTS_TABLE, "searches": SEARCHES_TABLE}
"""The tables by the names of their records in a backup."""
_HEADS = make_list_row("")
_FEW_CELLS = 8
"""Entries in a batch of a scan for the values of lists: a cell has up to a megabyte."""


@dataclass(frozen=True)
class SavedRows:
    """The rows of the lists' and the searches' tables that an import writes, by the names of their records.

    Those by which readers find a list come last. ``labels`` are those of the lists.
    """

    rows: dict[str, tuple[pa.BinaryArray, ...]]
    labels: frozenset[str]


def read_saved(store: Store, kind: str, table: str) -> Iterator[pa.RecordBatch]:
    """Reads the entries to export of the lists or the searches, which are in ``table``."""
    reader = _see_all(store)
    if kind != "lists":
        yield from reader.scan(EntryScan(table, Ranges.everything()))
        return
    ranges = Ranges()
    ranges.add_prefix(_HEADS)
    newest: dict[bytes, pa.RecordBatch] = {}
    for batch in reader.scan(EntryScan(table, ranges)):
        for number, row in enumerate(batch.column("row").to_pylist()):
            newest[row] = batch.slice(number, 1)
    yield from newest.values()
    for entry in newest.values():
        yield from _scan_values(reader, table, _parse_head(entry.column("value")[0].as_py()))


def choose_saved(store: Store, folder: Path, manifest: Manifest) -> SavedRows:
    """Returns what an import writes: what the store does not have yet.

    Raises ``UserError`` if it has a list or a search of the same name with another content.
    """
    if not SAVED_TABLES.keys() <= manifest.records.keys():
        return SavedRows({}, frozenset())
    try:
        lists, labels = _choose_lists(store, folder / RECORDS / "lists", manifest)
        searches = _choose_searches(store, folder / RECORDS / "searches", manifest)
    except (ValueError, TypeError, KeyError, AttributeError):
        raise UserError(f"{folder}: its lists or searches cannot be read: take another copy of the backup") from None
    return SavedRows({"lists": lists, "searches": searches}, labels)


def restore_saved(store: Store, folder: Path, manifest: Manifest, chosen: SavedRows) -> None:
    """Writes lists and searches durably. Raises ``StoreError``."""
    store.grant_labels(set(chosen.labels))
    with store.sink() as sink:
        for kind, parts in chosen.rows.items():
            for rows in parts:
                for batch in read_entries(folder / RECORDS / kind, manifest.records[kind]):
                    sink.write_entries(SAVED_TABLES[kind], batch.filter(pc.is_in(batch.column("row"), value_set=rows)))
                sink.flush()


def _choose_lists(
    store: Store, folder: Path, manifest: Manifest
) -> tuple[tuple[pa.BinaryArray, pa.BinaryArray], frozenset[str]]:
    """Returns the rows with the values of lists, and those of the lists themselves; and the lists' labels."""
    backup = manifest.records["lists"]
    heads = {head.name: head for batch in read_entries(folder, backup) for head in _parse_heads(batch)}
    reader = _see_all(store)
    known = {name: versions[0] for name, versions in read_lists(reader).items()}
    others = []
    for name in sorted(heads.keys() & known.keys()):
        own = (
            batch.filter(pc.equal(batch.column("row"), heads[name].values_row))
            for batch in read_entries(folder, backup)
        )
        there = _scan_values(reader, LISTS_TABLE, known[name])
        if _drop_version(heads[name]) != _drop_version(known[name]) or _digest_values(own) != _digest_values(there):
            others.append(f"the list {name}")
    _refuse_differing(others, "watchfloor lists remove NAME")
    new = [heads[name] for name in sorted(heads.keys() - known.keys())]
    rows = ([head.values_row for head in new], [head.row for head in new])
    values, found = (pa.array(some, pa.binary()) for some in rows)
    return (values, found), frozenset(label for head in new for label in list_labels(head.label))


def _choose_searches(store: Store, folder: Path, manifest: Manifest) -> tuple[pa.BinaryArray]:
    """Returns the rows of searches."""
    known = _parse_searches(store.scan(EntryScan(SEARCHES_TABLE, Ranges.everything())))
    found = _parse_searches(read_entries(folder, manifest.records["searches"]))
    others = [row for row in sorted(found.keys() & known.keys()) if found[row] != known[row]]
    _refuse_differing([_name_search(row) for row in others], "DELETE /api/v1/searches/NAME")
    return (pa.array(sorted(found.keys() - known.keys()), pa.binary()),)


def _refuse_differing(others: list[str], remedy: str) -> None:
    if others:
        raise UserError(
            f"{list_names(others)}: there already with another content; rename or remove it ({remedy}), "
            "and import again"
        )


def _see_all(store: Store) -> Store:
    """Returns the store as it is seen with all labels that its user has."""
    return store.with_authorizations(read_user_labels(store.connection, store.user))


def _scan_values(reader: Reader, table: str, head: StoredList) -> Iterator[pa.RecordBatch]:
    ranges = Ranges()
    ranges.add_row(head.values_row)
    return reader.scan(EntryScan(table, ranges, batch_rows=_FEW_CELLS))


def _parse_heads(batch: pa.RecordBatch) -> Iterator[StoredList]:
    heads = batch.filter(pc.starts_with(batch.column("row"), _HEADS))
    for row, value in zip(heads.column("row").to_pylist(), heads.column("value").to_pylist(), strict=True):
        head = _parse_head(value)
        if head.row != row:
            raise ValueError(row)
        yield head


def _parse_head(value: bytes) -> StoredList:
    return StoredList(**json.loads(value))


def _drop_version(head: StoredList) -> StoredList:
    """Returns what two lists of the same content have in common but for their values."""
    return replace(head, version=0, upload="")


def _digest_values(batches: Iterable[pa.RecordBatch]) -> EntryDigest:
    """Returns the digest of the values of a list, in whichever row they are."""
    return digest_batches(
        pa.RecordBatch.from_arrays([pa.array([b""] * len(batch), pa.binary()), *batch.select(COLUMNS[1:])], COLUMNS)
        for batch in batches
    )


def _parse_searches(batches: Iterable[pa.RecordBatch]) -> dict[bytes, object]:
    return {
        row: json.loads(value)["search"]
        for batch in batches
        for row, value in zip(batch.column("row").to_pylist(), batch.column("value").to_pylist(), strict=True)
    }


def _name_search(row: bytes) -> str:
    owner, _, name = row.decode().partition("\0")
    return f"the search {name!r} of {owner}"
