"""Named regular expressions over a column of texts: the groups of the first that fits become raw columns."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
import pyarrow.compute as pc

PATTERN_COLUMN = "(pattern)"
"""The raw column with the name of the pattern that has matched."""
_NOTHING = pa.scalar(None, pa.string())


class NamedPatterns:
    """Regular expressions of RE2 with named groups, by their names in the order in which they are tried."""

    def __init__(self, patterns: Mapping[str, str]) -> None:
        self._patterns = patterns

    def match(self, text: pa.StringArray) -> dict[str, pa.StringArray]:
        """Returns a raw column of each group, and ``PATTERN_COLUMN``, both null where no pattern has matched.

        A group that has no part in a match is an empty text.
        """
        columns: dict[str, pa.StringArray] = {PATTERN_COLUMN: pa.nulls(len(text), pa.string())}
        rest = text
        for name, pattern in self._patterns.items():
            found = pc.extract_regex(rest, pattern)
            if found.null_count == len(found):
                continue
            fits = found.is_valid()
            groups = {f.name: pc.if_else(fits, found.field(f.name), _NOTHING) for f in found.type}
            groups[PATTERN_COLUMN] = pc.if_else(fits, pa.scalar(name), _NOTHING)
            for group, values in groups.items():
                columns[group] = pc.coalesce(columns[group], values) if group in columns else values
            rest = pc.if_else(fits, _NOTHING, rest)
            if rest.null_count == len(rest):
                break
        return columns
