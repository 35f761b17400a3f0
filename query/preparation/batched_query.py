"""A query that is cut into query batches: what the executor needs to know of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from watchfloor.query.batches.policy import Batch, BatchRun
from watchfloor.query.batches.sequence import BatchSequence
from watchfloor.store.layout import ReadRequest
from watchfloor.store.reader import Reader

from .cursor import Cursor


@dataclass(frozen=True)
class BatchedQuery(ABC):
    """All that is known of a query before the first event is read.

    The query is for the events of [since, until), in µs, that come after ``cursor``. ``batches`` cuts the range; the
    suggested width of the first batch is ``first_width`` µs. ``limit`` is the number of rows that are wanted (None:
    all).
    """

    cursor: Cursor | None
    since: int
    until: int
    limit: int | None
    batches: BatchSequence
    first_width: int

    @abstractmethod
    def read_batch(self, reader: Reader, request: ReadRequest) -> Generator[pa.RecordBatch, None, None]:
        """Yields the events of the time range of ``request``, newest first. Its columns and its filter are ignored."""

    @abstractmethod
    def describe_plans(self) -> dict[str, Any]:
        """Returns the members of a summary that say how the query is run."""

    def make_cursor(self, key: bytes) -> Cursor:
        """Returns the cursor after the row with a key."""
        return Cursor(key, self.since)

    @property
    def policy_name(self) -> str:
        return self.batches.settings.policy

    def first_batch(self) -> Batch | None:
        """Returns the newest batch, or None if there are no events in the range.

        With a cursor the first batch is the cursor's microsecond, for every policy.
        """
        if self.cursor is None:
            return self.batches.first_batch(self.since, self.until, self.first_width, self.limit)
        because = "the microsecond of the cursor, without what was handed out"
        return Batch(self.cursor.time, self.cursor.time + 1, self.since, 0, 0.0, None, because)

    def next_batch(self, run: BatchRun, rows_left: int | None) -> Batch | None:
        """Returns the batch after the one that has run, or None at the end; ``rows_left`` None stands for all rows."""
        if self.repeats_rows(run.batch):
            return self.batches.first_batch(self.since, run.batch.since, self.first_width, rows_left)
        return self.batches.next_batch(run, rows_left)

    def count_rows_left(self, rows: int) -> int | None:
        """Returns how many rows are left to find after ``rows``; None stands for all."""
        return None if self.limit is None else self.limit - rows

    def repeats_rows(self, batch: Batch) -> bool:
        """Returns True if ``batch`` holds events that were handed out before the cursor."""
        return self.cursor is not None and batch.until > self.cursor.time
