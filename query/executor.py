"""Runs a prepared query: one query batch after the other, newest first, each through the index or as a scan."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterable, Iterator
from contextlib import closing

import pyarrow as pa
import pyarrow.compute as pc

from watchfloor.query.batches.policy import BatchRun
from watchfloor.schema.errors import StoreError
from watchfloor.store.encoding.keys import KEY_COLUMN
from watchfloor.store.layout import ReadRequest
from watchfloor.store.reader import Reader

from .preparation.batched_query import BatchedQuery
from .preparation.progress import QueryProgress
from .preparation.stop import QueryStop

FIRST_ROWS = 20
"""The number of events after which a query hands over its first record batch: about a screen full."""
LATER_ROWS = 1000
"""The number of events after which a later query batch hands over its first record batch."""


def execute_query(
    snapshot: Reader, query: BatchedQuery, progress: QueryProgress, stop: QueryStop
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
    snapshot: Reader, query: BatchedQuery, run: BatchRun, progress: QueryProgress, stop: QueryStop
) -> Generator[pa.RecordBatch, None, None]:
    """Yields the events of one query batch, and counts them in ``run`` and ``progress``."""
    batch, repeats = run.batch, query.repeats_rows(run.batch)
    # The events before the cursor are read again. Their number is not known, so no limit can allow for them.
    limit = None if repeats else query.count_rows_left(progress.rows)
    first_rows = LATER_ROWS if progress.rows else FIRST_ROWS
    request = ReadRequest(batch.since, batch.until, None, (), first_rows, limit)
    with closing(query.read_batch(snapshot, request)) as batches:
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


def _drop_until(events: pa.RecordBatch, key: bytes) -> pa.RecordBatch:
    """Returns the events whose keys sort after ``key``."""
    return events.filter(pc.greater(events.column(KEY_COLUMN), pa.scalar(key, pa.binary())))
