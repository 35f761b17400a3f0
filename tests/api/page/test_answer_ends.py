"""The page knows a whole download from a partial one and from one that was cut off, in each format.

In `make test`: it needs no servers; a process of Node reads the ends.
"""

from __future__ import annotations

from base64 import b64encode
from typing import Any

import pyarrow as pa
import pytest
from page_modules import run_script

from watchfloor.api.formats.stream_encoder import MEDIA_TYPES, StreamEncoder

STATUSES = ("complete", "limit", "deadline", "cancelled", "failed")
# What looks like a summary, in events and in the filter that a summary repeats.
LURES = (
    '{"status":"complete"}',
    "watchfloor.summary",
    "\x18\x12watchfloor.summary\x18\x02{}",
    "# status=complete rows=1",
)
SCHEMA = pa.schema([("text", pa.string()), ("size", pa.int64()), ("tags", pa.list_(pa.string()))])
BATCH = pa.RecordBatch.from_arrays(
    [pa.array(LURES), pa.array([0x7B] * 4, pa.int64()), pa.array([[lure] for lure in LURES])], schema=SCHEMA
)


def write_answer(form: str, status: str, batches: int, **members: Any) -> bytes:
    """Returns an answer as the service sends it."""
    encoder = StreamEncoder(form)
    problem = {"problem": {"type": "tag:watchfloor,2026:busy"}} if status == "failed" else {}
    summary = {"status": status, "rows": batches * len(LURES), **members, **problem}
    return b"".join(encoder.encode(BATCH) for _ in range(batches)) + encoder.finish(summary, SCHEMA)


def read_statuses(answers: list[tuple[str, bytes]]) -> list[str | None]:
    """Returns what the page reads at the end of each answer."""
    found: list[str | None] = run_script(
        "answer_statuses.mjs", [[form, b64encode(end).decode()] for form, end in answers]
    )
    return found


@pytest.mark.parametrize("form", MEDIA_TYPES)
def test_the_status_of_an_answer_is_read(form: str) -> None:
    asked = [
        (status, write_answer(form, status, batches, plan={"text": text, "status": "complete"}))
        for status in STATUSES
        for batches in (0, 1, 300)
        for text in ("", *LURES, "é" * 40_000)
    ]
    # Of an answer that has failed, Arrow lacks the mark and Parquet the footer.
    lacks_end = form in ("arrow", "parquet")
    expected = [None if status == "failed" and lacks_end else status for status, _ in asked]
    assert read_statuses([(form, data) for _, data in asked]) == expected


@pytest.mark.parametrize("form", MEDIA_TYPES)
def test_an_answer_that_was_cut_off_has_none(form: str) -> None:
    data = write_answer(form, "complete", 3)
    cuts = range(len(data)) if len(data) < 2000 else [*range(0, len(data), 7), *range(len(data) - 500, len(data))]
    assert set(read_statuses([(form, data[:cut]) for cut in cuts])) <= {None}
