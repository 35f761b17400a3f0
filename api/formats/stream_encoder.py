"""Encodes a result as it is streamed to a client: its batches in a format, and its summary at the end.

Each format tells a whole answer from one that was cut off or has failed:

- NDJSON: the last line is the object ``summary``;
- CSV: the last line is ``# status=complete rows=…``, which no other line can look like, as texts are quoted;
- Arrow: the last batch has no rows and the summary as its metadata, and the mark of the end of the stream follows;
- Parquet: the footer, which has the summary as metadata, and without which the file cannot be read;
- server-sent events: the last message is of the type ``summary``.

Of an answer that has failed, Arrow lacks the mark and Parquet the footer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

import orjson
import pyarrow as pa

from watchfloor.query.texts.event_ids import ID_COLUMN

from .arrow_writer import ArrowWriter
from .chunks import ChunkBuffer
from .compression import make_compressor
from .csv_writer import CsvWriter
from .ndjson_writer import NdjsonWriter, encode_ndjson
from .parquet_writer import ParquetWriter

NDJSON = "application/x-ndjson"
MEDIA_TYPES: Mapping[str, str] = {
    "ndjson": NDJSON,
    "csv": "text/csv",
    "arrow": "application/vnd.apache.arrow.stream",
    "parquet": "application/vnd.apache.parquet",
}
"""Media types of the formats that clients may choose by name, the default one first."""
EVENT_STREAM = "text/event-stream"
"""The media type of server-sent events: the format ``sse``, for events with IDs."""
SUMMARY_KEY = "watchfloor.summary"
"""The name of the metadata that has the summary as JSON, in Arrow and Parquet."""
_SHORT_MEMBERS = ("status", "rows", "share", "cursor")
"""Members of a summary that the last line of CSV has."""
Summary = Mapping[str, Any]


class _Ending(Protocol):
    """Writes batches in one format, and the end that tells that all of them are there."""

    def write(self, batch: pa.RecordBatch) -> None: ...

    def end(self, summary: Summary) -> None: ...


class StreamEncoder:
    """Encodes one result, in a format of ``MEDIA_TYPES`` or ``sse``, compressed by one of ``compression.ENCODINGS``."""

    def __init__(self, form: str, encoding: str | None = None) -> None:
        self.form, self.encoding = form, encoding
        self._buffer = ChunkBuffer()
        self._writer: _Ending | None = None
        self._compressor = None if encoding is None else make_compressor(encoding)

    @property
    def media_type(self) -> str:
        return MEDIA_TYPES.get(self.form, EVENT_STREAM)

    def encode(self, batch: pa.RecordBatch) -> bytes:
        """Returns the bytes of a batch that can be sent now, possibly none."""
        self._open_writer(batch.schema).write(batch)
        return self._take_chunk()

    def finish(self, summary: Summary, schema: pa.Schema) -> bytes:
        """Returns the end of the stream. ``schema`` is that of a result without any batch."""
        self._open_writer(schema).end(summary)
        return self._take_chunk() + (b"" if self._compressor is None else self._compressor.finish())

    def _open_writer(self, schema: pa.Schema) -> _Ending:
        if self._writer is None:
            self._writer = _WRITERS[self.form](self._buffer, schema)
        return self._writer

    def _take_chunk(self) -> bytes:
        chunk = self._buffer.take()
        return chunk if self._compressor is None or not chunk else self._compressor.compress(chunk)


class _Ndjson(NdjsonWriter):
    def __init__(self, out: Any, schema: pa.Schema) -> None:
        super().__init__(out)

    def end(self, summary: Summary) -> None:
        self.out.write(orjson.dumps({"summary": summary}) + b"\n")


class _Csv(CsvWriter):
    def __init__(self, out: Any, schema: pa.Schema) -> None:
        super().__init__(out, for_spreadsheets=True)
        self._schema = schema

    def end(self, summary: Summary) -> None:
        self.write(_make_empty(self._schema))  # the header, if there was no row
        members = {name: summary[name] for name in _SHORT_MEMBERS if name in summary}
        if "problem" in summary:
            members["problem"] = summary["problem"]["type"].rpartition(":")[2]
        self.out.write(f"# {' '.join(f'{name}={value}' for name, value in members.items())}\n".encode())


class _Arrow(ArrowWriter):
    def __init__(self, out: Any, schema: pa.Schema) -> None:
        super().__init__(out)
        self._schema = schema

    def end(self, summary: Summary) -> None:
        self.write(_make_empty(self._schema), {SUMMARY_KEY: orjson.dumps(summary).decode()})
        if summary["status"] != "failed":
            self.close()


class _Parquet(ParquetWriter):
    def end(self, summary: Summary) -> None:
        if summary["status"] != "failed":
            self.close({SUMMARY_KEY: orjson.dumps(summary).decode()})


class _ServerSentEvents:
    def __init__(self, out: Any, schema: pa.Schema) -> None:
        self._out = out

    def write(self, batch: pa.RecordBatch) -> None:
        if not len(batch):
            self._out.write(b": nothing new\n\n")  # a client that has gone is noticed
        lines = encode_ndjson(batch).splitlines()
        for event_id, line in zip(batch.column(ID_COLUMN).to_pylist(), lines, strict=True):
            self._out.write(b"id: %s\ndata: %s\n\n" % (event_id.encode(), line))

    def end(self, summary: Summary) -> None:
        self._out.write(b"event: summary\ndata: %s\n\n" % orjson.dumps(summary))


def _make_empty(schema: pa.Schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.nulls(0, kind) for kind in schema.types], schema=schema)


_WRITERS: Mapping[str, Callable[[Any, pa.Schema], _Ending]] = {
    "ndjson": _Ndjson,
    "csv": _Csv,
    "arrow": _Arrow,
    "parquet": _Parquet,
    "sse": _ServerSentEvents,
}
