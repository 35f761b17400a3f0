"""The functions and bounds of stats, and the names of columns."""

from __future__ import annotations

import re
from collections.abc import Iterable
from decimal import Decimal

from watchfloor.schema.errors import TimeRangeError
from watchfloor.schema.field import FieldType
from watchfloor.schema.filter.values import convert_value
from watchfloor.schema.text import shorten_value
from watchfloor.schema.times import parse_duration

from .tree import Aggregate, BucketKey, FieldKey, Key, PrefixKey

FUNCTIONS = ("count", "sum", "min", "max", "avg", "distinct", "quantile", "first", "last", "values")
"""The functions of aggregates."""
MAX_LENGTH = 65_536
"""The largest number of characters in the text of stats."""
MAX_AGGREGATES = 64
MAX_KEYS = 4
MAX_STAGES = 16
MAX_ROWS = 1_000_000
"""The largest number of rows in a ``limit``."""
MIN_WIDTH, MAX_WIDTH = 1_000_000, 36_500 * 86_400_000_000
"""The bounds of a bucket's width, in microseconds."""
MAX_BITS, MAX_BITS6 = 32, 128
DEFAULT_BITS6 = 64
"""The bits of IPv6 addresses in a ``prefix`` that does not say them: one network of a site."""
MAX_NAME = 250
"""The largest number of characters in a column's name; a field's name has at most 200."""
_LONGEST_WORD = 100
_PERCENT = re.compile(r"p(\d{1,2}(?:\.\d{1,15})?)", re.ASCII)


def name_aggregate(function: str, field: str | None = None, share: float | None = None) -> str:
    """Returns the column's name of an aggregate that is given none: ``count``, ``sum_bytes``, ``p95_duration``."""
    if function == "quantile" and share is not None:
        function = f"p{format_percent(share)}"
    return function if field is None else f"{function}_{field}"


def name_call(aggregate: Aggregate) -> str:
    """Returns as ``name_aggregate`` does for what an aggregate computes, whatever its name is."""
    if aggregate.where is not None:
        return "count_if"
    return name_aggregate(aggregate.function, aggregate.field, aggregate.share)


def name_key(key: Key) -> str:
    """Returns the column's name of a key that is given none, whatever its name is."""
    match key:
        case FieldKey(_, field):
            return field
        case BucketKey():
            return "bucket"
        case PrefixKey(_, field):
            return f"prefix_{field}"


def format_percent(share: float) -> str:
    """Returns a share in percent, exactly: ``95`` for 0.95, ``99.9`` for 0.999."""
    return f"{(Decimal(repr(share)) * 100).normalize():f}"


def parse_percent(function: str) -> float | None:
    """Returns the share that a function like ``p95`` or ``p99.9`` stands for; None for other functions."""
    match = _PERCENT.fullmatch(function)
    share = float(Decimal(match[1]) / 100) if match else 0.0
    return share or None


def check_name(name: str) -> None:
    """Raises ``ValueError`` with the reason why a text cannot be a column's name."""
    if not name or len(name) > MAX_NAME:
        raise ValueError(f"a column's name has 1 to {MAX_NAME} characters, not {len(name):,}; give another one with as")
    if name.startswith("-") or not name.isprintable():
        raise ValueError(
            f"{shorten_value(name)} is no name of a column: a dash begins none, and a control character is in none"
        )


def find_repeated(names: Iterable[str]) -> int | None:
    """Returns the index of the first name that stands before it already; None if all names differ."""
    seen: set[str] = set()
    for index, name in enumerate(names):
        if name in seen:
            return index
        seen.add(name)
    return None


def describe_repeated(name: str) -> str:
    """Returns the error for a name that two columns have."""
    return f"two columns are named {shorten_value(name)}; give this one another name with as"


def convert_number(value: str | int, low: int, high: int) -> int:
    """Returns a word or a number as a whole number in [low, high]; raises ``ValueError`` with a reason."""
    number = convert_value(value, FieldType.INT, 0)
    assert isinstance(number, int)
    if not low <= number <= high:
        raise ValueError(f"{number:,} is outside {low:,} to {high:,}")
    return number


def convert_share(value: str | float) -> float:
    """Returns the share of a quantile; raises ``ValueError`` with a reason."""
    share = convert_value(value, FieldType.FLOAT, 0)
    assert isinstance(share, float)
    if not 0 < share < 1:
        raise ValueError(f"a quantile's share is between 0 and 1, such as 0.95; {shorten_value(share)} is not")
    return share


def convert_width(text: str) -> int:
    """Returns a bucket's width in microseconds; raises ``ValueError`` with a reason."""
    try:
        width = parse_duration(text if len(text) <= _LONGEST_WORD else shorten_value(text))
    except TimeRangeError as error:
        raise ValueError(str(error)) from None
    if not MIN_WIDTH <= width <= MAX_WIDTH:
        raise ValueError(f"a bucket is at least 1s and at most 36500d wide; {text} is not")
    return width
