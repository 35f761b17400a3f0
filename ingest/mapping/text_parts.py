"""Takes texts apart as a definition says: by named patterns, and a piece, or all of the text, by pairs or as cells."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from .cell_columns import CellColumns
from .pairs import PairStyle, split_pairs
from .patterns import PATTERN_COLUMN, NamedPatterns


class TextParts:
    """The members ``patterns``, ``pairs`` and ``cells`` of a definition's ``parser``."""

    def __init__(self, parser: Mapping[str, Any]) -> None:
        self._patterns = NamedPatterns(parser.get("patterns", {}))
        told = parser.get("pairs")
        self._style = None if told is None else _read_style(told)
        self._group = "" if told is None else told.get("of", "")
        self._separator_group = "" if told is None else told.get("separator_from", "")
        self._cells = CellColumns(parser["cells"]) if "cells" in parser else None

    def fits_any(self, text: pa.StringArray) -> bool:
        """Returns true if a pattern fits any of the texts."""
        column = self._patterns.match(text)[PATTERN_COLUMN]
        return bool(column.null_count < len(column))

    def split(self, text: pa.StringArray) -> dict[str, pa.StringArray]:
        """Returns the raw columns that the texts make. Of a name that is made twice, a pattern's group wins."""
        columns = self._patterns.match(text)
        if self._cells is not None and (piece := columns.pop(self._cells.group, None)) is not None:
            columns = _add_columns(columns, self._cells.split(piece))
        if self._style is None:
            return columns
        paired = columns.pop(self._group, None) if self._group else text
        if paired is not None and (named := columns.pop(self._separator_group, None)) is not None:
            paired = _unify_separators(paired, named, self._style.separator)
        return columns if paired is None else _add_columns(columns, split_pairs(paired, self._style))


def _add_columns(columns: dict[str, pa.StringArray], more: dict[str, pa.StringArray]) -> dict[str, pa.StringArray]:
    """Returns two sets of columns as one; where both have a text, it is that of the first."""
    return {**more, **{name: pc.coalesce(text, more[name]) if name in more else text for name, text in columns.items()}}


def _read_style(told: Mapping[str, Any]) -> PairStyle:
    """Returns the style that the member ``pairs`` describes."""
    separator = "\t" if "separator_from" in told else told.get("separator", " ")
    return PairStyle(separator, told.get("long", False), told.get("sign", "="))


def _unify_separators(text: pa.StringArray, named: pa.StringArray, separator: str) -> pa.StringArray:
    """Returns texts with ``separator`` in place of the one that ``named`` has for each."""
    for name in pc.unique(named.drop_null()).to_pylist():
        number = re.fullmatch(r"(?:0?x)([0-9A-Fa-f]{2})", name)
        own = chr(int(number[1], 16)) if number else name
        if own and own != separator:
            changed = pc.replace_substring(text, own, separator)
            text = pc.if_else(pc.equal(named, name).fill_null(False), changed, text)
    return text
