"""Record batches as a Parquet file, in row groups of bounded size."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

GROUP_ROWS, GROUP_BYTES = 65_536, 8 << 20
"""Rows and bytes in memory of a row group, whichever are reached first."""


class ParquetWriter:
    """Writes a Parquet file to a binary stream.

    Without ``close`` the file has no footer, and nothing can read it.
    """

    def __init__(self, out: Any, schema: pa.Schema) -> None:
        self._schema = pa.schema([pa.field(field.name, _storage_type(field.type)) for field in schema])
        self._file = pq.ParquetWriter(pa.PythonFile(out, "w"), self._schema, compression="zstd")
        self._waiting: list[pa.RecordBatch] = []
        self._rows = self._bytes = 0

    def write(self, batch: pa.RecordBatch) -> None:
        self._waiting.append(batch)
        self._rows += batch.num_rows
        self._bytes += batch.nbytes
        if self._rows >= GROUP_ROWS or self._bytes >= GROUP_BYTES:
            self._write_group()

    def close(self, metadata: dict[str, str] | None = None) -> None:
        """Writes the rows that are left, and the footer with ``metadata``."""
        if self._rows:
            self._write_group()
        self._file.add_key_value_metadata(metadata or {})
        self._file.close()

    def _write_group(self) -> None:
        columns = [
            pa.chunked_array([_to_storage(batch.column(n)) for batch in self._waiting])
            for n in range(len(self._schema))
        ]
        self._file.write_table(pa.Table.from_arrays(columns, schema=self._schema), row_group_size=self._rows)
        self._waiting, self._rows, self._bytes = [], 0, 0


def _storage_type(kind: pa.DataType) -> pa.DataType:
    """Returns the type in which a column is stored: JSON as text, which all readers know."""
    return kind.storage_type if isinstance(kind, pa.BaseExtensionType) else kind


def _to_storage(column: pa.Array) -> pa.Array:
    return column.storage if isinstance(column, pa.ExtensionArray) else column
