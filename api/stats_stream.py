"""A running aggregation as a stream: of records for JSON lines, each with some rows of an answer so far, or of rows."""

from __future__ import annotations

from collections import deque
from collections.abc import Generator
from typing import Any

import pyarrow as pa

from watchfloor.query.stats.run import StatsPart, StatsResult

RECORD_ROWS = 4096
"""The largest number of rows of a record."""
PARTIAL_ROWS = 1000
"""The number of rows, the first, of an answer that another one replaces soon."""


class StatsStream:
    """An aggregation as record batches of one record each: ``part``, ``share``, ``complete`` and ``rows``.

    Records with the same ``part`` hold the rows of one answer. A later part replaces an earlier one. ``share`` is the
    share of the time range, its newest end, that the part covers. ``complete`` is true in the last record of the whole
    answer.
    """

    def __init__(self, result: StatsResult, *, partial: bool) -> None:
        """Without ``partial`` only the last answer is in the stream."""
        self._result, self._partial = result, partial
        self.close = result.close

    @property
    def schema(self) -> pa.Schema:
        return pa.schema([])

    @property
    def summary(self) -> dict[str, Any]:
        return self._result.summary

    def __iter__(self) -> Generator[pa.RecordBatch, None, None]:
        number, last = 0, None
        for last in self._result:
            if self._partial or last.complete:
                yield from _make_records(last, number, None if last.complete else PARTIAL_ROWS)
                number += 1
        # The deadline came before the end of the range: the last part is the answer.
        if last is not None and not last.complete and not (self._partial and len(last.rows) <= PARTIAL_ROWS):
            yield from _make_records(last, number, None)


class StatsRows:
    """The rows of an aggregation's last answer as record batches, for formats that are tables."""

    def __init__(self, result: StatsResult) -> None:
        self._result = result
        self.schema = pa.schema([])
        self.close = result.close

    @property
    def summary(self) -> dict[str, Any]:
        return self._result.summary

    def __iter__(self) -> Generator[pa.RecordBatch, None, None]:
        for last in deque(self._result, maxlen=1):
            self.schema = last.rows.schema
            yield from last.rows.to_batches(RECORD_ROWS)


def _make_records(part: StatsPart, number: int, most: int | None) -> Generator[pa.RecordBatch, None, None]:
    """Yields the records of an answer, of which the first ``most`` rows are wanted (None: all)."""
    rows = part.rows.slice(0, most)
    for start in range(0, max(1, len(rows)), RECORD_ROWS):
        some = rows.slice(start, RECORD_ROWS)
        structs = some.to_struct_array().combine_chunks() if len(some) else pa.array([], pa.struct(list(rows.schema)))
        offsets = pa.array([0, len(structs)], pa.int32())
        arrays = [
            pa.array([number]),
            pa.array([round(part.share, 6)]),
            pa.array([part.complete and start + RECORD_ROWS >= len(rows)]),
            pa.ListArray.from_arrays(offsets, structs),
        ]
        yield pa.RecordBatch.from_arrays(arrays, ["part", "share", "complete", "rows"])
