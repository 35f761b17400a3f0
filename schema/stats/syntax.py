"""Words for errors in the text of stats: the grammar's terminals, and remedies for likely mistakes."""

from __future__ import annotations

from watchfloor.schema.filter.syntax.syntax_errors import HINTS as FILTER_HINTS
from watchfloor.schema.filter.syntax.syntax_errors import TERMINAL_NAMES as FILTER_NAMES
from watchfloor.schema.filter.syntax.syntax_errors import Hint

TERMINAL_NAMES = {
    "FUNCTION": "a function such as count()",
    "_TOP": "top",
    "_RARE": "rare",
    "_TIMELINE": "timeline",
    "COLUMN": "a column",
    "BUCKET": "bucket(DURATION)",
    "PREFIX": "prefix(FIELD, BITS)",
    "NUMBER": "a number",
    "DURATION": "a duration such as 1h",
    "_SORT": "sort",
    "_HAVING": "having",
    "_LIMIT": "limit",
    "_AS": "as",
    "_BY": "by",
    "DESCENDING": "-",
    **{terminal: name for terminal, name in FILTER_NAMES.items() if terminal != "$END"},
    "VBAR": "|",
    "$END": "the end",
}
"""The grammar's terminals in words, in the order in which they are listed."""
HINTS: tuple[Hint, ...] = (
    (r"count(?:_if)?\b", {"_TOP", "_BY"}, "a function has parentheses, as in count()"),
    (
        r"(?:sum|min|max|avg|distinct|first|last|values|median|quantile|p\d\d)\b",
        {"FUNCTION"},
        "a function's field goes in parentheses, as in sum(bytes)",
    ),
    (r"\)", {"FIELD"}, "a filter has a column's name, such as count for count()"),
    (r"\*", {"FUNCTION", "FIELD"}, "events are counted with count()"),
    (r"(?:desc|asc)\b", {"VBAR"}, "descending order is written -COLUMN"),
    (r"(?:where|filter|search)\b", {"_HAVING"}, "rows are kept with having FILTER"),
    (r"(?:head|tail|take|top)\b", {"_HAVING"}, "the first rows are kept with limit N"),
    (r"(?:order|by)\b", {"_HAVING"}, "rows are sorted with sort COLUMN"),
    (r"group\b", {"_BY"}, "keys are written by FIELD"),
    *FILTER_HINTS,
)
"""Remedies for likely mistakes, in the order in which they are tried."""
SORT_HINTS: tuple[Hint, ...] = (
    (r"(?:desc|asc)\b", {"COMMA"}, "descending order is written -FIELD"),
    (r"\|", {"$END"}, "a query's limit and filter are given beside its sort"),
    *HINTS,
)
"""Remedies for likely mistakes in the order of a query's events."""
