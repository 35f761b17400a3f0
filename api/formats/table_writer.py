"""Results as a table for people, printed as they stream in.

The first page (20 rows, or all there are) decides which columns are shown and how wide they are: unless columns were
asked for, only those with a value in it. Later rows are cut to the same widths.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import BinaryIO

import pyarrow as pa
from rich.cells import cell_len, set_cell_size

from .ndjson_writer import iso_times
from .visible import visible

PAGE = 20
WIDEST, NARROWEST, GAP = 60, 8, "  "


class TableWriter:
    """``width`` in terminal cells (None: never cut); ``all_columns`` shows columns without a value, too.

    ``page``: so many rows are waited for to decide on the columns.
    ``hidden`` names the columns that are not shown although rows had values for them.
    """

    def __init__(
        self,
        out: BinaryIO,
        width: int | None = None,
        all_columns: bool = False,
        bold: bool = False,
        page: int = PAGE,
    ) -> None:
        self._wait_for = page
        self.out, self.width, self.all_columns, self.bold = out, width, all_columns, bold
        self.hidden: set[str] = set()
        self._page: list[pa.RecordBatch] = []
        self._columns: list[tuple[str, int, bool]] | None = None

    def write(self, batch: pa.RecordBatch) -> None:
        if self._columns is not None:
            self._print(batch)
            return
        self._page.append(batch)
        if sum(b.num_rows for b in self._page) >= self._wait_for:
            self._print_page()

    def close(self) -> None:
        if self._columns is None and self._page:
            self._print_page()

    def _print_page(self) -> None:
        schema = self._page[0].schema
        page = pa.Table.from_batches(self._page)
        shown = [n for n in schema.names if self.all_columns or page.column(n).null_count < page.num_rows]
        texts = {
            n: [t for b in self._page for t in cells(b.column(b.schema.get_field_index(n)))][: PAGE * 5] for n in shown
        }
        wanted = [max(cell_len(visible(n)), *(cell_len(t) for t in texts[n]), 1) for n in shown]
        widths = fit(wanted, self.width)
        self._columns = [(n, w, _is_number(schema.field(n).type)) for n, w in zip(shown, widths, strict=False)]
        self.hidden.update(shown[len(widths) :])
        if self._columns:
            self._line([(visible(n), w, right) for n, w, right in self._columns], self.bold)
        for batch in self._page:
            self._print(batch)
        self._page = []

    def _print(self, batch: pa.RecordBatch) -> None:
        assert self._columns is not None
        names = [n for n, _, _ in self._columns]
        for name in batch.schema.names:
            column = batch.column(batch.schema.get_field_index(name))
            if name not in names and column.null_count < len(column):
                self.hidden.add(name)
        texts = [cells(batch.column(batch.schema.get_field_index(name))) for name in names]
        for row in zip(*texts, strict=True):
            self._line([(text, w, right) for text, (_, w, right) in zip(row, self._columns, strict=True)])
        self.out.flush()

    def _line(self, row: Sequence[tuple[str, int, bool]], bold: bool = False) -> None:
        line = GAP.join(pad(text, width, right) for text, width, right in row).rstrip()
        self.out.write((f"\x1b[1m{line}\x1b[0m\n" if bold else line + "\n").encode())


def cells(column: pa.Array, show: Callable[[str], str] = visible) -> list[str]:
    """Each value as text that went through ``show``; nulls are empty, lists joined by commas."""
    if pa.types.is_list(column.type):
        return ["" if row.values is None else ",".join(cells(row.values, show)) for row in column]
    if pa.types.is_timestamp(column.type):
        return [text or "" for text in iso_times(column).to_pylist()]
    if pa.types.is_boolean(column.type):
        return [{True: "true", False: "false", None: ""}[value] for value in column.to_pylist()]
    return ["" if value is None else show(str(value)) for value in column.to_pylist()]


def fit(wanted: Sequence[int], width: int | None) -> list[int]:
    """Column widths within ``width``: the widest are cut first, the last columns dropped when all are narrow."""
    widths = [min(w, WIDEST) if width is not None else w for w in wanted]
    if width is None:
        return widths
    while widths and sum(widths) + len(GAP) * (len(widths) - 1) > width:
        widest = max(range(len(widths)), key=lambda i: (widths[i], i))
        if widths[widest] > NARROWEST:
            widths[widest] -= 1
        elif len(widths) > 1:
            widths.pop()
        else:
            return [max(1, width)]
    return widths


def pad(text: str, width: int, right: bool = False) -> str:
    """``text`` in exactly ``width`` cells; what does not fit ends in ``…``."""
    length = cell_len(text)
    if length > width:
        return set_cell_size(text, width - 1) + "…"
    return " " * (width - length) + text if right else text + " " * (width - length)


def _is_number(kind: pa.DataType) -> bool:
    return pa.types.is_integer(kind) or pa.types.is_floating(kind)
