"""Parses the W3C's extended log files. Columns follow from ``#Fields``, which may come again, changed, in a file."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from watchfloor.ingest.columns.rows import Rows
from watchfloor.ingest.files.lines import Chunk
from watchfloor.ingest.formats.delimited.cells import CellReader
from watchfloor.ingest.formats.delimited.dialect import Dialect
from watchfloor.ingest.parsing.parsed import ParsedChunk, parse_lines
from watchfloor.schema.source import Source

FIELDS = b"#Fields:"
_HASH = ord("#")


class ElffParser:
    """Reads lines into a source; ``header`` is the ``#Fields`` line before the first chunk."""

    ordered = True

    def __init__(self, source: Source, header: bytes) -> None:
        self._source, self._dialect = source, Dialect.of(source, delimiter=" ")
        self._reader = self._open_reader(header)

    def parse(self, chunk: Chunk) -> ParsedChunk:
        return parse_lines(chunk, self._read_rows)

    def _read_rows(self, rows: Rows, parsed: ParsedChunk) -> None:
        for lines in self._split_at_directives(rows):
            self._reader.read(lines, parsed)

    def _split_at_directives(self, rows: Rows) -> Iterator[Rows]:
        """Yields the lines between changes of the columns, and takes the columns of ``#Fields`` before each group."""
        is_directive = rows.octets[rows.starts] == _HASH
        begin = 0
        for at in np.flatnonzero(is_directive).tolist():
            line = rows.line_at(at)
            if line.startswith(FIELDS) and read_names(line) != self._reader.names:
                yield rows.select(begin + np.flatnonzero(~is_directive[begin:at])).crop()
                self._reader = self._open_reader(line)
                begin = at
        lines = rows.select(begin + np.flatnonzero(~is_directive[begin:]))
        yield lines.crop() if begin else lines

    def _open_reader(self, header: bytes) -> CellReader:
        return CellReader(self._source, self._dialect, read_names(header))


def read_names(header: bytes) -> tuple[str, ...]:
    """Returns the names of the columns that a ``#Fields`` line gives, between white space or commas (Exchange)."""
    names = header.removeprefix(FIELDS).decode(errors="replace")
    return tuple(names.replace(",", " ").split())
