"""Reads the first lines of a file by a definition, without a store."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pyarrow as pa

from watchfloor.ingest.columns.rows import split_rows
from watchfloor.ingest.files.lines import Chunk, RejectedLine, read_chunks, split_chunk
from watchfloor.ingest.files.open_file import FileOrPath, open_file_or_path
from watchfloor.ingest.formats.registry import open_parser
from watchfloor.ingest.intake.sniff import sniff_file
from watchfloor.schema.source import Source

_CHUNK_BYTES = 1 << 20


@dataclass
class Trial:
    """The events and the rejected lines among the first lines of a file.

    ``events`` are of the definition's source, ``others`` counts those of other sources. ``rejected`` are the lines that
    a load would quarantine, each with its number in the file. ``misfits`` counts the source's values that are not of
    their field's type, by field. ``bytes`` is the length of all these lines.
    """

    source: Source
    events: list[pa.RecordBatch] = field(default_factory=list)
    others: dict[str, int] = field(default_factory=dict)
    rejected: list[tuple[int, RejectedLine]] = field(default_factory=list)
    misfits: Counter[str] = field(default_factory=Counter)
    bytes: int = 0

    @property
    def count(self) -> int:
        """The number of events of the source."""
        return sum(batch.num_rows for batch in self.events)

    @property
    def lines(self) -> int:
        return self.count + sum(self.others.values()) + len(self.rejected)

    def read_field(self, name: str) -> pa.ChunkedArray:
        """Returns the values of a field, without those of events that have none."""
        columns = [batch.column(name) for batch in self.events if name in batch.schema.names]
        return pa.chunked_array(columns, self.source.fields_by_name[name].arrow).drop_null()


def try_source(source: Source, file: FileOrPath, most_lines: int) -> Trial:
    """Parses about the first ``most_lines`` lines of a file as a load with ``--source`` would.

    Raises ``InputFileError`` if the file cannot be read so.
    """

    def resolve(name: str, derive: Callable[[], Source]) -> Source:
        return source if name == source.name else derive()

    trial = Trial(source)
    with open_file_or_path(file) as opened:
        sniffed = sniff_file(opened, source.name, {source.name: source})
        parser = open_parser(sniffed.feed, sniffed.header, resolve)
        number = 1
        for chunk in _read_pieces(opened, most_lines):
            parsed = parser.parse(chunk)
            for other, batch in parsed.events:
                if other.name == source.name:
                    trial.events.append(batch)
                else:
                    trial.others[other.name] = trial.others.get(other.name, 0) + batch.num_rows
            for misfits in parsed.misfits:
                trial.misfits[misfits.field] += len(misfits.offsets) if misfits.source == source.name else 0
            for rejected in parsed.rejected:
                before = chunk.data[: max(0, rejected.offset - chunk.offset)]
                trial.rejected.append((number + before.count(b"\n"), rejected))
            number += chunk.data.count(b"\n")
            trial.bytes += len(chunk.data)
            if trial.lines >= most_lines:
                break
    return trial


def _read_pieces(file: FileOrPath, most_lines: int) -> Iterator[Chunk]:
    """Yields the lines of a file in pieces of at most ``most_lines`` lines."""
    for chunk in read_chunks(file, chunk_bytes=_CHUNK_BYTES):
        yield from (piece for piece in split_chunk(chunk, most_lines) if len(split_rows(piece)) or piece.rejected)
