"""Parses JSON lines of one source with the fast reader, and the lines that it does not accept with the slow one.

Lines of a source whose definition says how its fields are made go another way (``json_mapped``).
"""

from __future__ import annotations

from watchfloor.ingest.columns.batch import event_batch
from watchfloor.ingest.columns.leftovers import Leftovers
from watchfloor.ingest.columns.rows import Rows
from watchfloor.ingest.columns.scalars import Unfit
from watchfloor.ingest.files.lines import Chunk
from watchfloor.ingest.parsing.parsed import ParsedChunk, parse_lines
from watchfloor.schema.source import Source

from .json_fast import FastJsonReader
from .json_mapped import MappedRecords, is_mapped
from .json_values import PLAIN, FieldNaming, Record, decode_object, flatten_record, value_columns


class JsonRowReader:
    """Reads lines of JSON objects as events of one source. May be used by several threads at once."""

    def __init__(self, source: Source, naming: FieldNaming = PLAIN) -> None:
        self.source = source
        self._naming = naming
        self._idle: list[FastJsonReader] = []  # each serves one thread at a time

    def read_rows(self, rows: Rows, parsed: ParsedChunk) -> None:
        """Adds the events of ``rows``, which must be UTF-8, and the rejected lines."""
        if not len(rows):
            return
        try:
            fast = self._idle.pop()
        except IndexError:
            fast = FastJsonReader(self.source, self._naming)
        odd = fast.read(rows, parsed)
        self._idle.append(fast)
        if odd is not None:
            self.read_rows_slowly(rows.select(odd), parsed)

    def read_rows_slowly(self, rows: Rows, parsed: ParsedChunk) -> None:
        """Adds the events of ``rows`` and the rejected lines, parsed by ``json_values`` line by line."""
        leftovers = Leftovers(self.source)
        records: list[Record] = []
        for row in range(len(rows)):
            record: Record = {}
            try:
                record, unknown = flatten_record(self.source, decode_object(rows.line_at(row)), self._naming)
                leftovers.add_all_unknown(row, unknown)
            except Unfit as error:
                leftovers.reasons[row] = str(error)
            records.append(record)
        columns = value_columns(self.source, records, leftovers)
        parsed.add(self.source, *event_batch(self.source, columns, rows, leftovers))


class JsonParser:
    """Reads JSON lines into one source."""

    ordered = False

    def __init__(self, source: Source) -> None:
        self._reader = MappedRecords(source) if is_mapped(source) else JsonRowReader(source)

    def parse(self, chunk: Chunk) -> ParsedChunk:
        return parse_lines(chunk, self._reader.read_rows)
