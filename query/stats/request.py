"""The request of an aggregation, checked by its source."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from watchfloor.query.preparation.lists import QueryLists
from watchfloor.query.preparation.request import QueryRequest, check_limits
from watchfloor.schema.filter.tree import Filter
from watchfloor.schema.filter.type_check import read_typed_filter
from watchfloor.schema.source import Source
from watchfloor.schema.stats.type_check import TypedStats, read_stats
from watchfloor.schema.times import clip_range
from watchfloor.store.catalog import Catalog

MAX_GROUPS = 1_000_000
"""The default for the largest number of groups of an answer."""


@dataclass(frozen=True)
class StatsQuery:
    """A request for statistics of the events of one source that satisfy ``where``, in [since, until) (µs).

    ``stats`` is a pipe as text or in its JSON form (``schema/stats``). More than ``max_groups`` groups are an error.
    The other members are as in ``QueryRequest``.
    """

    source: str
    stats: str | Mapping[str, Any]
    where: str | Mapping[str, Any] | None = None
    since: int | None = None
    until: int | None = None
    scheme: str = "auto"
    max_groups: int = MAX_GROUPS
    deadline: float | None = None


@dataclass(frozen=True)
class CheckedStats:
    """A request that fits its source; ``tree`` is the typed filter, and the range is cut to possible times."""

    query: StatsQuery
    source: Source
    typed: TypedStats
    tree: Filter | None
    since: int | None
    until: int | None
    meanings: Mapping[str, tuple[str, ...]]


def check_stats(catalog: Catalog, query: StatsQuery) -> CheckedStats:
    """Returns the request, checked and resolved by its source. Raises ``UserError`` if it does not fit."""
    source = catalog.find_source(query.source)
    check_limits(QueryRequest(query.source, query.since, query.until, deadline=query.deadline))
    lists = QueryLists(catalog)
    filtered = read_typed_filter(query.where, source, catalog=lists)
    typed = read_stats(query.stats, source, catalog=lists)
    tree, meanings = (None, {}) if filtered is None else (filtered.tree, filtered.meanings)
    since, until = clip_range(query.since, query.until)
    return CheckedStats(query, source, typed, tree, since, until, {**meanings, **typed.meanings})
