"""The stream of an aggregation over REST: records of parts, of which a later one replaces an earlier one.

In `make test`: no server is needed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest

from watchfloor.api.formats.ndjson_writer import encode_ndjson
from watchfloor.api.stats_stream import PARTIAL_ROWS, RECORD_ROWS, StatsStream
from watchfloor.query.stats.finish import StatsTable
from watchfloor.query.stats.run import StatsPart

MOMENT = datetime(2026, 1, 8, 12, tzinfo=UTC)


class Running:
    """An aggregation whose answers have so many rows, and cover these shares of the range."""

    def __init__(self, *answers: tuple[int, float]) -> None:
        self.answers, self.summary, self.closed = answers, {"status": "complete"}, False

    def __iter__(self) -> Iterator[StatsPart]:
        for rows, share in self.answers:
            yield StatsPart(lambda rows=rows: StatsTable(make_rows(rows), ()), share)  # type: ignore[misc]

    def close(self) -> None:
        self.closed = True


def make_rows(count: int) -> pa.Table:
    return pa.table(
        {
            "host": pa.array([f'h"{n}' if n else None for n in range(count)], pa.string()),
            "bucket": pa.array([MOMENT] * count, pa.timestamp("us", "UTC")),
            "count": pa.array(range(count), pa.int64()),
            "names": pa.array([["a", None]] * count, pa.list_(pa.string())),
        }
    )


def read_records(running: Any, *, partial: bool) -> list[dict[str, Any]]:
    stream = StatsStream(running, partial=partial)
    return [json.loads(line) for batch in stream for line in encode_ndjson(batch).splitlines()]


def test_a_row_is_an_object_without_nulls() -> None:
    (record,) = read_records(Running((2, 1.0)), partial=False)
    moment = "2026-01-08T12:00:00.000000Z"
    assert record == {
        "part": 0,
        "share": 1.0,
        "complete": True,
        "rows": [
            {"bucket": moment, "count": 0, "names": ["a", None]},
            {"host": 'h"1', "bucket": moment, "count": 1, "names": ["a", None]},
        ],
    }


def test_parts_replace_one_another() -> None:
    answers = (3, 0.1), (5, 0.5), (7, 1.0)
    records = read_records(Running(*answers), partial=True)
    assert [(r["part"], r["share"], r["complete"], len(r["rows"])) for r in records] == [
        (0, 0.1, False, 3),
        (1, 0.5, False, 5),
        (2, 1.0, True, 7),
    ]
    (last,) = read_records(Running(*answers), partial=False)
    assert (last["part"], last["complete"], len(last["rows"])) == (0, True, 7)


def test_long_answers_are_several_records() -> None:
    records = read_records(Running((PARTIAL_ROWS + 5, 0.5), (2 * RECORD_ROWS + 1, 1.0)), partial=True)
    assert [(r["part"], len(r["rows"]), r["complete"]) for r in records] == [
        (0, PARTIAL_ROWS, False),
        (1, RECORD_ROWS, False),
        (1, RECORD_ROWS, False),
        (1, 1, True),
    ]
    rows = [row["count"] for r in records if r["part"] == 1 for row in r["rows"]]
    assert rows == list(range(2 * RECORD_ROWS + 1))


@pytest.mark.parametrize("partial", [True, False])
def test_an_answer_that_a_deadline_cut_off_is_sent(partial: bool) -> None:
    record = read_records(Running((4, 0.25)), partial=partial)[-1]
    assert (record["share"], record["complete"], len(record["rows"])) == (0.25, False, 4)
    many = PARTIAL_ROWS + 9
    records = read_records(Running((many, 0.25)), partial=partial)
    assert len(records) == 1 + partial and len(records[-1]["rows"]) == many


def test_an_empty_answer_is_a_record() -> None:
    assert read_records(Running((0, 1.0)), partial=False) == [{"part": 0, "share": 1.0, "complete": True, "rows": []}]


def test_closing_the_stream_closes_the_aggregation() -> None:
    running: Any = Running((1, 1.0))
    StatsStream(running, partial=False).close()
    assert running.closed
