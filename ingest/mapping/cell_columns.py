"""Takes texts apart into cells between delimiters, whatever number of cells each text has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from watchfloor.ingest.columns.rows import Rows
from watchfloor.ingest.columns.separated import SeparatedRows, split_slowly

_MOST_CELLS = 1000


class CellColumns:
    """The member ``cells`` of a definition's ``parser``."""

    def __init__(self, told: Mapping[str, Any]) -> None:
        self.group: str = told["of"]
        self._names = tuple(told["columns"])
        self._delimiter: str = told.get("delimiter", ",")
        self._quote: str | None = told.get("quote", '"')

    def split(self, text: pa.StringArray) -> dict[str, pa.StringArray]:
        """Returns a raw column of each cell, null for texts that have fewer cells or none.

        A text whose quotes do not fit has no cells.
        """
        if text.null_count == len(text):
            return {}
        rows = _find_rows(pc.fill_null(text, ""))
        quote = None if self._quote is None else ord(self._quote)
        cells = SeparatedRows(rows, ord(self._delimiter), quote)
        wholes: list[tuple[pa.Array, list[pa.StringArray]]] = []
        plain = text.is_valid().to_numpy(zero_copy_only=False) & ~cells.is_odd & (cells.widths <= _MOST_CELLS)
        for width in np.unique(cells.widths[plain]).tolist():
            keep = np.flatnonzero(plain & (cells.widths == width))
            wholes.append((pa.array(keep), list(cells.cut(keep, width, range(width)))))
        for row in np.flatnonzero(cells.is_odd).tolist():
            try:
                line = split_slowly(text[row].as_py(), self._delimiter, self._quote)
            except ValueError:
                continue
            wholes.append((pa.array([row], pa.int64()), [pa.array([cell], pa.string()) for cell in line[:_MOST_CELLS]]))
        return self._join(wholes, len(text))

    def _join(self, wholes: list[tuple[pa.Array, list[pa.StringArray]]], count: int) -> dict[str, pa.StringArray]:
        """Returns columns over all texts from the cells of texts that have equally many."""
        if not wholes:
            return {}
        places = np.full(count, -1, np.int64)
        places[np.concatenate([rows.to_numpy() for rows, _ in wholes])] = np.arange(
            sum(len(rows) for rows, _ in wholes)
        )
        taken = pa.array(places, mask=places < 0)
        columns: dict[str, pa.StringArray] = {}
        for number in range(max(len(columns) for _, columns in wholes)):
            name = self._names[number] if number < len(self._names) else f"cell {number + 1}"
            pieces = [cut[number] if number < len(cut) else pa.nulls(len(rows), pa.string()) for rows, cut in wholes]
            columns[name] = pa.concat_arrays(pieces).take(taken)
        return columns


def _find_rows(text: pa.StringArray) -> Rows:
    """Returns texts as rows over the bytes of their column."""
    bounds = np.frombuffer(text.buffers()[1], np.int32, len(text) + 1, text.offset * 4).astype(np.int64)
    data = b"" if text.buffers()[2] is None else text.buffers()[2].to_pybytes()
    return Rows(data, 0, bounds[:-1], bounds[1:])
