"""Chooses the writer of a result format.

Each writer writes a batch and flushes it before the next batch is read. Times are ISO 8601 in UTC with microseconds and
``Z``. Nulls are left out of NDJSON and empty in CSV and tables. Lists are arrays in NDJSON and joined by commas in CSV
and tables. Arrow is the IPC stream format with the columns' own types.
"""

from __future__ import annotations

import shutil
from typing import Any, BinaryIO, Protocol

import pyarrow as pa

from watchfloor.schema.errors import UserError

from .arrow_writer import ArrowWriter
from .csv_writer import CsvWriter
from .ndjson_writer import NdjsonWriter
from .table_writer import PAGE_ROWS, TableWriter
from .visible import VisibleStream


class Writer(Protocol):
    """Writes batches of one schema. ``close`` writes the end of the format, if any, and leaves the stream open."""

    def write(self, batch: pa.RecordBatch) -> None: ...

    def close(self) -> None: ...


def open_writer(
    form: str, out: BinaryIO, all_columns: bool = False, live: bool = False, width: int | None = None
) -> Writer:
    """Returns the writer of a format of ``choices.OUTPUT_FORMATS``. With ``live``, no row waits for others.

    ``width`` is that of the terminal, if ``out`` is one; None stands for that of this process's.

    Text for a terminal has its control characters written out. Raises ``UserError`` for a binary format on a terminal.
    """
    terminal = out.isatty()
    if form == "arrow":
        if terminal:
            raise UserError("arrow is binary and not for a terminal: add --output FILE or a pipe")
        return ArrowWriter(out)
    if form == "table":
        cells = (width or shutil.get_terminal_size().columns) if terminal else None
        return TableWriter(out, cells, all_columns, bold=terminal, page_rows=1 if live else PAGE_ROWS)
    text: Any = VisibleStream(out) if terminal else out
    return NdjsonWriter(text) if form == "ndjson" else CsvWriter(text)
