"""Reads the files of tablets from Accumulo's metadata table, which every user may read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from watchfloor.schema.source import Source
from watchfloor.store.admin.tables import read_table_ids, source_tables
from watchfloor.store.bridge.requests import EntryScan
from watchfloor.store.encoding.ranges import Ranges
from watchfloor.store.store import Store

_METADATA = "accumulo.metadata"


@dataclass(frozen=True)
class TableFiles:
    """The size of a table's files: ``bytes`` on disk and ``entries``. An entry that was written twice counts twice."""

    bytes: int
    entries: int


def read_table_files(store: Store, source: Source) -> dict[str, TableFiles]:
    """Returns the size of the files of a source's tables, by ``event``, ``index`` and ``aggregate``."""
    sizes = {}
    for table in source_tables(source):
        files = [file for _, _, file in _list_files(store, table)]
        sizes[table.rpartition(".")[2]] = TableFiles(sum(f.bytes for f in files), sum(f.entries for f in files))
    return sizes


def find_fullest_table(store: Store, tables: Sequence[str]) -> tuple[str, int]:
    """Returns the table among ``tables`` that has the tablet with the most files, and the number of these files."""
    fullest = "", 0
    for table in tables:
        tablets = Counter(tablet for tablet, _, _ in _list_files(store, table))
        fullest = max(fullest, (table, max(tablets.values(), default=0)), key=lambda candidate: candidate[1])
    return fullest


def list_file_names(store: Store, source: Source) -> set[bytes]:
    """Returns the names of the files of a source's tables, as they are in the metadata table."""
    return {name for table in source_tables(source) for _, name, _ in _list_files(store, table)}


def _list_files(store: Store, table: str) -> Iterator[tuple[bytes, bytes, TableFiles]]:
    """Yields each file of a table: its tablet's row in the metadata table, its name, and its size.

    A file that two tablets share comes once with each.
    """
    table_id = read_table_ids(store.connection).get(table)
    rows_of_table = Ranges()
    # A tablet's row is ID;END or, for the last one, ID<.
    rows_of_table.add_rows(f"{table_id};".encode(), f"{table_id}=".encode())
    for batch in store.scan(EntryScan(_METADATA, rows_of_table)):
        columns = (batch.column(name).to_pylist() for name in ("row", "family", "qualifier", "value"))
        for row, family, name, value in zip(*columns, strict=True):
            if family == b"file":
                size, entries, *_ = value.split(b",")
                yield row, name, TableFiles(int(size), int(entries))
