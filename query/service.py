"""A query from its text to its events, and the answers that counts alone give.

The main flow is ``QueryService.run``: type the filter, read densities, plan, cut into query batches, execute.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from watchfloor.planner.access import countable
from watchfloor.planner.cost import costs_of
from watchfloor.planner.counts import DictCounts, Known
from watchfloor.planner.plan import Plan
from watchfloor.planner.rules import SCHEMES as SCHEMES
from watchfloor.planner.rules import plan as make_plan
from watchfloor.schema.errors import TimeRangeError, UserError, WatchfloorError
from watchfloor.schema.filter import Compare, Filter, Value
from watchfloor.schema.source import END_OF_TIME, Field, Source
from watchfloor.store.counts import CountReader, Survey
from watchfloor.store.keys import HOUR
from watchfloor.store.layout import IndexCount
from watchfloor.store.store import Store

from .batching import SCAN_PAGE, BatchSettings, first_width, make_policy
from .executor import Run, execute
from .expected import Expected
from .times import from_micros
from .typing import type_filter, typed_filter


@dataclass(frozen=True)
class QueryRequest:
    """What to find. ``since`` and ``until`` are µs since 1970 UTC, half-open; None is as far as there are events.

    ``where`` is a filter's text or its JSON form. ``columns`` None is all of them. ``w`` is the planner's, and
    ``planner`` which of its rules are put to the filter: all (``full``), or the ``paper``'s.
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


class QueryResult:
    """A running query: iterate over it for record batches, newest events first.

    ``plan`` is known at once, ``summary`` as far as the query has come: its ``status`` is ``running``, ``complete``,
    ``limit`` (stopped there; more may exist) or ``failed``, or ``cancelled``.
    """

    def __init__(
        self, plan: Plan, schema: pa.Schema, run: Run, batches: Generator[pa.RecordBatch, None, None], started: float
    ) -> None:
        self.plan = plan
        self.schema = schema
        self._run, self._batches, self._started = run, batches, started
        self._status = "running"
        self._seconds: float | None = None
        self._planned = time.perf_counter() - started

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        try:
            for batch in self._batches:
                yield batch.select(self.schema.names) if len(self.schema) < batch.num_columns else batch
        except WatchfloorError:
            self._end("failed")
            raise
        except GeneratorExit:
            self.close()
            raise
        self._end("limit" if self._run.limited else "complete")

    def close(self) -> None:
        """Stops the query, on the servers too. Nothing happens to one that has ended.

        Another thread that is just waiting for rows is let finish that wait; it then finds the query stopped.
        """
        self._run.cancelled = True
        # A generator that is running in another thread cannot be closed; it looks at ``cancelled`` itself.
        with suppress(ValueError):
            self._batches.close()
        self._end("cancelled")

    @property
    def summary(self) -> dict[str, Any]:
        """Status, rows, query batches run, seconds in all and to the first rows (planning included), and the plan."""
        run = self._run
        first = None if run.first_seconds is None else round(self._planned + run.first_seconds, 6)
        seconds = self._seconds if self._seconds is not None else time.perf_counter() - self._started
        return {
            "status": self._status,
            "rows": run.rows,
            "batches": run.batches,
            "seconds": round(seconds, 6),
            "first_seconds": first,
            "plan_seconds": round(self._planned, 6),
            "plan": self.plan.to_json(),
        }

    @property
    def batches(self) -> list[tuple[int, int, int, float]]:
        """The query batches that have run: since, until (µs), rows, seconds."""
        return list(self._run.widths)

    def _end(self, status: str) -> None:
        if self._status == "running":
            self._status = status
            self._seconds = time.perf_counter() - self._started


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
        prepared = self._prepare(request)
        source, plan, survey = prepared.source, prepared.plan, prepared.survey
        columns = self._columns(source, request.columns)
        if request.limit is not None and request.limit < 1:
            raise UserError(f"limit is {request.limit}; it must be 1 or more")
        policy = make_policy(
            request.batching if plan.batched else BatchSettings(policy="none"),
            survey.busy if plan.batched else None,
            _expected(survey, plan) if plan.batched else None,
        )
        width = first_width(plan.matches, survey.since, survey.until, request.batching, survey.busy)
        run = Run()
        batches = execute(
            prepared.snapshot, source, plan, policy, survey.since, survey.until, width, columns, request.limit, run
        )
        schema = pa.schema([pa.field(name, source.field(name).arrow) for name in columns])
        return QueryResult(plan, schema, run, batches, started)

    def explain(self, request: QueryRequest) -> Plan:
        """The plan that ``run`` would follow now."""
        return self._prepare(request).plan

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
        conditions = countable(tree, source)
        thorough = request.scheme.endswith("index")
        survey = CountReader(snapshot, source).survey(conditions, request.since, request.until, thorough)
        found = (_known(survey, count) for count in survey.counts)
        counts = DictCounts(survey.total, dict(zip(conditions, found, strict=True)), missing=None)
        costs = costs_of(source.layout, self._store.costs(source.layout))
        plan = make_plan(tree, source, counts, request.scheme, request.w, costs, request.limit, request.planner)
        return _Prepared(source, plan, survey, snapshot)

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


def _known(survey: Survey, count: IndexCount | None) -> Known | None:
    if count is None:
        return None
    newer = 0 if count.newest is None else min(survey.total, survey.newer(count.newest))
    return Known(count.events, count.places, count.entries, newer)


def _expected(survey: Survey, plan: Plan) -> Expected:
    """Matches hour by hour, taken to be the same share of the events of each."""
    share = plan.matches / survey.total if survey.total else 0.0
    hours = survey.hours.items()
    spans = ((max(start, survey.since), min(start + HOUR, survey.until), count * share) for start, count in hours)
    return Expected.of((span for span in spans if span[0] < span[1]), 0.0 if plan.uses_index else SCAN_PAGE)


def _check_range(since: int | None, until: int | None) -> None:
    if since is not None and until is not None and since >= until:
        raise TimeRangeError(
            f"the time range is empty: since {from_micros(since).isoformat()} is not before "
            f"until {from_micros(until).isoformat()}"
        )
