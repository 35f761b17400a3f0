"""A running query: its record batches, and a summary of how far it has come."""

from __future__ import annotations

import threading
import time
from collections.abc import Generator, Iterator
from typing import Any

import pyarrow as pa

from watchfloor.planner.plan import Plan
from watchfloor.query.batches.policy import BatchRun
from watchfloor.query.texts.event_ids import ID_COLUMN, format_ids
from watchfloor.schema.errors import WatchfloorError
from watchfloor.schema.times import format_micros
from watchfloor.store.encoding.keys import KEY_COLUMN

from .many.prepare import CheckedSources
from .preparation.batched_query import BatchedQuery
from .preparation.prepare import CheckedRequest, PreparedQuery
from .preparation.progress import QueryProgress
from .preparation.stop import QueryStop
from .sorting.prepare import SortedQuery

LISTED_BATCHES = 50
"""The number of query batches that a summary lists; later ones are left out."""
NO_CURSOR = (
    "the last row cannot be told from others of its microsecond: this reader may not see where events come from "
    "(the label of the source)"
)


class QueryResult:
    """A running query. Iterating over it yields record batches, in the order of the request.

    ``plan`` is None if the query is of several sources, or if the deadline passed before there was a plan. ``summary``
    describes the query so far. Its ``status`` is ``running``, ``complete``, ``limit`` or ``deadline`` (ended there;
    more events may exist), ``failed``, or ``cancelled``.
    """

    def __init__(
        self,
        checked: CheckedRequest | CheckedSources,
        query: BatchedQuery | SortedQuery | None,
        progress: QueryProgress,
        stop: QueryStop,
        batches: Iterator[pa.RecordBatch],
        started: float,
    ) -> None:
        """``query`` is None if it was not prepared by the deadline, or is prepared when the first batch is taken.

        ``started`` is a time of ``time.perf_counter``.
        """
        self.schema = make_result_schema(checked)
        self._checked, self._query = checked, query
        self._progress, self._stop, self._batches, self._started = progress, stop, batches, started
        self._status = "running"
        self._seconds: float | None = None
        self._plan_seconds = time.perf_counter() - started
        # A thread holds this lock while it takes the next of ``_batches``.
        self._reading = threading.Lock()

    def adopt_query(self, checked: CheckedRequest | CheckedSources, query: BatchedQuery | SortedQuery) -> None:
        """Takes the query that is about to run, which was prepared after this result was made."""
        self._checked, self._query = checked, query
        self._plan_seconds = time.perf_counter() - self._started

    @property
    def plan(self) -> Plan | None:
        return self._query.plan if isinstance(self._query, PreparedQuery | SortedQuery) else None

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        for batch in self.iterate_with_keys():
            yield self.show_columns(batch)

    def show_columns(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Returns the columns of the result, of a batch with keys."""
        shown = batch.select(self._checked.schema.names)
        if not self._checked.request.ids:
            return shown
        source = self._checked.source.name if isinstance(self._checked, CheckedRequest) else None
        return shown.append_column(ID_COLUMN, format_ids(batch.column(KEY_COLUMN), source))

    def iterate_with_keys(self) -> Iterator[pa.RecordBatch]:
        """Yields the same batches with the column ``KEY_COLUMN``, by which the events are ordered."""
        try:
            while True:
                with self._reading:
                    batch = next(self._batches, None)
                if batch is None:
                    break
                yield batch
        except WatchfloorError:
            self._end("failed")
            raise
        except GeneratorExit:
            self.close()
            raise
        self._end("limit" if self._progress.limit_reached else self._stop.reason or "complete")

    def close(self) -> None:
        """Ends the query, on the servers too; does nothing if it has ended. Any thread may call it.

        A thread that waits for rows is woken and finds the query at its end.
        """
        if self._status == "running":
            self._stop.end_query("cancelled")
        self._stop.cancel_deadline()
        # A thread that is reading comes to the end by itself.
        if self._reading.acquire(blocking=False):
            try:
                if isinstance(self._batches, Generator):
                    self._batches.close()
            finally:
                self._reading.release()
        self._end("cancelled")

    @property
    def summary(self) -> dict[str, Any]:
        """Status, rows, query batches run, seconds in all and to the first rows (planning included), and the plan.

        If rows may be missing, ``cursor`` is included: a query with it continues after the last row of this query.
        """
        progress = self._progress
        first = None if progress.first_seconds is None else round(self._plan_seconds + progress.first_seconds, 6)
        seconds = self._seconds if self._seconds is not None else time.perf_counter() - self._started
        return {
            "status": self._status,
            "rows": progress.rows,
            "batches": len(progress.batch_runs),
            "seconds": round(seconds, 6),
            "first_seconds": first,
            "plan_seconds": round(self._plan_seconds, 6),
            **({"plan": None} if self._query is None else self._query.describe_plans()),
            "query_batches": [self._describe_run(run) for run in progress.batch_runs[:LISTED_BATCHES]],
            **self._describe_cursor(),
        }

    @property
    def batch_runs(self) -> tuple[BatchRun, ...]:
        """The query batches that have run."""
        return tuple(self._progress.batch_runs)

    def _describe_cursor(self) -> dict[str, str]:
        """Returns the summary's cursor, or the reason why there is none; an empty dictionary if no rows are missing."""
        key = self._progress.last_key
        if self._status in ("running", "complete"):
            return {}
        if self._progress.no_cursor is not None:
            return {"no_cursor": self._progress.no_cursor}
        if self._query is None or key is None:
            # No row was handed out, so the next query has the same cursor as this one.
            resumed = self._checked.request.cursor
            return {"cursor": resumed} if resumed else {}
        cursor = self._query.make_cursor(key)
        if not cursor.is_exact:
            return {"no_cursor": NO_CURSOR}
        return {"cursor": self._checked.write_cursor(cursor)}

    def _describe_run(self, run: BatchRun) -> dict[str, Any]:
        """Returns what a summary says of a query batch. Ends that are open are shown where events were known to end."""
        since, until = run.batch.since, run.batch.until
        if isinstance(self._query, PreparedQuery) and not self._query.repeats_rows(run.batch):
            first, last = self._query.known
            since, until = min(max(since, first), until), max(min(until, last), since)
        return {
            "since": format_micros(since),
            "until": format_micros(until),
            "rows": run.rows,
            "seconds": round(run.seconds, 6),
            "because": run.batch.because,
        }

    def _end(self, status: str) -> None:
        if self._status == "running":
            self._status = status
            self._seconds = time.perf_counter() - self._started


def make_result_schema(checked: CheckedRequest | CheckedSources) -> pa.Schema:
    """Returns the schema of a request's result."""
    return checked.schema.append(pa.field(ID_COLUMN, pa.string())) if checked.request.ids else checked.schema
