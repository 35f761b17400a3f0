"""The entries and bytes that encoded events take, table by table, without a store."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from watchfloor.store.encoding.keys import SHARD_BYTES
from watchfloor.store.layout import TableWrite

_TIMESTAMP_BYTES = 8
_PARTS = ("row", "family", "qualifier", "visibility", "value")
_NAMES = (b"family", b"qualifier", b"visibility")
_END_OF_FIELD = re.compile(rb"[\x00\x01]")


@dataclass(frozen=True)
class WriteSize:
    """A number of entries, and the bytes of their keys and values before a server packs them."""

    entries: int = 0
    bytes: int = 0

    def __add__(self, other: WriteSize) -> WriteSize:
        return WriteSize(self.entries + other.entries, self.bytes + other.bytes)


def measure_writes(writes: Iterable[TableWrite]) -> dict[tuple[str, str], WriteSize]:
    """Returns the sizes of writes by table (``event``, ``index``, ``aggregate``, ``sightings``) and field.

    The field is that of index entries and of counts of values; otherwise it is empty.
    """
    sizes: dict[tuple[str, str], WriteSize] = {}
    for write in writes:
        table = write.table.rpartition(".")[2]
        size = WriteSize(write.entries, _count_wide_bytes(write.batch) if write.wide else _count_bytes(write.batch))
        field = _find_field(write.batch) if table in ("index", "aggregate") else ""
        sizes[table, field] = sizes.get((table, field), WriteSize()) + size
    return sizes


def _find_field(batch: pa.RecordBatch) -> str:
    """Returns the field of index entries or counts; a batch has those of one."""
    if not len(batch):
        return ""
    row: bytes = batch.column("row")[0].as_py()
    return _END_OF_FIELD.split(row[SHARD_BYTES:], maxsplit=1)[0].decode()


def _count_bytes(batch: pa.RecordBatch) -> int:
    parts = [batch.column(name) for name in _PARTS if name in batch.schema.names]
    return sum(map(_sum_lengths, parts)) + _TIMESTAMP_BYTES * len(batch)


def _count_wide_bytes(batch: pa.RecordBatch) -> int:
    return sum(_count_column_bytes(batch))


def _count_column_bytes(batch: pa.RecordBatch) -> Iterator[int]:
    """Yields the bytes of the entries of each column; each repeats its row."""
    rows = batch.column("row")
    for field, column in zip(batch.schema, batch.columns, strict=True):
        if field.name != "row" or field.metadata:
            names = sum(len((field.metadata or {}).get(part, b"")) for part in _NAMES)
            present = column.is_valid()
            each = names + _TIMESTAMP_BYTES
            yield _sum_lengths(column) + _sum_lengths(rows.filter(present)) + each * (len(column) - column.null_count)


def _sum_lengths(column: pa.Array) -> int:
    if pa.types.is_dictionary(column.type):
        lengths = pc.binary_length(column.dictionary).take(column.indices)
    else:
        lengths = pc.binary_length(column)
    return int(pc.sum(lengths).as_py() or 0)
