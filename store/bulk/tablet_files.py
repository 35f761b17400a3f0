"""The files of tablets, from Accumulo's metadata table, which every user may read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from watchfloor.schema.source import Source
from watchfloor.store.admin.tables import source_tables
from watchfloor.store.bridge.requests import EntryScan
from watchfloor.store.encoding.ranges import Ranges
from watchfloor.store.store import Store

_METADATA = "accumulo.metadata"


@dataclass(frozen=True)
class TableFiles:
    """What the files of a table hold: ``bytes`` on the disk and ``entries``, those written again counted again."""

    bytes: int
    entries: int


def read_table_files(store: Store, source: Source) -> dict[str, TableFiles]:
    """What the files of a source's tables hold, by ``event``, ``index`` and ``aggregate``."""
    found = {}
    for table in source_tables(source):
        files = [file for _, _, file in _list_files(store, table)]
        found[table.rpartition(".")[2]] = TableFiles(sum(f.bytes for f in files), sum(f.entries for f in files))
    return found


def find_fullest_table(store: Store, tables: Sequence[str]) -> tuple[str, int]:
    """The table, among those named, that has the tablet with the most files, and how many these are."""
    most = "", 0
    for table in tables:
        tablets = Counter(tablet for tablet, _, _ in _list_files(store, table))
        most = max(most, (table, max(tablets.values(), default=0)), key=lambda found: found[1])
    return most


def list_file_names(store: Store, source: Source) -> set[bytes]:
    """The files of a source's tables, as the metadata table names them."""
    return {name for table in source_tables(source) for _, name, _ in _list_files(store, table)}


def _list_files(store: Store, table: str) -> Iterator[tuple[bytes, bytes, TableFiles]]:
    """Each file of a table: its tablet's row in the metadata, its name, and what it holds. One that two tablets share
    comes with both."""
    table_id = store.connection.client.tableOperations().tableIdMap().get(table)
    own = Ranges()
    # A tablet's row is ID;END or, for the last one, ID<.
    own.add_rows(f"{table_id};".encode(), f"{table_id}=".encode())
    for batch in store.scan(EntryScan(_METADATA, own)):
        columns = (batch.column(name).to_pylist() for name in ("row", "family", "qualifier", "value"))
        for row, family, name, value in zip(*columns, strict=True):
            if family == b"file":
                size, entries, *_ = value.split(b",")
                yield row, name, TableFiles(int(size), int(entries))
