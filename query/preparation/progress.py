"""The rows and query batches of a running query."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import pyarrow as pa

from watchfloor.query.batches.policy import BatchRun
from watchfloor.store.encoding.keys import KEY_COLUMN


@dataclass
class QueryProgress:
    """The rows and batches of a running query so far.

    ``started`` is a time of ``time.perf_counter``, and ``first_seconds`` the seconds from then to the first rows (None:
    no rows yet). ``last_key`` is the key of the last row that was handed out. ``no_cursor`` is the reason why no query
    can go on after it, if there is one.
    """

    started: float = 0.0
    rows: int = 0
    first_seconds: float | None = None
    limit_reached: bool = False
    last_key: bytes | None = None
    no_cursor: str | None = None
    batch_runs: list[BatchRun] = field(default_factory=list)

    def add_rows(self, events: pa.RecordBatch, limit: int | None) -> None:
        """Counts the events that are about to be handed out."""
        self.rows += len(events)
        self.limit_reached = limit is not None and self.rows >= limit
        if len(events):
            if self.first_seconds is None:
                self.first_seconds = time.perf_counter() - self.started
            self.last_key = events.column(KEY_COLUMN)[-1].as_py()
