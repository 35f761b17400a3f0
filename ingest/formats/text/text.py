"""Parses lines by the patterns of one source. A line that no pattern fits is no event of it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from watchfloor.ingest.columns.batch import event_batch
from watchfloor.ingest.columns.leftovers import Leftovers
from watchfloor.ingest.columns.rows import Rows, cut_column, drop_beginning
from watchfloor.ingest.files.lines import Chunk
from watchfloor.ingest.mapping.field_mapper import FieldMapper
from watchfloor.ingest.mapping.field_rule import find_rule
from watchfloor.ingest.mapping.patterns import PATTERN_COLUMN
from watchfloor.ingest.mapping.text_parts import TextParts
from watchfloor.ingest.parsing.parsed import ParsedChunk, ResolveSource, parse_lines
from watchfloor.schema.definition import builtin_definitions, find_builtin
from watchfloor.schema.source import Source
from watchfloor.schema.text import join_words

from .years import add_years


class TextParser:
    """Reads lines into a source, and lines that none of its patterns fits into the sources ``also``, in their order.

    ``changed`` is the last change of the file, for times without a year; 0: not known.
    """

    ordered = False

    def __init__(self, source: Source, changed: int = 0, also: Sequence[OtherSource] = ()) -> None:
        self._also = also
        self._source, self._mapper = source, FieldMapper(source)
        self._parts = TextParts(source.parser)
        self._comment = source.parser.get("comment", "").encode()
        self._skip = source.parser.get("skip")
        self._changed = changed
        self._reason = f"no pattern of {join_words([source.name, *(other.name for other in also)], 'or')} fits"
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
        rest = self._add_events(rows, lines, parsed)
        for other in self._also:
            if len(rest):
                rest = other.add_events(rest, self._changed, parsed)
        parsed.rejected += rest.reject_all(self._reason)

    def _add_events(self, rows: Rows, lines: pa.StringArray, parsed: ParsedChunk) -> Rows:
        """Adds the events of the lines that a pattern fits; returns the other rows."""
        raw = self._parts.split(lines)
        fits = raw[PATTERN_COLUMN].is_valid()
        is_fit = fits.to_numpy(zero_copy_only=False)
        rest = rows.select(~is_fit)
        if len(rest):
            rows, raw = rows.select(is_fit), {name: column.filter(fits) for name, column in raw.items()}
        if not len(rows):
            return rest
        if self._changed:
            raw |= {name: add_years(raw[name], self._changed) for name in self._times if name in raw}
        leftovers = Leftovers(self._source)
        columns = self._mapper.map_columns(raw, len(rows), leftovers)
        parsed.add(self._source, *event_batch(self._source, columns, rows, leftovers))
        return rest


class OtherSource:
    """A source that lines of a file of another source may be of. It is resolved as soon as a line fits it."""

    def __init__(self, name: str, resolve: ResolveSource) -> None:
        self.name, self._resolve = name, resolve
        self._parser: TextParser | None = None

    def add_events(self, rows: Rows, changed: int, parsed: ParsedChunk) -> Rows:
        """Adds the events of the lines that a pattern fits; returns the other rows."""
        lines = cut_column(rows.data, rows.starts, rows.ends)
        if self._parser is None:
            shipped = builtin_definitions().get(self.name)
            if shipped is not None and not TextParts(shipped.parser).fits_any(lines):
                return rows
            self._parser = TextParser(self._resolve(self.name, partial(find_builtin, self.name)), changed)
        return self._parser._add_events(rows, lines, parsed)
