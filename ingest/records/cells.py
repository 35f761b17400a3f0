"""Reads and writes small rows of the instance's own tables: a row is a few cells, each a qualifier and its bytes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa

from watchfloor.store.bridge.requests import EntryScan
from watchfloor.store.bridge.sinks import EntrySink
from watchfloor.store.encoding.ranges import Ranges, prefix_end
from watchfloor.store.store import Store

Cells = dict[str, bytes]
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
        columns = (batch.column(name).to_pylist() for name in ("row", "qualifier", "value"))
        for row, qualifier, value in zip(*columns, strict=True):
            if row != current:
                if current is not None:
                    yield current, cells
                current, cells = row, {}
            cells[qualifier.decode()] = value
    if current is not None:
        yield current, cells


def read_prefix(store: Store, table: str, prefix: bytes) -> Iterator[tuple[bytes, Cells]]:
    """Reads the rows that start with ``prefix``."""
    return read_rows(store, table, [(prefix, prefix_end(prefix))])


def read_row(store: Store, table: str, row: bytes) -> Cells:
    """Returns the cells of one row; none if it is not there."""
    return next((cells for _, cells in read_rows(store, table, [(row, row + b"\x00")])), {})


def put_cells(sink: EntrySink, table: str, puts: Iterable[Put]) -> None:
    """Hands cells to a sink; they are durable after its ``flush``."""
    batch: list[Put] = []
    size = 0
    for put in puts:
        batch.append(put)
        size += len(put[2]) + 64
        if size > _BATCH_BYTES:
            sink.write_entries(table, _make_entries(batch))
            batch, size = [], 0
    if batch:
        sink.write_entries(table, _make_entries(batch))


def _make_entries(puts: list[Put]) -> pa.RecordBatch:
    rows, qualifiers, values = zip(*puts, strict=True)
    return pa.RecordBatch.from_pydict(
        {
            "row": pa.array(rows, pa.binary()),
            "qualifier": pa.array([q.encode() for q in qualifiers], pa.binary()),
            "value": pa.array(values, pa.binary()),
        }
    )
