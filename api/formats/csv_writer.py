"""Record batches as CSV (RFC 4180)."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from watchfloor.query.texts.columns import format_times

from .column_texts import format_cells


class CsvWriter:
    """Writes CSV with a header line and plain newlines to a binary stream.

    Text is quoted, so an empty text is ``""`` and differs from a null, which is an empty field. The elements of a list
    are joined by commas.
    """

    def __init__(self, out: Any) -> None:
        self.out, self._needs_header = out, True

    def write(self, batch: pa.RecordBatch) -> None:
        flat = pa.record_batch([_flatten_column(c) for c in batch.columns], names=batch.schema.names)
        sink = pa.BufferOutputStream()
        pyarrow.csv.write_csv(flat, sink, pyarrow.csv.WriteOptions(include_header=self._needs_header))
        self._needs_header = False
        self.out.write(sink.getvalue().to_pybytes())
        self.out.flush()

    def close(self) -> None:
        """Does nothing: every line is complete already."""


def _flatten_column(column: pa.Array) -> pa.Array:
    """Returns the column in a type that the CSV writer takes: times and lists become text."""
    if isinstance(column.type, pa.JsonType):
        return column.storage
    if pa.types.is_timestamp(column.type):
        return format_times(column)
    if pa.types.is_list(column.type):
        return pc.if_else(column.is_valid(), pa.array(format_cells(column, str), pa.string()), None)
    return column
