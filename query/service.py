"""The query service: runs, explains and watches queries, and answers from counts.

``preparation/prepare.py`` prepares a query of one source and ``many/prepare.py`` one of several, ``executor.py`` runs
either, ``sorting/`` does both for queries in another order than newest first, and ``statistics.py`` has the answers
from counts alone.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pyarrow as pa

from watchfloor.schema.errors import StoreError
from watchfloor.store.layouts.count_memory import COUNT_MEMORY, Recall
from watchfloor.store.retention.policy import find_kept_from, read_policy
from watchfloor.store.snapshot import Snapshot
from watchfloor.store.store import Store
from watchfloor.store.value_lists import StoredList

from .completion import CompletionRequest, FoundValues, complete_value
from .executor import execute_query
from .explanation import Explanation, SourcesExplanation
from .finding.one_event import EventInTime, find_event
from .finding.sightings import Sightings, find_sightings
from .many.prepare import CheckedSources, PreparedSources, check_sources
from .many.selection import choose_sources, names_several
from .named_lists import ListEntry, outline_lists, read_entries
from .preparation.prepare import CheckedRequest, PreparedQuery, check_request
from .preparation.progress import QueryProgress
from .preparation.request import QueryRequest
from .preparation.stop import QueryStop
from .result import QueryResult, make_result_schema
from .sorting.prepare import SortedQuery, prepare_sorted
from .sorting.run import execute_sorted
from .statistics import count_events, count_over_time, rank_values
from .stats.prepare import PreparedStats, prepare_stats
from .stats.request import StatsQuery, check_stats
from .stats.run import StatsResult
from .subqueries import has_subqueries, resolve_stats_filter, resolve_subqueries
from .watch import Watch, check_watch


class QueryService:
    """Answers queries from one store. It may be shared between threads.

    Answers from counts raise ``StoreError`` if they take longer than ``count_seconds``; None sets no bound.
    """

    def __init__(self, store: Store, count_seconds: float | None = None) -> None:
        self._store, self._count_seconds = store, count_seconds

    def run(self, request: QueryRequest) -> QueryResult:
        """Starts a query. Raises ``UserError`` if the request does not fit and ``StoreError`` if the store is down."""
        started = time.perf_counter()
        checked = self._check_request(request)
        snapshot = self._store.snapshot()
        spent = time.perf_counter() - started
        stop = QueryStop(snapshot, None if request.deadline is None else max(0.0, request.deadline - spent))
        progress = QueryProgress()
        if has_subqueries(checked):
            return _run_later(checked, snapshot, progress, stop, started)
        query: _PreparedRequest | None = None
        with stop.guard_preparation():
            query = _prepare(checked, snapshot, Recall(self._store.get_lasting(COUNT_MEMORY), self._store))
        if query is None:  # The deadline passed before there was a plan: the answer has no rows.
            return QueryResult(checked, None, progress, stop, iter(()), started)
        batches = _execute(snapshot, query, progress, stop)
        return QueryResult(checked, query, progress, stop, batches, started)

    def explain(self, request: QueryRequest) -> Explanation | SourcesExplanation:
        """Returns the explanation of how ``run`` would answer the request now. Raises as ``run`` does."""
        with self._open_snapshot() as snapshot:
            checked, within = resolve_subqueries(snapshot, self._check_request(request))
            query = _prepare(checked, snapshot)
            if isinstance(query, PreparedSources):
                query.plan_all()
        if isinstance(query, PreparedSources) or query.plan is None:
            return SourcesExplanation(query, query.first_batch(), within)
        return Explanation(query.plan, query.policy_name, query.first_batch(), within)

    def run_stats(self, query: StatsQuery) -> StatsResult:
        """Starts an aggregation. Raises ``UserError`` if it does not fit and ``StoreError`` if the store is down."""
        started = time.perf_counter()
        checked = check_stats(self._store.catalog, query)
        snapshot = self._store.snapshot()
        spent = time.perf_counter() - started
        stop = QueryStop(snapshot, None if query.deadline is None else max(0.0, query.deadline - spent))
        if has_subqueries(checked):
            return StatsResult(
                lambda: prepare_stats(snapshot, *resolve_stats_filter(snapshot, checked)), snapshot, stop, started
            )
        prepared: PreparedStats | None = None
        with stop.guard_preparation():
            prepared = prepare_stats(snapshot, checked)
        return StatsResult(prepared, snapshot, stop, started)

    def aggregate(self, query: StatsQuery) -> pa.Table:
        """Returns the whole answer of an aggregation. Raises ``StoreError`` after ``count_seconds``, and as it does."""
        result = self.run_stats(replace(query, deadline=self._count_seconds))
        answers = deque(result, maxlen=1)
        if result.summary["status"] != "complete":
            raise StoreError(
                f"the events were not counted within {self._count_seconds:g} s; try again, or ask for less"
            )
        return answers[0].rows

    def explain_stats(self, query: StatsQuery) -> dict[str, Any]:
        """Returns how ``run_stats`` would compute the answer now, as its summary says it. Raises as it does."""
        with self._open_snapshot() as snapshot:
            checked, within = resolve_stats_filter(snapshot, check_stats(self._store.catalog, query))
            return prepare_stats(snapshot, checked, within).describe()

    def watch(self, request: QueryRequest) -> Watch:
        """Starts to watch for events as they arrive. Raises ``UserError`` if the request does not fit."""
        check_watch(request)
        return Watch(self.run, request, make_result_schema(self._check_request(request)))

    def _check_request(self, request: QueryRequest) -> CheckedRequest | CheckedSources:
        """Returns the request, checked by its source, or by its sources if it names several."""
        check = check_sources if request.own_columns or names_several(request.source) else check_request
        return check(self._store.catalog, request)

    def count_events(
        self,
        source: str,
        since: int | None = None,
        until: int | None = None,
        field: str | None = None,
        value: Any = None,
    ) -> int:
        """Returns the number of events in [since, until), or of those with ``field = value``; see ``statistics.py``."""
        with self._open_snapshot() as snapshot:
            return count_events(snapshot, source, since, until, field, value)

    def rank_values(
        self,
        source: str,
        field: str,
        since: int | None = None,
        until: int | None = None,
        limit: int = 10,
        ascending: bool = False,
    ) -> list[tuple[Any, int]]:
        """Returns (value, count) of the ``limit`` most frequent values of a field; see ``statistics.py``."""
        with self._open_snapshot() as snapshot:
            return rank_values(snapshot, source, field, since, until, limit, ascending)

    def count_over_time(
        self,
        source: str,
        since: int | None = None,
        until: int | None = None,
        bucket: str = "hour",
        field: str | None = None,
        value: Any = None,
    ) -> list[tuple[int, int]]:
        """Returns (start in µs, count) of each bucket that has events, oldest first; see ``statistics.py``."""
        with self._open_snapshot() as snapshot:
            return count_over_time(snapshot, source, since, until, bucket, field, value)

    def find_sightings(
        self,
        value: str,
        kind: str | None = None,
        since: int | None = None,
        until: int | None = None,
        sources: str = "*",
    ) -> Sightings:
        """Returns in which fields of the sources that a pattern chooses a value occurs; see ``sightings.py``."""
        with self._open_snapshot() as snapshot:
            known = snapshot.catalog.read_sources()
            chosen = [known[name] for name in choose_sources(sources, known)] if known else []
            return find_sightings(snapshot, chosen, value, kind, since, until)

    def find_retention(self, source: str) -> tuple[int | None, int]:
        """Returns for how long (µs) events of a source are kept, None is for good, and the first time that is shown."""
        with self._open_snapshot() as snapshot:
            return read_policy(snapshot, source).keep, find_kept_from(snapshot, source)

    def find_event(self, event_id: str, newer: int, older: int) -> EventInTime:
        """Returns the event of an ID with its neighbours in time, or raises ``UnknownEventError``."""
        with self._open_snapshot() as snapshot:
            return find_event(snapshot, event_id, newer, older)

    def complete_value(self, request: CompletionRequest) -> FoundValues:
        """Returns values of a field that begin with a text; see ``completion.py``."""
        return complete_value(self._store.snapshot(), self.run, request)

    def outline_lists(self) -> list[StoredList]:
        """Returns the named lists, without their entries."""
        with self._open_snapshot() as snapshot:
            return outline_lists(snapshot)

    def read_list(self, name: str, limit: int | None = None) -> tuple[StoredList, list[ListEntry]]:
        """Returns a named list with its first entries; None stands for all. Raises ``UnknownListError``."""
        with self._open_snapshot() as snapshot:
            return read_entries(snapshot, name, limit)

    @contextmanager
    def _open_snapshot(self) -> Iterator[Snapshot]:
        """Yields a snapshot whose scans end after ``count_seconds``."""
        snapshot = self._store.snapshot()
        stop = QueryStop(snapshot, self._count_seconds)
        try:
            yield snapshot
        except StoreError:
            if stop.reason is None:
                raise
            raise StoreError(f"the counts were not read within {self._count_seconds:g} s; try again") from None
        finally:
            stop.cancel_deadline()


_PreparedRequest = PreparedQuery | PreparedSources | SortedQuery


def _prepare(
    checked: CheckedRequest | CheckedSources, snapshot: Snapshot, recall: Recall | None = None
) -> _PreparedRequest:
    """Returns the prepared query, by its order."""
    return checked.prepare(snapshot, recall) if checked.request.sort is None else prepare_sorted(snapshot, checked)


def _execute(
    snapshot: Snapshot, query: _PreparedRequest, progress: QueryProgress, stop: QueryStop
) -> Generator[pa.RecordBatch, None, None]:
    """Returns the rows of a prepared query, which are read when they are asked for."""
    if isinstance(query, SortedQuery):
        return execute_sorted(snapshot, query, progress, stop)
    return execute_query(snapshot, query, progress, stop)


def _run_later(
    checked: CheckedRequest | CheckedSources,
    snapshot: Snapshot,
    progress: QueryProgress,
    stop: QueryStop,
    started: float,
) -> QueryResult:
    """Returns a query that begins when its first rows are asked for.

    So ``close`` ends the queries within its filter too, which run before it is planned.
    """

    def run() -> Generator[pa.RecordBatch, None, None]:
        query: _PreparedRequest | None = None
        with stop.guard_preparation():
            resolved, _ = resolve_subqueries(snapshot, checked)
            query = _prepare(resolved, snapshot)
        if query is not None:
            result.adopt_query(resolved, query)
            yield from _execute(snapshot, query, progress, stop)

    result = QueryResult(checked, None, progress, stop, run(), started)
    return result
