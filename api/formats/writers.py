"""Chooses the writer of a result format, and opens the file or pipe that it writes to.

Each writer writes a batch and flushes it before the next batch is read. Times are ISO 8601 in UTC with microseconds and
``Z``. Nulls are left out of NDJSON and empty in CSV and tables. Lists are arrays in NDJSON and joined by commas in CSV
and tables. Arrow is the IPC stream format with the columns' own types.
"""

from __future__ import annotations

import io
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Protocol

import pyarrow as pa

from watchfloor.schema.errors import UserError
from watchfloor.schema.files.paths import show_path

from .arrow_writer import ArrowWriter
from .csv_writer import CsvWriter
from .ndjson_writer import NdjsonWriter
from .table_writer import PAGE_ROWS, TableWriter
from .visible import VisibleStream


class Writer(Protocol):
    """Writes batches of one schema. ``close`` writes the end of the format, if any, and leaves the stream open."""

    def write(self, batch: pa.RecordBatch) -> None: ...

    def close(self) -> None: ...


def open_writer(form: str, out: BinaryIO, all_columns: bool = False, live: bool = False) -> Writer:
    """Returns the writer of a format of ``choices.OUTPUT_FORMATS``. With ``live``, no row waits for others.

    Text for a terminal has its control characters written out. Raises ``UserError`` for a binary format on a terminal.
    """
    terminal = out.isatty()
    if form == "arrow":
        if terminal:
            raise UserError("arrow is binary and not for a terminal: add --output FILE or a pipe")
        return ArrowWriter(out)
    if form == "table":
        width = shutil.get_terminal_size().columns if terminal else None
        return TableWriter(out, width, all_columns, bold=terminal, page_rows=1 if live else PAGE_ROWS)
    text: Any = VisibleStream(out) if terminal else out
    return NdjsonWriter(text) if form == "ndjson" else CsvWriter(text)


@contextmanager
def open_output(path: str | None) -> Iterator[BinaryIO]:
    """Opens the file of this name, or standard output for None and ``-``.

    Raises ``UserError`` if the file cannot be written.
    """
    if path is None or path == "-":
        with _buffer_writes(sys.stdout.buffer) as out:
            yield out
        return
    try:
        stream = Path(path).open("wb")  # noqa: SIM115 (closed below; only opening it may be the user's mistake)
    except OSError as error:
        raise UserError(f"cannot write {show_path(path)}: {error.strerror}") from None
    with stream:
        yield stream


@contextmanager
def _buffer_writes(stream: BinaryIO) -> Iterator[BinaryIO]:
    """Yields ``stream`` with a buffer if it has none.

    Standard output has no buffer under ``python -u``: there a write that a signal interrupts would end early.
    """
    if not isinstance(stream, io.RawIOBase):
        yield stream
        return
    buffered = io.BufferedWriter(stream)
    try:
        yield buffered
    finally:
        buffered.detach()  # flushes it, and leaves standard output open
