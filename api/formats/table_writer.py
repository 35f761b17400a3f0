"""Results as a table for people, printed as they stream in.

The first page (20 rows, or all rows if there are fewer) decides which columns are shown and how wide they are. Unless
all columns are asked for, only those with a value on that page are shown. Later rows are cut to the same widths.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import BinaryIO

import pyarrow as pa
from rich.cells import cell_len, set_cell_size

from .column_texts import format_cells
from .visible import escape_controls

PAGE_ROWS = 20
MAX_COLUMN_WIDTH, MIN_COLUMN_WIDTH = 60, 8  # terminal cells
COLUMN_GAP = "  "


@dataclass(frozen=True)
class _Column:
    """A column that is shown."""

    name: str
    width: int
    """The width in terminal cells."""
    align_right: bool


class TableWriter:
    """Writes aligned text columns.

    ``width`` is the terminal's width in cells; with None nothing is cut. With ``all_columns`` columns without a value
    are shown too. ``page_rows`` is the number of rows that are collected before the columns are chosen. ``hidden`` has
    the names of the columns that are not shown although rows had values for them.
    """

    def __init__(
        self,
        out: BinaryIO,
        width: int | None = None,
        all_columns: bool = False,
        bold: bool = False,
        page_rows: int = PAGE_ROWS,
    ) -> None:
        self.out, self.width, self.all_columns, self.bold = out, width, all_columns, bold
        self.hidden: set[str] = set()
        self._page_rows = page_rows
        self._page: list[pa.RecordBatch] = []
        self._columns: list[_Column] | None = None

    def write(self, batch: pa.RecordBatch) -> None:
        if self._columns is not None:
            self._print_batch(batch, self._columns)
            return
        self._page.append(batch)
        if sum(b.num_rows for b in self._page) >= self._page_rows:
            self._print_page()

    def close(self) -> None:
        """Prints the first page if it was never full."""
        if self._columns is None and self._page:
            self._print_page()

    def _print_page(self) -> None:
        self._columns = columns = self._choose_columns()
        if columns:
            self._print_line([escape_controls(column.name) for column in columns], columns, self.bold)
        for batch in self._page:
            self._print_batch(batch, columns)
        self._page = []

    def _choose_columns(self) -> list[_Column]:
        schema = self._page[0].schema
        page = pa.Table.from_batches(self._page)
        names = [n for n in schema.names if self.all_columns or page.column(n).null_count < page.num_rows]
        texts = {
            n: [t for b in self._page for t in format_cells(b.column(b.schema.get_field_index(n)))][: PAGE_ROWS * 5]
            for n in names
        }
        needed = [max(cell_len(escape_controls(n)), *(cell_len(t) for t in texts[n]), 1) for n in names]
        widths = fit_widths(needed, self.width)
        self.hidden.update(names[len(widths) :])
        return [_Column(n, w, _is_number(schema.field(n).type)) for n, w in zip(names, widths, strict=False)]

    def _print_batch(self, batch: pa.RecordBatch, columns: Sequence[_Column]) -> None:
        shown = [column.name for column in columns]
        for name in batch.schema.names:
            values = batch.column(batch.schema.get_field_index(name))
            if name not in shown and values.null_count < len(values):
                self.hidden.add(name)
        texts = [format_cells(batch.column(batch.schema.get_field_index(name))) for name in shown]
        for row in zip(*texts, strict=True):
            self._print_line(row, columns)
        self.out.flush()

    def _print_line(self, texts: Sequence[str], columns: Sequence[_Column], bold: bool = False) -> None:
        cells = [pad_cell(text, column.width, column.align_right) for text, column in zip(texts, columns, strict=True)]
        line = COLUMN_GAP.join(cells).rstrip()
        self.out.write((f"\x1b[1m{line}\x1b[0m\n" if bold else line + "\n").encode())


def fit_widths(needed: Sequence[int], width: int | None) -> list[int]:
    """Returns the columns' widths within ``width`` cells.

    The widest columns are cut first; when all are narrow, the last columns are dropped.
    """
    widths = [min(w, MAX_COLUMN_WIDTH) if width is not None else w for w in needed]
    if width is None:
        return widths
    while widths and sum(widths) + len(COLUMN_GAP) * (len(widths) - 1) > width:
        widest = max(range(len(widths)), key=lambda i: (widths[i], i))
        if widths[widest] > MIN_COLUMN_WIDTH:
            widths[widest] -= 1
        elif len(widths) > 1:
            widths.pop()
        else:
            return [max(1, width)]
    return widths


def pad_cell(text: str, width: int, align_right: bool = False) -> str:
    """Returns ``text`` in exactly ``width`` cells; a text that does not fit ends in ``…``."""
    length = cell_len(text)
    if length > width:
        return set_cell_size(text, width - 1) + "…"
    return " " * (width - length) + text if align_right else text + " " * (width - length)


def _is_number(kind: pa.DataType) -> bool:
    return pa.types.is_integer(kind) or pa.types.is_floating(kind)
