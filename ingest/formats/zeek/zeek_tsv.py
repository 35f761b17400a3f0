"""Parses Zeek's TSV logs. Columns follow from the header, which may come again, changed, in the middle of a file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from watchfloor.ingest.columns.batch import event_batch
from watchfloor.ingest.columns.convert import Reasons, text_column, text_list_column, text_octets
from watchfloor.ingest.columns.leftovers import Leftovers
from watchfloor.ingest.columns.rows import Rows, cut_column, split_rows, utf8_rows
from watchfloor.ingest.files.lines import Chunk
from watchfloor.ingest.parsing.parsed import ParsedChunk, ResolveSource
from watchfloor.schema.definition import add_fields, builtin_definitions
from watchfloor.schema.errors import UserError
from watchfloor.schema.field import ARROW_TYPES, Field, FieldType
from watchfloor.schema.source import Source

from .zeek_fields import field_name
from .zeek_header import ZeekHeader, parse_header

_HASH, _BACKSLASH = b"#\\"
_ESCAPE = re.compile(rb"\\(?:x([0-9A-Fa-f]{2})|(\\))")


class ZeekTsvParser:
    """Reads the lines of Zeek logs; ``header`` holds the ``#`` lines that stand before the first chunk.

    ``source`` fixes the source of all lines; without it each header's ``#path`` names it.
    """

    ordered = True

    def __init__(self, header: bytes, resolve: ResolveSource, source: Source | None = None) -> None:
        self._header = parse_header(header)
        self._resolve, self._fixed = resolve, source
        self._columns: _ColumnReader | str | None = (
            None  # for the present header; a text is the reason why no line can be read
        )

    def parse(self, chunk: Chunk) -> ParsedChunk:
        parsed = ParsedChunk(rejected=list(chunk.rejected))
        for rows in self._split_at_headers(split_rows(chunk)):
            if self._columns is None:
                self._columns = self._open_columns()
            if isinstance(self._columns, str):
                parsed.rejected += rows.reject_all(self._columns)
            else:
                good, bad = utf8_rows(rows)
                parsed.rejected += bad
                if len(good):
                    self._columns.read(good, parsed)
        parsed.rejected.sort(key=lambda r: r.offset)
        return parsed

    def _split_at_headers(self, rows: Rows) -> Iterator[Rows]:
        """Yields the lines between header lines, and updates the header before each group."""
        if not len(rows):
            return
        comments = np.flatnonzero(rows.octets[rows.starts] == _HASH)
        for before, after in pairwise([-1, *comments.tolist(), len(rows)]):
            if before >= 0:
                header = self._header.with_line(rows.line_at(before))
                if header != self._header or header.fault != self._header.fault:
                    self._header, self._columns = header, None
            if after > before + 1:
                lines = rows.select(slice(before + 1, after))
                yield lines.crop() if len(comments) else lines

    def _open_columns(self) -> _ColumnReader | str:
        """Returns the reader of lines under the present header; a text with the reason if the header cannot be used."""
        problem = self._header.find_problem(self._fixed or builtin_definitions().get(self._header.source_name))
        if problem:
            return f"the Zeek header before this line cannot be used: {problem}"
        try:
            source = self._resolve(self._fixed.name if self._fixed else self._header.source_name, self._derive_source)
        except UserError as error:
            return f"the Zeek header before this line cannot be used: {error}"
        return _ColumnReader(self._header, source)

    def _derive_source(self) -> Source:
        return header_source(self._header, self._fixed)


def header_source(header: ZeekHeader, base: Source | None = None) -> Source:
    """Returns the source for a header: ``base`` or the curated one with further fields, or one of the header's own."""
    base = base or builtin_definitions().get(header.source_name)
    if base is None:
        return header.derive_source()
    return add_fields(base, [replace(f, indexes=()) for f in header.make_fields()])


class _ColumnReader:
    """Converts lines under one header to columns of its source."""

    def __init__(self, header: ZeekHeader, source: Source) -> None:
        self._source = source
        self._separator = header.separator[0]
        self._fields = [source.fields_by_name[field_name(name.decode(errors="replace"))] for name in header.names]
        self._unset = header.unset_field.decode(errors="replace")
        self._empty = header.empty_field.decode(errors="replace")
        self._between = header.set_separator.decode(errors="replace") or ","
        self._opened = header.opened

    def read(self, rows: Rows, parsed: ParsedChunk) -> None:
        """Adds the events of ``rows``, which must be UTF-8, and rejects those with a wrong number of columns."""
        width = len(self._fields)
        marks = np.flatnonzero(rows.octets == self._separator)
        first = np.searchsorted(marks, rows.starts)
        count = np.searchsorted(marks, rows.ends) - first
        fits = count == width - 1
        if not fits.all():
            for row in np.flatnonzero(~fits):
                reason = f"the line has {count[row] + 1} columns; its header names {width}"
                parsed.rejected.append(rows.reject_line(int(row), reason))
            rows, first = rows.select(fits), first[fits]
            if not len(rows):
                return
        places = marks[first[:, None] + np.arange(width - 1)]
        leftovers = Leftovers(self._source)
        columns: dict[str, pa.Array] = {}
        for number, field in enumerate(self._fields):
            starts = rows.starts if number == 0 else places[:, number - 1] + 1
            ends = rows.ends if number == width - 1 else places[:, number]
            faults: Reasons = {}
            text = cut_column(rows.data, starts, ends)
            columns[field.name] = self._convert_column(field, text, faults)
            leftovers.add_misfits(field.name, faults, text)
        if self._source.time_field not in columns and self._opened is not None:
            stamp = pa.scalar(self._opened, pa.int64()).cast(ARROW_TYPES[FieldType.TIME])
            columns[self._source.time_field] = pa.repeat(stamp, len(rows))
        parsed.add(self._source, *event_batch(self._source, columns, rows, leftovers))

    def _convert_column(self, field: Field, text: pa.StringArray, reasons: Reasons) -> pa.Array:
        """Converts the texts of one column to the type of its field."""
        text = _null_where(text, self._unset)
        if text.null_count == len(text):
            return pa.nulls(len(text), field.arrow)
        if not field.is_list:
            return text_column(
                field, self._undo_escapes(text) if field.type is FieldType.STRING else text, "epoch", reasons
            )
        void = pc.equal(text, self._empty)
        split = pc.split_pattern(text, self._between)
        elements = _null_where(split.flatten(), self._unset)
        if field.scalar is FieldType.STRING:
            elements = self._undo_escapes(elements)
        # A list of nothing is one piece of text, "(empty)": drop that piece.
        lengths = pc.if_else(void, 0, pc.list_value_length(split)).fill_null(0)
        if pc.any(void).as_py():
            piece = np.repeat(void.fill_null(False).to_numpy(zero_copy_only=False), _list_lengths(split))
            elements = elements.filter(pa.array(~piece))
        offsets = np.concatenate(([0], np.cumsum(lengths.to_numpy(zero_copy_only=False)))).astype(np.int32)
        mask = text.is_null() if text.null_count else None
        return text_list_column(
            field, pa.ListArray.from_arrays(pa.array(offsets), elements, mask=mask), "epoch", reasons
        )

    def _undo_escapes(self, text: pa.StringArray) -> pa.StringArray:
        """Replaces the mark of an empty string by an empty string, and undoes escapes."""
        void = pc.equal(text, self._empty)
        if pc.any(void).as_py():
            text = pc.if_else(void, "", text)
        if not (text_octets(text) == _BACKSLASH).any():
            return text
        coded = text.dictionary_encode()
        plain = pa.array([unescape_text(value) for value in coded.dictionary.to_pylist()], pa.string())
        return plain.take(coded.indices)


def unescape_text(text: str) -> str:
    r"""Undoes ``\xNN`` and ``\\``. Bytes that would not be UTF-8 stay ``\xNN``."""
    if "\\" not in text:
        return text
    octets = _ESCAPE.sub(lambda m: bytes([int(m[1], 16)]) if m[1] else b"\\", text.encode())
    return octets.decode(errors="backslashreplace")


def _null_where(text: pa.StringArray, mark: str) -> pa.StringArray:
    same = pc.equal(text, mark)
    return pc.if_else(same, pa.scalar(None, pa.string()), text) if pc.any(same).as_py() else text


def _list_lengths(lists: pa.ListArray) -> np.ndarray:
    return pc.list_value_length(lists).fill_null(0).to_numpy(zero_copy_only=False)
