"""Parses syslog lines into the sources of their programs."""

from __future__ import annotations

from functools import partial

import numpy as np
import pyarrow as pa

from watchfloor.ingest.columns.batch import event_batch
from watchfloor.ingest.columns.leftovers import Leftovers
from watchfloor.ingest.columns.rows import Rows, cut_column
from watchfloor.ingest.files.lines import Chunk
from watchfloor.ingest.mapping.field_mapper import FieldMapper
from watchfloor.ingest.mapping.text_parts import TextParts
from watchfloor.ingest.parsing.parsed import ParsedChunk, ResolveSource, parse_lines
from watchfloor.schema.definition import find_builtin
from watchfloor.schema.source import Source

from .context import SyslogContext
from .header import split_headers
from .times import read_times

_FORM = "a syslog line: a time like Oct 10 13:55:36 or in ISO 8601, a host, PROGRAM[PID]: and a message"
_NO_VALUE = "-"


class SyslogParser:
    """Reads lines into the sources of their programs, or all into ``source``."""

    ordered = False

    def __init__(self, context: SyslogContext, resolve: ResolveSource, source: Source | None = None) -> None:
        self._context, self._resolve, self._fixed = context, resolve, source
        self._readers: dict[str, _MessageReader] = {}

    def parse(self, chunk: Chunk) -> ParsedChunk:
        return parse_lines(chunk, self._read_rows)

    def _read_rows(self, rows: Rows, parsed: ParsedChunk) -> None:
        raw = split_headers(cut_column(rows.data, rows.starts, rows.ends))
        fits = raw["time"].is_valid().to_numpy(zero_copy_only=False)
        if not fits.all():
            parsed.rejected += rows.select(~fits).reject_all(f"not {_FORM}")
            rows, raw = rows.select(fits), {name: column.filter(pa.array(fits)) for name, column in raw.items()}
        coded = raw["program"].dictionary_encode()
        programs = [*coded.dictionary.to_pylist(), None]
        codes = coded.indices.fill_null(len(programs) - 1).to_numpy(zero_copy_only=False)
        names = [self._fixed.name if self._fixed else self._context.find_source(program) for program in programs]
        for name in dict.fromkeys(names):
            mine = np.isin(codes, [code for code, other in enumerate(names) if other == name])
            if mine.any():
                columns = {part: column.filter(pa.array(mine)) for part, column in raw.items()}
                self._open_reader(name).read(rows.select(mine), columns, self._context, parsed)

    def _open_reader(self, name: str) -> _MessageReader:
        if name not in self._readers:
            source = self._fixed or self._resolve(name, partial(find_builtin, name))
            self._readers[name] = _MessageReader(source)
        return self._readers[name]


class _MessageReader:
    """Makes events of one source from lines without their headers."""

    def __init__(self, source: Source) -> None:
        self._source, self._mapper = source, FieldMapper(source)
        self._parts = TextParts(source.parser)

    def read(self, rows: Rows, raw: dict[str, pa.StringArray], context: SyslogContext, parsed: ParsedChunk) -> None:
        leftovers = Leftovers(self._source)
        time_field = self._source.time_field
        times = read_times(time_field, raw.pop("time"), context.changed, context.zone, leftovers.reasons)
        parts = self._parts.split(raw["message"])
        columns = self._mapper.map_columns({**raw, **parts}, len(rows), leftovers)
        columns[time_field] = times
        parsed.add(self._source, *event_batch(self._source, columns, rows, leftovers))
