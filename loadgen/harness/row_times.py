"""Times the rows of an answer: the 1st, the 100th, the 1,000th and the last."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass

from watchfloor.query.preparation.request import QueryRequest
from watchfloor.query.service import QueryService

TIMED_ROWS = (1, 100, 1000)
LAST = "last"


@dataclass(frozen=True)
class RowTimes:
    """Milliseconds from the call of the query service to a row, by the row's number as text or ``LAST``.

    An answer with fewer than 100 or 1,000 rows has no such row. ``rows`` and query ``batches`` are of the whole answer.
    """

    milliseconds: Mapping[str, float]
    rows: int
    batches: int


def time_rows(service: QueryService, request: QueryRequest, upto: float = math.inf) -> RowTimes:
    """Runs a query and reads the answer to its end, or until ``upto`` rows are there.

    In the latter case the times have no ``LAST``.
    """
    started = time.perf_counter()
    milliseconds: dict[str, float] = {}
    rows = 0
    with closing(service.run(request)) as result:
        for batch in result:
            rows += len(batch)
            elapsed_ms = (time.perf_counter() - started) * 1000
            milliseconds.update(
                {str(row): elapsed_ms for row in TIMED_ROWS if rows >= row and str(row) not in milliseconds}
            )
            if rows >= upto:
                break
        else:
            milliseconds[LAST] = (time.perf_counter() - started) * 1000
        return RowTimes(milliseconds, rows, len(result.batch_runs))
