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
    are joined by commas. ``for_spreadsheets``: a text that a spreadsheet would take for a formula has an apostrophe in
    front of it.
    """

    def __init__(self, out: Any, for_spreadsheets: bool = False) -> None:
        self.out, self._needs_header, self._for_spreadsheets = out, True, for_spreadsheets

    def write(self, batch: pa.RecordBatch) -> None:
        columns = [_flatten_column(column) for column in batch.columns]
        if self._for_spreadsheets:
            columns = [_disarm_formulas(column) for column in columns]
        flat = pa.record_batch(columns, names=batch.schema.names)
        sink = pa.BufferOutputStream()
        pyarrow.csv.write_csv(flat, sink, pyarrow.csv.WriteOptions(include_header=self._needs_header))
        self._needs_header = False
        self.out.write(sink.getvalue().to_pybytes())
        self.out.flush()

    def close(self) -> None:
        """Does nothing: every line is complete already."""


def _disarm_formulas(column: pa.Array) -> pa.Array:
    """Returns texts with an apostrophe in front of those that begin as formulas do; other columns as they are."""
    if not pa.types.is_string(column.type):
        return column
    return pc.replace_substring_regex(column, "^([-=+@\t\r\n])", "'\\1")


def _flatten_column(column: pa.Array) -> pa.Array:
    """Returns the column in a type that the CSV writer takes: times and lists become text."""
    if isinstance(column.type, pa.JsonType):
        return column.storage
    if pa.types.is_timestamp(column.type):
        return format_times(column)
    if pa.types.is_list(column.type):
        return pc.if_else(column.is_valid(), pa.array(format_cells(column, str), pa.string()), None)
    return column
