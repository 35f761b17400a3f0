"""The tree of stats: aggregates of events by keys, and stages that the rows of the answer pass, first to last.

An answer has a column for each key and then one for each aggregate, and a row for each combination of keys that occurs.
An event that lacks the field of a key has null there; an event with a list in it counts in the row of each distinct
element. Aggregates ignore events that lack their field. Without keys an answer has one row.

Before stats have been typed against a source (``type_check.py``) their fields may be ECS names and kinds, and filters
in them untyped. The names of columns never change.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Union

from watchfloor.schema.filter.tree import Filter


@dataclass(frozen=True)
class Aggregate:
    """A column of the answer that is computed from the events of its row.

    ``function`` is one of ``names.FUNCTIONS``. ``field`` is None for ``count()`` and ``count_if(FILTER)``; the latter
    is the function ``count`` with a ``where``. ``share`` is that of a quantile, 0 < share < 1, and None for others.
    """

    function: str
    name: str
    field: str | None = None
    where: Filter | None = None
    share: float | None = None


@dataclass(frozen=True)
class FieldKey:
    """The values of a field."""

    name: str
    field: str


@dataclass(frozen=True)
class BucketKey:
    """The times of events, each cut to the start of its bucket of ``width`` µs; buckets count from 1970 UTC."""

    name: str
    width: int


@dataclass(frozen=True)
class PrefixKey:
    """The networks of a field's addresses, with ``bits`` of IPv4 and ``bits6`` of IPv6 addresses."""

    name: str
    field: str
    bits: int
    bits6: int


Key = Union[FieldKey, BucketKey, PrefixKey]


@dataclass(frozen=True)
class Order:
    """A column by which rows are sorted."""

    column: str
    descending: bool


@dataclass(frozen=True)
class Sort:
    """Sorts the rows by the first column, equal ones by the next."""

    orders: tuple[Order, ...]


@dataclass(frozen=True)
class Limit:
    """Keeps the first ``rows`` rows."""

    rows: int


@dataclass(frozen=True)
class Having:
    """Keeps the rows that a filter holds for; its fields are columns of the answer."""

    where: Filter


Stage = Union[Sort, Limit, Having]


@dataclass(frozen=True)
class Stats:
    """A whole aggregation. The names of the aggregates and keys all differ."""

    aggregates: tuple[Aggregate, ...]
    keys: tuple[Key, ...] = ()
    stages: tuple[Stage, ...] = ()
