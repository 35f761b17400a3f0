"""Ranges of keys, kept as the columns that are handed to Java."""

from __future__ import annotations

import struct

import pyarrow as pa

from .byte_arrays import join_bytes

_SCHEMA = pa.schema(
    [pa.field(name, pa.binary()) for name in ("start_row", "start_qualifier", "end_row", "end_qualifier")]
)
_LENGTH = struct.Struct(">i")
_NO_PART = _LENGTH.pack(-1)
_AFTER = pa.scalar(b"\x00", pa.binary())


def prefix_end(prefix: bytes) -> bytes | None:
    """Returns the least bytes that sort after everything that starts with ``prefix``; None if nothing does."""
    head = prefix.rstrip(b"\xff")
    return head[:-1] + bytes([head[-1] + 1]) if head else None


class Ranges:
    """A list of half-open ranges of keys. It is complete once it was handed over by ``to_batch``."""

    def __init__(self) -> None:
        self._columns: tuple[list[bytes | None], ...] = ([], [], [], [])
        self._batch: pa.RecordBatch | None = None

    def add_rows(self, start: bytes, end: bytes | None) -> None:
        """Adds the rows in [start, end); None is the end of the table."""
        self._add_range(start, None, end, None)

    @classmethod
    def everything(cls) -> Ranges:
        """Returns all rows of a table."""
        ranges = cls()
        ranges.add_rows(b"", None)
        return ranges

    def add_prefix(self, prefix: bytes) -> None:
        """Adds the rows that start with ``prefix``."""
        self._add_range(prefix, None, prefix_end(prefix), None)

    def add_row(self, row: bytes) -> None:
        """Adds one row."""
        self._add_range(row, None, row + b"\x00", None)

    def add_qualifiers(self, row: bytes, start: bytes, end: bytes) -> None:
        """Adds the qualifiers in [start, end) of one row."""
        self._add_range(row, start, row, end)

    @classmethod
    def exact_rows(cls, rows: pa.BinaryArray) -> Ranges:
        """Returns a range for each row. No more ranges can be added to the result."""
        ranges = cls()
        ends = join_bytes(rows, _AFTER)
        nulls = pa.nulls(len(rows), pa.binary())
        ranges._batch = pa.RecordBatch.from_arrays([rows, nulls, ends, nulls], schema=_SCHEMA)
        return ranges

    def to_batch(self) -> pa.RecordBatch:
        """Returns the ranges as the record batch that Java reads (its ``Ranges``)."""
        if self._batch is None:
            self._batch = pa.RecordBatch.from_arrays(
                [pa.array(column, pa.binary()) for column in self._columns], schema=_SCHEMA
            )
        return self._batch

    def pack(self) -> bytes:
        """Returns the ranges as bytes: the four parts of each, with their lengths before them (i32; -1: none).

        Few ranges reach Java sooner so than as a record batch.
        """
        columns = self._columns if self._batch is None else [column.to_pylist() for column in self._batch.columns]
        parts = [part for values in zip(*columns, strict=True) for part in values]
        return b"".join(_NO_PART if part is None else _LENGTH.pack(len(part)) + part for part in parts)

    def __len__(self) -> int:
        return len(self.to_batch()) if self._batch is not None else len(self._columns[0])

    def _add_range(self, *values: bytes | None) -> None:
        for column, value in zip(self._columns, values, strict=True):
            column.append(value)
