"""Runs a query with a sort: asks the tablet servers slice by slice, then hands out the rows."""

from __future__ import annotations

import time
from collections.abc import Generator
from contextlib import closing
from datetime import datetime

import pyarrow as pa

from watchfloor.query.batches.policy import Batch, BatchRun
from watchfloor.query.preparation.progress import QueryProgress
from watchfloor.query.preparation.read_range import find_top_range
from watchfloor.query.preparation.stop import QueryStop
from watchfloor.schema.errors import StoreError
from watchfloor.schema.times import to_micros
from watchfloor.store.layout import TopRequest
from watchfloor.store.snapshot import Snapshot
from watchfloor.store.sorting.keys import make_bound_condition

from .found_rows import FoundRows
from .prepare import SortedPart, SortedQuery

FETCH_SECONDS = 0.5
"""Seconds after which the rows found so far are fetched, so that a deadline leaves them, by the same snapshot."""
HANDED_ROWS = 1000
"""The most rows in a record batch that is handed out."""
PARTIAL = (
    "the deadline passed before all events were looked at, so the first rows of the order are not known; give the "
    "query more time, or a shorter time range"
)


def execute_sorted(
    snapshot: Snapshot, query: SortedQuery, progress: QueryProgress, stop: QueryStop
) -> Generator[pa.RecordBatch, None, None]:
    """Yields the rows in their order, when the order is known, and keeps ``progress`` up to date.

    If ``stop`` ends the query at its deadline, the rows are the first of the events that were looked at by then.
    """
    progress.started = time.perf_counter()
    found = FoundRows(query.parts, query.limit, query.after)
    is_whole = False
    try:
        is_whole = _search(snapshot, query, found, progress, stop)
    except StoreError:
        if stop.reason is None:
            raise
    finally:
        stop.cancel_deadline()
    if found.rows is None or stop.reason == "cancelled":
        return
    progress.no_cursor = None if is_whole else PARTIAL
    for batch in found.rows.combine_chunks().to_batches(HANDED_ROWS):
        progress.add_rows(batch, query.limit if is_whole else None)
        yield batch


def _search(snapshot: Snapshot, query: SortedQuery, found: FoundRows, progress: QueryProgress, stop: QueryStop) -> bool:
    """Finds the first rows of all slices. Returns False if ``stop`` has ended the query before."""
    reader, fetched_at = snapshot.snapshot(), time.monotonic()
    for number, part in enumerate(query.parts):
        for one in part.slices:
            bound = found.bound
            if bound is not None and _is_beyond(part, one, bound):
                continue
            run, began = BatchRun(one), time.perf_counter()
            progress.batch_runs.append(run)
            request = TopRequest(one.since, one.until, None, part.program, query.limit, query.after, bound, part.suffix)
            with closing(find_top_range(reader, part.source, part.plan, request)) as batches:
                run.rows = found.add_found(number, batches)
            run.seconds = time.perf_counter() - began
            if stop.reason is not None:
                return False
            if time.monotonic() - fetched_at > FETCH_SECONDS:
                found.fetch_rows(reader)
                # The hits of one snapshot are not to be fetched by another one.
                reader, fetched_at = snapshot.snapshot(), time.monotonic()
    found.fetch_rows(reader)
    return stop.reason is None


def _is_beyond(part: SortedPart, one: Batch, bound: bytes) -> bool:
    """Returns whether all events of a slice come after the bound, as far as its time range tells."""
    first = part.sort.orders[0]
    condition = make_bound_condition(part.sort.orders, part.source, bound)
    if first.column != part.source.time_field or condition is None or not isinstance(condition.value, datetime):
        return False
    last = to_micros(condition.value)
    return one.until <= last if first.descending else one.since > last
