"""Parses lines by the patterns of one source. A line that no pattern fits is no event of it."""

from __future__ import annotations

import numpy as np
import pyarrow.compute as pc

from watchfloor.ingest.columns.batch import event_batch
from watchfloor.ingest.columns.leftovers import Leftovers
from watchfloor.ingest.columns.rows import Rows, cut_column, drop_beginning
from watchfloor.ingest.files.lines import Chunk
from watchfloor.ingest.mapping.field_mapper import FieldMapper
from watchfloor.ingest.mapping.field_rule import find_rule
from watchfloor.ingest.mapping.patterns import PATTERN_COLUMN
from watchfloor.ingest.mapping.text_parts import TextParts
from watchfloor.ingest.parsing.parsed import ParsedChunk, parse_lines
from watchfloor.schema.source import Source

from .years import add_years


class TextParser:
    """Reads lines into a source. ``changed`` is the last change of the file, for times without a year; 0: not known."""

    ordered = False

    def __init__(self, source: Source, changed: int = 0) -> None:
        self._source, self._mapper = source, FieldMapper(source)
        self._parts = TextParts(source.parser)
        self._comment = source.parser.get("comment", "").encode()
        self._skip = source.parser.get("skip")
        self._changed = changed
        self._times = find_rule(source, source.time_field).origins

    def parse(self, chunk: Chunk) -> ParsedChunk:
        return parse_lines(chunk, self._read_rows)

    def _read_rows(self, rows: Rows, parsed: ParsedChunk) -> None:
        rows = drop_beginning(rows, self._comment)
        if not len(rows):
            return
        lines = cut_column(rows.data, rows.starts, rows.ends)
        if self._skip is not None:
            keep = pc.invert(pc.match_substring_regex(lines, self._skip))
            rows, lines = rows.select(keep.to_numpy(zero_copy_only=False)), lines.filter(keep)
            if not len(rows):
                return
        raw = self._parts.split(lines)
        if self._changed:
            raw |= {name: add_years(raw[name], self._changed) for name in self._times if name in raw}
        others = raw[PATTERN_COLUMN].is_null().to_numpy(zero_copy_only=False)
        leftovers = Leftovers(self._source)
        leftovers.reasons.update(
            dict.fromkeys(np.flatnonzero(others).tolist(), f"no pattern of {self._source.name} fits")
        )
        columns = self._mapper.map_columns(raw, len(rows), leftovers)
        parsed.add(self._source, *event_batch(self._source, columns, rows, leftovers))
