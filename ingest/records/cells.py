"""Reads and writes small rows of the instance's own tables: a row is a few cells, each a qualifier and its bytes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa

from watchfloor.store.bridge.requests import EntryScan
from watchfloor.store.bridge.sinks import EntrySink
from watchfloor.store.encoding.ranges import Ranges, prefix_end
from watchfloor.store.store import Store

Cells = dict[str, bytes]
"""The values of a row's cells by qualifier; that of a cell with a visibility is followed by a space and the visibility.
"""
Put = tuple[bytes, str, bytes]
"""A row, a qualifier, a value."""

_BATCH_BYTES = 4 << 20


def read_rows(store: Store, table: str, ranges: Iterable[tuple[bytes, bytes | None]]) -> Iterator[tuple[bytes, Cells]]:
    """Reads the rows in the ranges [start, end), in order within a range. Raises ``StoreError``."""
    scanned = Ranges()
    for start, end in ranges:
        scanned.add_rows(start, end)
    current: bytes | None = None
    cells: Cells = {}
    # Few entries a batch: a cell of the quarantine may be a megabyte.
    for batch in store.scan(EntryScan(table, scanned, batch_rows=64)):
        columns = (batch.column(name).to_pylist() for name in ("row", "qualifier", "visibility", "value"))
        for row, qualifier, visibility, value in zip(*columns, strict=True):
            if row != current:
                if current is not None:
                    yield current, cells
                current, cells = row, {}
            cells[name_cell(qualifier.decode(), visibility.decode())] = value
    if current is not None:
        yield current, cells


def read_prefix(store: Store, table: str, prefix: bytes) -> Iterator[tuple[bytes, Cells]]:
    """Reads the rows that start with ``prefix``."""
    return read_rows(store, table, [(prefix, prefix_end(prefix))])


def read_row(store: Store, table: str, row: bytes) -> Cells:
    """Returns the cells of one row; none if it is not there."""
    return next((cells for _, cells in read_rows(store, table, [(row, row + b"\x00")])), {})


def name_cell(qualifier: str, visibility: str) -> str:
    """Returns the name of a cell in ``Cells``."""
    return f"{qualifier} {visibility}" if visibility else qualifier


def put_cells(sink: EntrySink, table: str, puts: Iterable[Put], visibility: str = "") -> None:
    """Hands cells, all of one visibility, to a sink; they are durable after its ``flush``."""
    batch: list[Put] = []
    size = 0
    for put in puts:
        batch.append(put)
        size += len(put[2]) + 64
        if size > _BATCH_BYTES:
            sink.write_entries(table, _make_entries(batch, visibility))
            batch, size = [], 0
    if batch:
        sink.write_entries(table, _make_entries(batch, visibility))


def delete_cells(sink: EntrySink, table: str, keys: Iterable[tuple[bytes, str]], visibility: str) -> None:
    """Has a sink delete cells of one visibility, given by row and qualifier."""
    if puts := [(row, qualifier, b"") for row, qualifier in keys]:
        sink.delete_entries(table, _make_entries(puts, visibility).select(["row", "qualifier", "visibility"]))


def _make_entries(puts: list[Put], visibility: str) -> pa.RecordBatch:
    rows, qualifiers, values = zip(*puts, strict=True)
    return pa.RecordBatch.from_pydict(
        {
            "row": pa.array(rows, pa.binary()),
            "qualifier": pa.array([q.encode() for q in qualifiers], pa.binary()),
            "visibility": pa.array([visibility.encode()] * len(puts), pa.binary()),
            "value": pa.array(values, pa.binary()),
        }
    )
