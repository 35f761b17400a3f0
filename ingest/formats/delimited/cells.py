"""Makes the events of one source from lines of cells whose names are known."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from watchfloor.ingest.columns.batch import event_batch
from watchfloor.ingest.columns.leftovers import Leftovers
from watchfloor.ingest.columns.rows import Rows
from watchfloor.ingest.columns.separated import SeparatedRows, split_slowly
from watchfloor.ingest.mapping.field_mapper import FieldMapper
from watchfloor.ingest.parsing.parsed import ParsedChunk
from watchfloor.schema.source import Source

from .dialect import Dialect


class CellReader:
    """Reads lines whose cells have the ``names`` into a source."""

    def __init__(self, source: Source, dialect: Dialect, names: tuple[str, ...]) -> None:
        self._source, self._dialect, self.names = source, dialect, names
        self._mapper = FieldMapper(source)
        self._wanted = {name: number for number, name in enumerate(names) if self._mapper.is_wanted(name)}

    def read(self, rows: Rows, parsed: ParsedChunk) -> None:
        """Adds the events of ``rows``, which must be UTF-8, and the rejected lines."""
        if not len(rows):
            return
        dialect, width = self._dialect, len(self.names)
        quote = None if dialect.quote is None else ord(dialect.quote)
        cells = SeparatedRows(rows, ord(dialect.delimiter), quote, is_merged=dialect.is_merged)
        fits = (cells.widths == width) & ~cells.is_odd
        for row in np.flatnonzero(~fits & ~cells.is_odd).tolist():
            parsed.rejected.append(rows.reject_line(row, self._describe_width(int(cells.widths[row]))))
        keep = np.flatnonzero(fits)
        if len(keep):
            columns = cells.cut(keep, width, self._wanted.values())
            self._add_events(
                rows.select(keep), dict(zip(self._wanted, columns, strict=True)), Leftovers(self._source), parsed
            )
        if cells.is_odd.any():
            self._read_slowly(rows.select(cells.is_odd), parsed)

    def _read_slowly(self, rows: Rows, parsed: ParsedChunk) -> None:
        """Adds the events of lines that are cut one by one."""
        leftovers = Leftovers(self._source)
        reasons = leftovers.reasons
        table: list[list[str | None]] = []
        dialect, width = self._dialect, len(self.names)
        for row in range(len(rows)):
            cells: list[str] = []
            try:
                line = rows.line_at(row).decode()
                cells = split_slowly(line, dialect.delimiter, dialect.quote, is_merged=dialect.is_merged)
                if len(cells) != width:
                    reasons[row] = self._describe_width(len(cells))
            except ValueError as error:
                reasons[row] = f"its quotes do not fit: {error}"
            table.append([*cells] if row not in reasons else [None] * width)
        columns = (pa.array(column, pa.string()) for column in zip(*table, strict=True))
        self._add_events(rows, dict(zip(self.names, columns, strict=True)), leftovers, parsed)

    def _add_events(
        self, rows: Rows, raw: dict[str, pa.StringArray], leftovers: Leftovers, parsed: ParsedChunk
    ) -> None:
        columns = self._mapper.map_columns(raw, len(rows), leftovers)
        parsed.add(self._source, *event_batch(self._source, columns, rows, leftovers))

    def _describe_width(self, width: int) -> str:
        return f"the line has {width} columns; {len(self.names)} are named"
