"""Parses lines of cells between delimiters into the fields of one source."""

from __future__ import annotations

import numpy as np

from watchfloor.ingest.columns.rows import Rows, drop_beginning
from watchfloor.ingest.files.lines import Chunk
from watchfloor.ingest.parsing.parsed import ParsedChunk, parse_lines
from watchfloor.schema.source import Source

from .cells import CellReader
from .dialect import Dialect


class DelimitedParser:
    """Reads lines into a source. Lines that repeat the header, as in files that were joined, are no events."""

    ordered = False

    def __init__(self, source: Source, header: bytes) -> None:
        self._header, self._dialect = header, Dialect.of(source)
        self._reader = CellReader(source, self._dialect, self._dialect.name_cells(header))

    def parse(self, chunk: Chunk) -> ParsedChunk:
        return parse_lines(chunk, lambda rows, parsed: self._reader.read(self._drop_other_lines(rows), parsed))

    def _drop_other_lines(self, rows: Rows) -> Rows:
        """Returns the lines that are neither the header nor comments."""
        rows = drop_beginning(rows, self._dialect.comment.encode())
        if not self._header:
            return rows
        keep = rows.ends - rows.starts != len(self._header)
        for row in np.flatnonzero(~keep).tolist():
            keep[row] = rows.line_at(row) != self._header
        return rows.select(keep)
