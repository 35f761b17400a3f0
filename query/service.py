"""A query from its text to its events, and the answers that counts alone give.

The main flow is ``QueryService.run``: type the filter, read densities, plan, cut into query batches, execute.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from watchfloor.planner.access.counts import ConditionCount, Counts
from watchfloor.planner.plan import Plan
from watchfloor.planner.planner import PlanRequest, list_conditions, make_plan
from watchfloor.query.batches.expected import Expected
from watchfloor.query.batches.policies import BatchSettings, first_width, make_policy
from watchfloor.schema.choices import MAX_DEADLINE
from watchfloor.schema.errors import StoreError, TimeRangeError, UserError
from watchfloor.schema.filter.tree import Compare, Filter, Value
from watchfloor.schema.filter.type_check import type_filter, typed_filter
from watchfloor.schema.source import Field, Source
from watchfloor.schema.times import END_OF_TIME, from_micros
from watchfloor.store.encoding.keys import HOUR
from watchfloor.store.layout import IndexCount
from watchfloor.store.layouts.counts import CountReader, Survey
from watchfloor.store.layouts.registry import layout_of
from watchfloor.store.store import Store

from .cursor import read_cursor
from .executor import Asked, Run, execute
from .explained import Explained
from .result import QueryResult
from .stop import Stop
from .watch import Watch

UNBATCHED = BatchSettings(policy="none")
SOON = 0.05
"""Seconds that the rows of a wide query batch may be later than those of a narrow one."""


@dataclass(frozen=True)
class QueryRequest:
    """What to find. ``since`` and ``until`` are µs since 1970 UTC, half-open; None is as far as there are events.

    ``where`` is a filter's text or its JSON form. ``columns`` None is all of them. ``w`` is the planner's, and
    ``planner`` which of its rules are put to the filter: all (``full``), or the ``paper``'s.
    When ``deadline`` (seconds from the start of the request) has passed, the query ends with the rows that it has.
    With a ``cursor``, from the summary of an earlier query with the same source and filter, it goes on where that
    ended; the time range is then that query's.
    """

    source: str
    since: int | None = None
    until: int | None = None
    where: str | Mapping[str, Any] | None = None
    columns: tuple[str, ...] | None = None
    limit: int | None = None
    scheme: str = "auto"
    w: float = 10.0
    planner: str = "full"
    batching: BatchSettings = field(default_factory=BatchSettings)
    deadline: float | None = None
    cursor: str | None = None


@dataclass(frozen=True)
class _Prepared:
    source: Source
    plan: Plan
    survey: Survey
    snapshot: Store


class QueryService:
    """Answers queries from one store. Safe to share between threads."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def run(self, request: QueryRequest) -> QueryResult:
        """Starts a query. ``UserError`` for a request that does not fit, ``StoreError`` when the store is down."""
        started = time.perf_counter()
        source, schema = self._checked(request)
        run = Run()
        snapshot = self._store.snapshot()
        spent = time.perf_counter() - started
        stop = Stop(snapshot, None if request.deadline is None else max(0.0, request.deadline - spent))
        try:
            asked = self._planned(request, snapshot)
        except StoreError:
            stop.over()
            if stop.why is None:
                raise
            return QueryResult(source, schema, None, run, stop, iter(()), started, request.cursor)
        except BaseException:
            stop.over()
            raise
        batches = execute(snapshot, asked, run, stop)
        return QueryResult(source, schema, asked, run, stop, batches, started, request.cursor)

    def watch(self, request: QueryRequest) -> Watch:
        """Starts to watch for events as they arrive. ``UserError`` for a request that does not fit."""
        self._checked(request)
        return Watch(self.run, request)

    def explain(self, request: QueryRequest) -> Explained:
        """How ``run`` would go about it now."""
        self._checked(request)
        asked = self._planned(request, self._store.snapshot())
        policy = request.batching.policy if asked.plan.batched else UNBATCHED.policy
        return Explained(asked.plan, policy, asked.first())

    def count(
        self,
        source: str,
        since: int | None = None,
        until: int | None = None,
        field: str | None = None,
        value: Any = None,
    ) -> int:
        """How many events there are in [since, until), or how many have ``field = value``. Exact.

        ``UserError`` for a field without an index, or with one that does not know all events of the range.
        """
        reader, known, span = self._reader(source, since, until)
        term = self._term(known, field, value, span)
        return 0 if span is None else reader.count(*span, *term)

    def top(
        self, source: str, field: str, since: int | None = None, until: int | None = None, n: int = 10
    ) -> list[tuple[Any, int]]:
        """The ``n`` values of an indexed field with the most events, with their counts. Exact."""
        reader, known, span = self._reader(source, since, until)
        named = self._indexed(known, field, span)
        if n < 1:
            raise UserError(f"n is {n}; it must be 1 or more")
        return [] if span is None else reader.top(named, *span, n)

    def timeline(
        self,
        source: str,
        since: int | None = None,
        until: int | None = None,
        bucket: str = "hour",
        field: str | None = None,
        value: Any = None,
    ) -> list[tuple[int, int]]:
        """(start in µs, count) of the buckets that have events, oldest first. Exact, in partial buckets too."""
        reader, known, span = self._reader(source, since, until)
        term = self._term(known, field, value, span)
        return reader.timeline(bucket, *(span or (0, 0)), *term)

    def _prepare(self, request: QueryRequest) -> _Prepared:
        source = self._store.source(request.source).covered_from(request.since)
        _check_range(request.since, request.until)
        tree = typed_filter(request.where, source)
        snapshot = self._store.snapshot()
        costs = layout_of(source).costs.replace_measured(self._store.costs(source.layout))
        to_plan = PlanRequest(tree, source, costs, request.scheme, request.w, request.limit, request.planner)
        conditions = list_conditions(to_plan)
        thorough = request.scheme.endswith("index")
        survey = CountReader(snapshot, source).survey(conditions, request.since, request.until, thorough)
        found = (_condition_count(survey, count) for count in survey.counts)
        plan = make_plan(to_plan, Counts(survey.total, dict(zip(conditions, found, strict=True))))
        return _Prepared(source, plan, survey, snapshot)

    def _checked(self, request: QueryRequest) -> tuple[Source, pa.Schema]:
        """The source, and the columns of the answer."""
        source = self._store.source(request.source)
        columns = self._columns(source, request.columns)
        if request.limit is not None and request.limit < 1:
            raise UserError(f"limit is {request.limit}; it must be 1 or more")
        if request.deadline is not None and not 0 < request.deadline <= MAX_DEADLINE:
            raise UserError(
                f"deadline is {request.deadline:g}; it must be above 0 and at most {MAX_DEADLINE:,} seconds"
            )
        return source, pa.schema([pa.field(name, source.field(name).arrow) for name in columns])

    def _planned(self, request: QueryRequest, snapshot: Store) -> Asked:
        """All that there is to know before the first event is read; ``snapshot`` is of this query alone."""
        after = None
        if request.cursor is not None:
            source = snapshot.source(request.source)
            after = read_cursor(request.cursor, source.name, typed_filter(request.where, source))
            request = replace(request, since=after.since, until=after.time + 1)
        prepared = QueryService(snapshot)._prepare(request)
        source, plan, survey = prepared.source, prepared.plan, prepared.survey
        settings = request.batching if plan.batched else UNBATCHED
        policy = make_policy(settings, survey.busy if plan.batched else None, _expected(survey, plan))
        width = first_width(plan.matches, survey.since, survey.until, request.batching, survey.busy)
        columns = self._columns(source, request.columns)
        return Asked(source, plan, policy, survey.since, survey.until, width, columns, request.limit, after)

    def _columns(self, source: Source, columns: tuple[str, ...] | None) -> list[str]:
        if columns is not None:
            if not columns:
                raise UserError("columns is empty; name at least one, or leave it out for all")
            return list(dict.fromkeys(source.field(name).name for name in columns))
        others = [f.name for f in source.fields if f.name != source.time_field]
        return [source.time_field, *others]

    def _reader(
        self, name: str, since: int | None, until: int | None
    ) -> tuple[CountReader, Source, tuple[int, int] | None]:
        source = self._store.source(name)
        _check_range(since, until)
        reader = CountReader(self._store, source)
        if since is not None and until is not None:
            return reader, source, (since, until)
        bounds = reader.bounds()
        if bounds is None:
            return reader, source, None
        span = (bounds[0] if since is None else since, bounds[1] if until is None else until)
        return reader, source, span if span[0] < span[1] else None

    def _term(
        self, source: Source, field: str | None, value: Any, span: tuple[int, int] | None
    ) -> tuple[Field, Value] | tuple[()]:
        if field is None:
            return ()
        named = self._indexed(source, field, span)
        if value is None:
            raise UserError(f"which value of {field}? Give one, or use top for all of them")
        tree: Filter = type_filter(Compare(field, "=", value), source)
        assert isinstance(tree, Compare)
        return named, tree.value

    def _indexed(self, source: Source, name: str, span: tuple[int, int] | None) -> Field:
        """The field, whose index knows all events of the span."""
        found = source.field(name)
        if not found.indexed:
            known = ", ".join(f.name for f in source.indexed) or "none"
            raise UserError(f"only indexed fields are counted, and {name} of {source.name} is not; indexed are {known}")
        if span is not None and not found.covers(span[0]):
            first = found.indexed_from
            since = f"events since {from_micros(first).isoformat()}" if first < END_OF_TIME else "no events yet"
            raise UserError(
                f"{name} of {source.name} was indexed later than there were events: its index knows {since}, so the "
                f"range must begin there; a query finds the older ones too"
            )
        return found


def _condition_count(survey: Survey, count: IndexCount | None) -> ConditionCount | None:
    if count is None:
        return None
    newer = 0 if count.newest is None else min(survey.total, survey.newer(count.newest))
    return ConditionCount(count.events, count.places, count.entries, newer)


def _expected(survey: Survey, plan: Plan) -> Expected:
    """Matches hour by hour, taken to be the same share of the events of each."""
    share = plan.matches / survey.total if survey.total else 0.0
    starts, ends = np.maximum(survey.hours, survey.since), np.minimum(survey.hours + HOUR, survey.until)
    estimate = plan.estimate
    return Expected.among(starts, ends, survey.events * share, streams=estimate.ahead < SOON, paged=estimate.paged)


def _check_range(since: int | None, until: int | None) -> None:
    if since is not None and until is not None and since >= until:
        raise TimeRangeError(
            f"the time range is empty: since {from_micros(since).isoformat()} is not before "
            f"until {from_micros(until).isoformat()}"
        )
