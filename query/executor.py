"""Runs a prepared query: one query batch after the other, newest first, each through the index or as a scan."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace

import pyarrow as pa
import pyarrow.compute as pc

from watchfloor.planner.access.paths import IndexUnion, Lookup, Scan, Term, list_lookups
from watchfloor.planner.plan import Plan
from watchfloor.query.batches.policy import BatchRun
from watchfloor.schema.errors import StoreError
from watchfloor.schema.filter.tree import Condition
from watchfloor.schema.source import Source
from watchfloor.store.encoding.keys import KEY_COLUMN
from watchfloor.store.layout import ReadRequest
from watchfloor.store.layouts.registry import find_layout
from watchfloor.store.reader import Reader

from .prepare import PreparedQuery
from .stop import QueryStop

FIRST_ROWS = 20
"""The number of events after which a query hands over its first record batch: about a screen full."""
LATER_ROWS = 1000
"""The number of events after which a later query batch hands over its first record batch."""


@dataclass
class QueryProgress:
    """The rows and batches of a running query so far.

    ``started`` is a time of ``time.perf_counter``, and ``first_seconds`` the seconds from then to the first rows (None:
    no rows yet). ``last_key`` is the key of the last row that was handed out.
    """

    started: float = 0.0
    rows: int = 0
    first_seconds: float | None = None
    limit_reached: bool = False
    last_key: bytes | None = None
    batch_runs: list[BatchRun] = field(default_factory=list)

    def add_rows(self, events: pa.RecordBatch, limit: int | None) -> None:
        """Counts the events that are about to be handed out."""
        self.rows += len(events)
        self.limit_reached = limit is not None and self.rows >= limit
        if len(events):
            if self.first_seconds is None:
                self.first_seconds = time.perf_counter() - self.started
            self.last_key = events.column(KEY_COLUMN)[-1].as_py()


def execute_query(
    snapshot: Reader, query: PreparedQuery, progress: QueryProgress, stop: QueryStop
) -> Generator[pa.RecordBatch, None, None]:
    """Yields the events as record batches, newest first, and keeps ``progress`` up to date.

    Ends early, without an error, when ``stop`` ends the query.
    """
    progress.started = time.perf_counter()
    try:
        batch = query.first_batch()
        while batch is not None and not progress.limit_reached and stop.reason is None:
            run = BatchRun(batch)
            try:
                yield from _run_batch(snapshot, query, run, progress, stop)
            finally:
                progress.batch_runs.append(run)
            batch = query.next_batch(run, query.count_rows_left(progress.rows))
    except StoreError:
        # A scan that is ended from outside raises an error in the thread that reads it.
        if stop.reason is None:
            raise
    finally:
        stop.cancel_deadline()


def _run_batch(
    snapshot: Reader, query: PreparedQuery, run: BatchRun, progress: QueryProgress, stop: QueryStop
) -> Generator[pa.RecordBatch, None, None]:
    """Yields the events of one query batch, and counts them in ``run`` and ``progress``."""
    batch, repeats = run.batch, query.repeats_rows(run.batch)
    # The events before the cursor are read again. Their number is not known, so no limit can allow for them.
    limit = None if repeats else query.count_rows_left(progress.rows)
    first_rows = LATER_ROWS if progress.rows else FIRST_ROWS
    request = ReadRequest(batch.since, batch.until, None, query.columns, first_rows, limit)
    with closing(read_range(snapshot, query.source, query.plan, request)) as batches:
        for events in _time_reading(batches, run):
            if stop.reason is not None:
                return
            if repeats and query.cursor is not None:
                events = _drop_until(events, query.cursor.key)
            events = events.slice(0, query.count_rows_left(progress.rows))
            run.rows += len(events)
            progress.add_rows(events, query.limit)
            if len(events):
                yield events
            if progress.limit_reached or stop.reason is not None:
                return


def _time_reading(batches: Iterable[pa.RecordBatch], run: BatchRun) -> Iterator[pa.RecordBatch]:
    """Yields the batches, and adds the seconds spent waiting for them to ``run``, without the consumer's own time."""
    iterator = iter(batches)
    while True:
        began = time.perf_counter()
        batch = next(iterator, None)
        run.seconds += time.perf_counter() - began
        if batch is None:
            return
        yield batch


def read_range(
    snapshot: Reader, source: Source, plan: Plan, request: ReadRequest
) -> Generator[pa.RecordBatch, None, None]:
    """Yields the events of one time range, newest first.

    Reads from ``snapshot`` while it is fresh, otherwise from a newer one. The plan has the filter; that of ``request``
    is ignored.
    """
    layout, snapshot = find_layout(source), snapshot.snapshot()
    access = plan.access
    if isinstance(access, Scan):
        yield from layout.scan_events(snapshot, source, replace(request, where=plan.residual))
        return
    conditions = list(dict.fromkeys(term.condition for term in list_lookups(access)))
    ids = layout.find_hits(snapshot, source, conditions, request.since, request.until)
    hits = _combine_ids(access, dict(zip(conditions, ids, strict=True)))
    # Hits that are not exact may lead to events that the index was not asked for: the whole filter is evaluated.
    where = plan.residual if layout.hits_exact else plan.tree
    yield from layout.fetch_events(snapshot, source, hits, replace(request, where=where))


def _drop_until(events: pa.RecordBatch, key: bytes) -> pa.RecordBatch:
    """Returns the events whose keys sort after ``key``."""
    return events.filter(pc.greater(events.column(KEY_COLUMN), pa.scalar(key, pa.binary())))


def _combine_ids(term: Term, ids: Mapping[Condition, pa.Array]) -> pa.Array:
    """Returns the sorted IDs that an access path leads to; ``ids`` are the sorted IDs of each condition."""
    if isinstance(term, Lookup):
        return ids[term.condition]
    parts = [_combine_ids(part, ids) for part in term.terms]
    return unite_ids(parts) if isinstance(term, IndexUnion) else intersect_ids(parts)


def unite_ids(parts: Sequence[pa.Array]) -> pa.Array:
    """Returns the sorted IDs that are in any part; the parts are sorted."""
    if len(parts) == 1:
        return parts[0]
    distinct = pc.unique(pa.concat_arrays(parts))
    return distinct.take(pc.sort_indices(distinct))


def intersect_ids(parts: Sequence[pa.Array]) -> pa.Array:
    """Returns the sorted IDs that are in every part; the parts are sorted."""
    smallest, *others = sorted(parts, key=len)
    for other in others:
        smallest = smallest.filter(pc.is_in(smallest, value_set=other))
    return smallest
