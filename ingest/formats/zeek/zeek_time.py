"""Finds where the event's time stands in a line of Zeek's TSV logs."""

from __future__ import annotations

from watchfloor.ingest.columns.scalars import time_parser
from watchfloor.ingest.parsing.time_place import TimePlace, read_time_place
from watchfloor.schema.source import Source

from .zeek_fields import field_name
from .zeek_header import parse_header


class ZeekTimeFinder:
    """Finds the time by its column, which the latest header lines tell; ``header`` holds the first ones."""

    def __init__(self, header: bytes, source: Source) -> None:
        self._header = parse_header(header)
        self._field, self._parse = source.time_field, time_parser(source.time_format)
        self._column = self._find_column()

    def find_time(self, line: bytes) -> TimePlace | None:
        if line.startswith(b"#"):
            header = self._header.with_line(line)
            if header != self._header:
                self._header = header
                self._column = self._find_column()
            return None
        if self._column is None:
            return None
        cells = line.split(self._header.separator, self._column + 1)
        if len(cells) <= self._column:
            return None
        start = sum(map(len, cells[: self._column])) + self._column
        return read_time_place(line, start, start + len(cells[self._column]), self._parse)

    def _find_column(self) -> int | None:
        names = [field_name(name.decode(errors="replace")) for name in self._header.names]
        return names.index(self._field) if self._field in names else None
