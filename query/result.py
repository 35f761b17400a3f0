"""A running query: its record batches, and what can be said of it so far."""

from __future__ import annotations

import threading
import time
from collections.abc import Generator, Iterator
from typing import Any

import pyarrow as pa

from watchfloor.planner.plan import Plan
from watchfloor.schema.errors import WatchfloorError
from watchfloor.schema.source import Source
from watchfloor.schema.times import format_micros

from .cursor import Cursor
from .executor import Asked, Ran, Run
from .stop import Stop

LISTED = 50
"""Query batches that a summary lists at most: the first."""
NO_CURSOR = (
    "the last row cannot be told from others of its microsecond: this reader may not see where events come from "
    "(the label of the source)"
)


class QueryResult:
    """A running query: iterate over it for record batches, newest events first.

    ``plan`` is known at once, but for a query whose deadline passed before there was one. ``summary`` is known as far
    as the query has come: its ``status`` is ``running``, ``complete``, ``limit`` (stopped there; more may exist),
    ``deadline`` (it passed; more may exist), ``failed``, or ``cancelled``.
    """

    def __init__(
        self,
        source: Source,
        schema: pa.Schema,
        asked: Asked | None,
        run: Run,
        stop: Stop,
        batches: Iterator[pa.RecordBatch],
        started: float,
        resumed: str | None = None,
    ) -> None:
        """``started`` is by ``time.perf_counter``; ``resumed`` the text of the cursor that the query began with."""
        self.schema = schema
        self._source, self._asked, self._resumed = source, asked, resumed
        self._run, self._stop, self._batches, self._started = run, stop, batches, started
        self._status = "running"
        self._seconds: float | None = None
        self._planned = time.perf_counter() - started
        self._turn = threading.Lock()
        """Held by the thread that is in ``_batches``."""

    @property
    def plan(self) -> Plan | None:
        return None if self._asked is None else self._asked.plan

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        for batch in self.with_keys():
            yield batch.select(self.schema.names) if len(self.schema) < batch.num_columns else batch

    def with_keys(self) -> Iterator[pa.RecordBatch]:
        """The same batches with ``_key`` as their last column, by which they are ordered."""
        try:
            while True:
                with self._turn:
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
        self._end("limit" if self._run.limited else self._stop.why or "complete")

    def close(self) -> None:
        """Stops the query, on the servers too. Nothing happens to one that has ended.

        From any thread: one that is waiting for rows is woken, and finds the query at its end.
        """
        if self._status == "running":
            self._stop.now("cancelled")
        self._stop.over()
        # Another thread that is at work in it comes to its end by itself.
        if self._turn.acquire(blocking=False):
            try:
                if isinstance(self._batches, Generator):
                    self._batches.close()
            finally:
                self._turn.release()
        self._end("cancelled")

    @property
    def summary(self) -> dict[str, Any]:
        """Status, rows, query batches run, seconds in all and to the first rows (planning included), and the plan.

        ``cursor`` is there when rows may be missing: a query that begins with it goes on after the last row of this.
        """
        run = self._run
        first = None if run.first_seconds is None else round(self._planned + run.first_seconds, 6)
        seconds = self._seconds if self._seconds is not None else time.perf_counter() - self._started
        return {
            "status": self._status,
            "rows": run.rows,
            "batches": len(run.ran),
            "seconds": round(seconds, 6),
            "first_seconds": first,
            "plan_seconds": round(self._planned, 6),
            "plan": None if self.plan is None else self.plan.to_json(),
            "query_batches": [_ran_json(ran) for ran in run.ran[:LISTED]],
            **self._cursor(),
        }

    @property
    def batches(self) -> list[tuple[int, int, int, float]]:
        """The query batches that have run: since, until (µs), rows, seconds."""
        return [(ran.batch.since, ran.batch.until, ran.rows, ran.seconds) for ran in self._run.ran]

    def _cursor(self) -> dict[str, str]:
        key = self._run.last_key
        if self._status in ("running", "complete"):
            return {}
        if self._asked is None or key is None:
            return {"cursor": self._resumed} if self._resumed else {}
        cursor = Cursor(key, self._asked.since)
        if not cursor.exact:
            return {"no_cursor": NO_CURSOR}
        return {"cursor": cursor.text(self._source.name, self._asked.plan.tree)}

    def _end(self, status: str) -> None:
        if self._status == "running":
            self._status = status
            self._seconds = time.perf_counter() - self._started


def _ran_json(ran: Ran) -> dict[str, Any]:
    batch = ran.batch
    return {
        "since": format_micros(batch.since),
        "until": format_micros(batch.until),
        "rows": ran.rows,
        "seconds": round(ran.seconds, 6),
        "because": batch.because,
    }
