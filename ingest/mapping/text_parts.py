"""Takes texts apart as a definition says: by named patterns, and one of the pieces, or all of the text, by pairs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from .pairs import PairStyle, split_pairs
from .patterns import NamedPatterns


class TextParts:
    """The members ``patterns`` and ``pairs`` of a definition's ``parser``."""

    def __init__(self, parser: Mapping[str, Any]) -> None:
        self._patterns = NamedPatterns(parser.get("patterns", {}))
        told = parser.get("pairs")
        self._style = None if told is None else PairStyle(told.get("separator", " "), told.get("long", False))
        self._group = "" if told is None else told.get("of", "")

    def split(self, text: pa.StringArray) -> dict[str, pa.StringArray]:
        """Returns the raw columns that the texts make. Of a name that both have, a group wins over a key."""
        columns = self._patterns.match(text)
        if self._style is None:
            return columns
        paired = columns.pop(self._group, None) if self._group else text
        return columns if paired is None else {**split_pairs(paired, self._style), **columns}
