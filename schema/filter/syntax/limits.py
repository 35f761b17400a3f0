"""The bounds of a filter, however it is written."""

from __future__ import annotations

from collections.abc import Sequence

from watchfloor.schema.errors import FilterError

MAX_LENGTH = 65_536
"""The largest number of characters in a filter's text."""
MAX_DEPTH = 64
"""The largest number of levels in which ``and``, ``or``, ``not``, functions and operators may be nested."""
MAX_TERMS = 4_096
"""The largest number of terms of a filter: its conditions, the values of its ``in`` lists, the parts of expressions."""


def check_terms(terms: int, text: str = "", places: Sequence[int] = ()) -> None:
    """Raises ``FilterError`` if there are more than ``MAX_TERMS`` terms; ``places`` are their positions in ``text``."""
    if terms > MAX_TERMS:
        message = f"the filter has {terms:,} terms (conditions and listed values); at most {MAX_TERMS:,} fit"
        raise FilterError(message, text, places[MAX_TERMS] if places else 0)


def check_depth(depth: int, text: str = "", position: int = 0) -> None:
    """Raises ``FilterError`` if a filter is nested deeper than ``MAX_DEPTH`` levels."""
    if depth > MAX_DEPTH:
        raise FilterError(f"the filter is nested deeper than {MAX_DEPTH} levels", text, position)
