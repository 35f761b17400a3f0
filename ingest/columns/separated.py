"""Cuts lines at separators into cells, which may stand within quotes, for all lines of a chunk at once.

Quotes are those of RFC 4180: a cell that begins with a quote ends with one, separators between them are part of it,
and two quotes mean one. A line with quotes in other places is *odd*; it is left to ``split_slowly``. Spaces around a
cell, within its quotes too, are no part of it.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from watchfloor.ingest.files.lines import MAX_LINE_BYTES

from .rows import SPACE, Mask, Positions, Rows, cut_column

csv.field_size_limit(MAX_LINE_BYTES)


class SeparatedRows:
    """The cells of lines: ``widths`` has the number of cells of each line, ``is_odd`` a mask of odd lines."""

    def __init__(self, rows: Rows, separator: int, quote: int | None, *, is_merged: bool = False) -> None:
        """With ``is_merged`` separators that follow one another count as one."""
        self._rows, self._quote = rows, quote
        octets = rows.octets
        marks = np.flatnonzero(octets == separator)
        quotes = np.flatnonzero(octets == quote) if quote is not None else np.empty(0, np.int64)
        self.has_quotes = bool(len(quotes))
        self.is_odd: Mask = np.zeros(len(rows), bool)
        if self.has_quotes:
            before = np.searchsorted(quotes, rows.starts)
            line = np.clip(np.searchsorted(rows.starts, marks, side="right") - 1, 0, None)
            marks = marks[(np.searchsorted(quotes, marks) - before[line]) % 2 == 0]
            self.is_odd = self._find_odd(quotes, before, separator)
        if is_merged and len(marks):
            marks = marks[octets[np.clip(marks + 1, None, len(octets) - 1)] != separator]
        self._marks = marks
        self._first = np.searchsorted(marks, rows.starts)
        self.widths: Positions = np.searchsorted(marks, rows.ends) - self._first + 1

    def _find_odd(self, quotes: Positions, before: Positions, separator: int) -> Mask:
        """Returns a mask of the lines with a quote where none may stand, or one that is not closed."""
        rows, octets = self._rows, self._rows.octets
        line = np.searchsorted(rows.starts, quotes, side="right") - 1
        inside = (line >= 0) & (quotes < rows.ends[np.clip(line, 0, None)])
        quotes, line = quotes[inside], line[inside]
        opens = (np.arange(len(inside))[inside] - before[line]) % 2 == 0
        behind = np.where(quotes > rows.starts[line], octets[np.clip(quotes - 1, 0, None)], separator)
        ahead = np.where(quotes + 1 < rows.ends[line], octets[np.clip(quotes + 1, None, len(octets) - 1)], separator)
        edge = np.where(opens, behind, ahead)
        odd = np.zeros(len(rows), bool)
        odd[line[(edge != separator) & (edge != self._quote)]] = True
        odd |= (np.searchsorted(quotes, rows.ends) - np.searchsorted(quotes, rows.starts)) % 2 == 1
        return odd

    def cut(self, keep: Positions, width: int, wanted: Iterable[int]) -> Iterator[pa.StringArray]:
        """Yields the columns ``wanted`` of the lines ``keep``, which all have ``width`` cells and are not odd."""
        rows, first = self._rows.select(keep), self._first[keep]
        places = self._marks[first[:, None] + np.arange(width - 1)]
        for number in wanted:
            starts = rows.starts if number == 0 else places[:, number - 1] + 1
            ends = rows.ends if number == width - 1 else places[:, number]
            yield self._cut_column(rows, starts, ends)

    def _cut_column(self, rows: Rows, starts: Positions, ends: Positions) -> pa.StringArray:
        starts, ends = _trim(rows.octets, starts, ends)
        if not self.has_quotes:
            return cut_column(rows.data, starts, ends)
        assert self._quote is not None
        quoted = (ends - starts >= 2) & (rows.octets[np.clip(starts, None, len(rows.octets) - 1)] == self._quote)
        if not quoted.any():
            return cut_column(rows.data, starts, ends)
        text = cut_column(rows.data, *_trim(rows.octets, starts + quoted, ends - quoted))
        mark = chr(self._quote)
        doubled = pc.and_(pc.match_substring(text, 2 * mark), pa.array(quoted))
        if pc.any(doubled).as_py():
            text = pc.if_else(doubled, pc.replace_substring(text, 2 * mark, mark), text)
        return text


def _trim(octets: npt.NDArray[np.uint8], starts: Positions, ends: Positions) -> tuple[Positions, Positions]:
    """Returns cells without the spaces at their beginnings and ends."""
    last = len(octets) - 1
    starts, ends = starts.copy(), ends.copy()
    while (padded := (starts < ends) & (octets[np.clip(starts, None, last)] == SPACE)).any():
        starts += padded
    while (padded := (starts < ends) & (octets[ends - 1] == SPACE)).any():
        ends -= padded
    return starts, ends


def split_slowly(line: str, separator: str, quote: str | None, *, is_merged: bool = False) -> list[str]:
    """Returns the cells of one line. This defines what a line means.

    Raises ``ValueError`` if a cell that begins with a quote does not end with one.
    """
    if quote is None:
        cells = line.split(separator)
    else:
        try:
            (cells,) = csv.reader([line], delimiter=separator, quotechar=quote, strict=True, skipinitialspace=True)
        except csv.Error as error:
            raise ValueError(str(error)) from None
    if is_merged:
        cells = [cell for place, cell in enumerate(cells) if cell or place in (0, len(cells) - 1)]
    return [cell.strip(" ") for cell in cells]
