"""Writers that stream record batches to a file, a pipe or a terminal: table, ndjson, csv, arrow.

A batch is written, and flushed, before the next one is asked for. Times are ISO 8601 in UTC with microseconds and
``Z``. Nulls are left out of NDJSON and empty in CSV and tables; lists are arrays in NDJSON and joined by commas in CSV
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
import pyarrow.compute as pc
import pyarrow.csv

from watchfloor.schema.errors import UserError

from .ndjson_writer import iso_times, to_ndjson
from .table_writer import PAGE, TableWriter, cells
from .visible import VisibleStream

FORMATS = ("table", "ndjson", "csv", "arrow")


class Writer(Protocol):
    """Takes batches of one schema; ``close`` writes what a complete file still needs, and leaves ``out`` open."""

    def write(self, batch: pa.RecordBatch) -> None: ...

    def close(self) -> None: ...


class NdjsonWriter:
    """A JSON object per line."""

    def __init__(self, out: Any) -> None:
        self.out = out

    def write(self, batch: pa.RecordBatch) -> None:
        self.out.write(to_ndjson(batch))
        self.out.flush()

    def close(self) -> None:
        """Every line is complete already."""


class CsvWriter:
    """RFC 4180 with a header line and plain newlines; text is quoted, so an empty text is ``""`` and a null nothing."""

    def __init__(self, out: Any) -> None:
        self.out, self._first = out, True

    def write(self, batch: pa.RecordBatch) -> None:
        flat = pa.record_batch([_csv_column(c) for c in batch.columns], names=batch.schema.names)
        sink = pa.BufferOutputStream()
        pyarrow.csv.write_csv(flat, sink, pyarrow.csv.WriteOptions(include_header=self._first))
        self._first = False
        self.out.write(sink.getvalue().to_pybytes())
        self.out.flush()

    def close(self) -> None:
        """Every line is complete already."""


class ArrowWriter:
    """An Arrow IPC stream."""

    def __init__(self, out: Any) -> None:
        self.out = out
        self._stream: Any = None

    def write(self, batch: pa.RecordBatch) -> None:
        if self._stream is None:
            self._stream = pa.ipc.new_stream(pa.PythonFile(self.out, "w"), batch.schema)
        self._stream.write_batch(batch)
        self.out.flush()

    def close(self) -> None:
        if self._stream is not None:
            self._stream.close()
            self.out.flush()


def open_writer(form: str, out: BinaryIO, all_columns: bool = False, live: bool = False) -> Writer:
    """The writer of a format. On a terminal control characters are made visible and binary output is refused.

    ``live``: rows come slowly, and none should wait for others.
    """
    terminal = out.isatty()
    if form == "arrow":
        if terminal:
            raise UserError("arrow is binary and not for a terminal: add --output FILE or a pipe")
        return ArrowWriter(out)
    if form == "table":
        width = shutil.get_terminal_size().columns if terminal else None
        return TableWriter(out, width, all_columns, bold=terminal, page=1 if live else PAGE)
    text: Any = VisibleStream(out) if terminal else out
    return NdjsonWriter(text) if form == "ndjson" else CsvWriter(text)


@contextmanager
def _whole_writes(stream: BinaryIO) -> Iterator[BinaryIO]:
    """Standard output has no buffer under ``python -u``: a write that a signal interrupts would end early there."""
    if not isinstance(stream, io.RawIOBase):
        yield stream
        return
    buffered = io.BufferedWriter(stream)
    try:
        yield buffered
    finally:
        buffered.detach()  # flushes it, and leaves standard output open


@contextmanager
def open_output(path: str | None) -> Iterator[BinaryIO]:
    """The file of this name (``UserError`` when it cannot be written), or standard output for None or ``-``."""
    if path is None or path == "-":
        with _whole_writes(sys.stdout.buffer) as out:
            yield out
        return
    try:
        stream = Path(path).open("wb")  # noqa: SIM115 (closed below; only opening it may be the user's mistake)
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror}") from None
    with stream:
        yield stream


def _csv_column(column: pa.Array) -> pa.Array:
    if pa.types.is_timestamp(column.type):
        return iso_times(column)
    if pa.types.is_list(column.type):
        return pc.if_else(column.is_valid(), pa.array(cells(column, str), pa.string()), None)
    return column
