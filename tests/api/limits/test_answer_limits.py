"""Streams end with the rows or bytes that the service allows for one answer, and say so in every format.

In `make test`: it is short; one test reads from the stack of the run.
"""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from flask.testing import FlaskClient
from ingest_support import RUN
from loaded import batch_of, write
from rest_fakes import BEARER, GOOD, QUERY, FakeService, FakeServices, FakeTokens, events, read_lines
from served import AnyToken

from watchfloor.api.rest.app import create_app
from watchfloor.api.rest.base.limits import RestLimits
from watchfloor.api.rest.base.stream import AnswerLimits
from watchfloor.api.rest.store_services import StoreServices
from watchfloor.schema.definition import parse_definition
from watchfloor.schema.settings.load import load_settings
from watchfloor.schema.settings.settings import Settings
from watchfloor.store.store import Store

MANY, START = 1 << 60, datetime(2026, 1, 8, tzinfo=UTC)
EXPORT_ROWS, EXPORT_BYTES = 10_000_000, 10_000_000 * 2000


def make_client(services: FakeServices, rows: int = MANY, size: int = MANY) -> FlaskClient:
    limits = RestLimits(answer=AnswerLimits(rows, size))
    return create_app(services, FakeTokens(), limits).test_client()


@pytest.mark.parametrize(
    ("rows", "size", "sent"),
    [(1, MANY, 2), (2, MANY, 2), (3, MANY, 5), (5, MANY, 5), (6, MANY, 8), (MANY, 1, 2), (MANY, 300, 5)],
)
@pytest.mark.parametrize("watch", [False, True])
def test_an_answer_ends_with_the_batch_that_reaches_a_limit(
    services: FakeServices, service: FakeService, rows: int, size: int, sent: int, watch: bool
) -> None:
    service.batches = [events(0, 2), events(2, 3), events(5, 3), events(8, 3)]
    client = make_client(services, rows, size)
    *lines, last = read_lines(client.post(QUERY, json=GOOD | {"watch": watch}, headers=BEARER).data)
    assert len(lines) == last["summary"]["rows"] == sent
    assert last["summary"]["status"] == "limit"
    assert service.results[-1].closed.is_set()


def test_an_answer_below_the_limits_is_complete(services: FakeServices) -> None:
    client = make_client(services, 6, MANY)
    *lines, last = read_lines(client.post(QUERY, json=GOOD, headers=BEARER).data)
    assert len(lines) == 5 and last["summary"]["status"] == "complete"


def test_the_limits_are_settings_and_let_an_export_of_ten_million_rows_through() -> None:
    assert RestLimits.from_settings(load_settings()) == (defaults := RestLimits())
    assert defaults.answer.rows > EXPORT_ROWS and defaults.answer.bytes > EXPORT_BYTES
    chosen = {
        "max_answer_rows": 7, "max_answer_mb": 3, "deadline_seconds": 5, "watch_seconds": 6, "max_jobs": 2,
        "job_memory_mb": 8, "job_keep_seconds": 9,
    }  # fmt: skip
    limits = RestLimits.from_settings(load_settings(overrides=chosen))
    assert limits.answer == AnswerLimits(7, 3 << 20)
    assert (limits.deadline, limits.watch_deadline) == (5, 6)
    jobs = limits.jobs
    assert (jobs.jobs, jobs.jobs_per_token, jobs.bytes, jobs.bytes_per_token) == (2, 2, 8 << 20, 2 << 20)
    assert jobs.keep_seconds == 9


@pytest.mark.stack
def test_a_cursor_goes_on_where_a_limit_ended_an_answer(store_settings: Settings, layout: str) -> None:
    source = parse_definition(
        {
            "name": f"bounded{RUN}.{layout}", "parser": {"format": "json"}, "timestamp": {"field": "ts"},
            "layout": layout, "fields": [{"name": "ts", "type": "time"}, {"name": "n", "type": "int"}],
        }
    )  # fmt: skip
    with Store.open(store_settings) as store, store.sink() as sink:
        stored = store.catalog.register(source)
        write(
            sink, stored, 0, batch_of(stored, [{"ts": START + timedelta(seconds=n // 3), "n": n} for n in range(3000)])
        )
        sink.flush()
    services = StoreServices(replace(store_settings, batch_events=70))
    limits = RestLimits(answer=AnswerLimits(100, MANY))
    client = create_app(services, AnyToken(), limits).test_client()
    found: list[int] = []
    body: dict[str, Any] = {"source": source.name}
    for _ in range(100):
        answer = client.post(QUERY, json=body, headers={"Authorization": "Bearer analyst"})
        *rows, last = map(json.loads, answer.text.splitlines())
        found += [row["n"] for row in rows]
        if last["summary"]["status"] == "complete":
            break
        assert last["summary"]["status"] == "limit" and len(rows) >= 100
        body["cursor"] = last["summary"]["cursor"]
    services.close()
    assert sorted(found) == list(range(3000))
