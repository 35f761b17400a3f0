"""Runs the queries within filters: ``uid in (zeek.notice where note = "Scan" | uid)``.

The query within runs first, as an aggregation by its field: with the reader's authorizations, in the time range of the
query around it, and under that query's deadline. What it finds is then a list like any other.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from hashlib import blake2b

import pyarrow as pa
import pyarrow.compute as pc

from watchfloor.schema.errors import UserError
from watchfloor.schema.field import Field
from watchfloor.schema.filter.print import format_query
from watchfloor.schema.filter.tree import And, Filter, InQuery, Not, Or, list_conditions
from watchfloor.schema.filter.value_list import ValueList
from watchfloor.schema.stats.tree import Aggregate, FieldKey, Stats
from watchfloor.schema.stats.type_check import type_stats
from watchfloor.store.encoding.value_sets import make_value_set
from watchfloor.store.encoding.values import encode_elements
from watchfloor.store.snapshot import Snapshot

from .many.prepare import CheckedSources
from .preparation.prepare import CheckedRequest
from .preparation.stop import QueryStop
from .preparation.subquery import Subquery
from .stats.prepare import prepare_stats
from .stats.request import CheckedStats, StatsQuery
from .stats.run import StatsResult

MAX_FOUND = 100_000
"""The largest number of values that a query within a filter may find."""


def has_subqueries(checked: CheckedRequest | CheckedSources | CheckedStats) -> bool:
    """Returns whether the filter of a request has queries within it."""
    trees = [part.tree for part in checked.parts] if isinstance(checked, CheckedSources) else [checked.tree]
    return any(isinstance(c, InQuery) for tree in trees if tree is not None for c in list_conditions(tree))


def resolve_subqueries(
    snapshot: Snapshot, checked: CheckedRequest | CheckedSources
) -> tuple[CheckedRequest | CheckedSources, tuple[Subquery, ...]]:
    """Returns a checked request whose filter has what the queries within it have found, each of which runs once.

    Raises ``UserError`` if one finds too much, and ``StoreError`` if the scans of ``snapshot`` are ended.
    """
    runner = _Runner(snapshot)
    parts = checked.parts if isinstance(checked, CheckedSources) else (checked,)
    found = tuple(replace(part, tree=_find_all(runner, part.tree, part.pins.since, part.pins.until)) for part in parts)
    return replace(checked, parts=found) if isinstance(checked, CheckedSources) else found[0], tuple(runner.done)


def resolve_stats_filter(snapshot: Snapshot, checked: CheckedStats) -> tuple[CheckedStats, tuple[Subquery, ...]]:
    """Returns checked stats as ``resolve_subqueries`` does."""
    runner = _Runner(snapshot)
    tree = _find_all(runner, checked.tree, checked.since, checked.until)
    return replace(checked, tree=tree), tuple(runner.done)


def _find_all(runner: _Runner, tree: Filter | None, since: int | None, until: int | None) -> Filter | None:
    """Returns a filter with what the queries within it find in [since, until)."""
    return None if tree is None else _replace_queries(tree, lambda query: runner.find_values(query, since, until))


def _replace_queries(tree: Filter, find: Callable[[InQuery], ValueList]) -> Filter:
    """Returns a filter with the values of each query within it."""
    match tree:
        case And(children) | Or(children):
            return type(tree)(tuple(_replace_queries(child, find) for child in children))
        case Not(child):
            return Not(_replace_queries(child, find))
        case InQuery():
            return replace(tree, values=find(tree))
    return tree


class _Runner:
    """Runs queries within one filter, each distinct one once; ``done`` are those that have run."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._found: dict[str, ValueList] = {}
        self.done: list[Subquery] = []

    def find_values(self, query: InQuery, since: int | None, until: int | None) -> ValueList:
        """Returns the distinct values that a query finds in [since, until)."""
        text = format_query(query)
        if text not in self._found:
            self._found[text] = self._run(query, text, since, until)
        return self._found[text]

    def _run(self, query: InQuery, text: str, since: int | None, until: int | None) -> ValueList:
        started = time.perf_counter()
        source = self._snapshot.catalog.find_source(query.source)
        column = source.find_field(query.column)
        stats = type_stats(Stats((Aggregate("count", "(count)"),), (FieldKey(column.name, column.name),)), source)
        asked = StatsQuery(source.name, "", since=since, until=until, max_groups=MAX_FOUND + 1)
        prepared = prepare_stats(self._snapshot, CheckedStats(asked, source, stats, query.where, since, until, {}))
        # The query around it has the deadline; it ends the scans of the snapshot.
        result = StatsResult(prepared, self._snapshot, QueryStop(self._snapshot), started)
        try:
            answers = deque(result, maxlen=1)
            values = answers[0].rows.column(0).combine_chunks().drop_null() if answers else None
        except UserError:
            raise _say_too_many(text) from None
        if values is None or len(values) > MAX_FOUND:
            raise _say_too_many(text)
        seconds = time.perf_counter() - started
        self.done.append(Subquery(text, len(values), seconds, prepared.describe()))
        return _make_list(text, column, values)


def _say_too_many(text: str) -> UserError:
    return UserError(
        f"the query ({text}) within the filter finds more than {MAX_FOUND:,} values; narrow its filter or the time "
        f"range, or put its values in a list (watchfloor lists put)"
    )


def _make_list(text: str, column: Field, values: pa.Array) -> ValueList:
    """Returns the list of some distinct values. Its version is a digest of them."""
    content = make_value_set(encode_elements(column, pc.unique(values)))
    version = int.from_bytes(blake2b(content.packed, digest_size=8).digest(), "big")
    return ValueList(text, version, column.scalar, len(content.values), content)
