"""Takes texts apart as a definition says: by named patterns, and a piece, or all of the text, by pairs or as cells."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from .cell_columns import CellColumns
from .pairs import PairStyle, split_pairs
from .patterns import NamedPatterns


class TextParts:
    """The members ``patterns``, ``pairs`` and ``cells`` of a definition's ``parser``."""

    def __init__(self, parser: Mapping[str, Any]) -> None:
        self._patterns = NamedPatterns(parser.get("patterns", {}))
        told = parser.get("pairs")
        self._style = None if told is None else PairStyle(told.get("separator", " "), told.get("long", False))
        self._group = "" if told is None else told.get("of", "")
        self._cells = CellColumns(parser["cells"]) if "cells" in parser else None

    def split(self, text: pa.StringArray) -> dict[str, pa.StringArray]:
        """Returns the raw columns that the texts make. Of a name that several make, a group wins."""
        columns = self._patterns.match(text)
        if self._cells is not None and (piece := columns.pop(self._cells.group, None)) is not None:
            columns = {**self._cells.split(piece), **columns}
        if self._style is None:
            return columns
        paired = columns.pop(self._group, None) if self._group else text
        return columns if paired is None else {**split_pairs(paired, self._style), **columns}
