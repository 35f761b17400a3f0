"""The query log has a line for each request about data: who, what, how and how long, without a token.

In `make test`: it needs no servers.
"""

from __future__ import annotations

import json
import stat
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient
from rest_fakes import BEARER, GOOD, OPERATOR, TOKEN, FakeService, FakeServices, FakeTokens, events
from served import serve_app
from slow_readers import ask_rest

from watchfloor.api.records import query_log
from watchfloor.api.records.query_log import QueryLog
from watchfloor.api.rest.app import create_app
from watchfloor.api.rest.base.limits import RestLimits
from watchfloor.schema.errors import StoreError
from watchfloor.schema.settings.load import load_settings


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def client(services: FakeServices, home: Path) -> FlaskClient:
    settings = replace(load_settings(home=home))
    return create_app(services, FakeTokens(), settings=settings).test_client()


def read_log(home: Path, count: int = 1) -> list[dict[str, Any]]:
    """Returns the lines once there are so many: jobs write theirs when they have ended."""
    path, deadline = home / "logs/queries.jsonl", time.monotonic() + 5
    while (len(path.read_text().splitlines()) if path.exists() else 0) < count:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_a_query_is_logged_when_it_has_ended(client: FlaskClient, home: Path) -> None:
    assert client.post("/api/v1/query", json={**GOOD, "where": "status = 200"}, headers=BEARER).data
    (line,) = read_log(home)
    assert line.pop("at").endswith("Z")
    assert line == {
        "token": "tests",
        "route": "POST /api/v1/query",
        "asked": {**GOOD, "where": "status = 200"},
        "status": "complete",
        "rows": 5,
        "batches": 1,
        "first_seconds": 0.004,
        "seconds": 0.012,
        "plan": {"scheme": "batched-scan"},
    }
    path = home / "logs/queries.jsonl"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_every_kind_of_request_about_data(client: FlaskClient, home: Path) -> None:
    assert client.get("/api/v1/count?source=web.access", headers=BEARER).data
    assert client.post("/api/v1/stats", json={**GOOD, "stats": "count() by status"}, headers=BEARER).data
    assert client.get("/api/v1/tail?source=web.access", headers=BEARER).data
    assert client.post("/api/v1/jobs", json={**GOOD, "wait": 5}, headers=BEARER).data
    lines = read_log(home, 4)
    routes = ["GET /api/v1/count", "POST /api/v1/stats", "GET /api/v1/tail", "POST /api/v1/jobs"]
    assert [line["route"] for line in lines] == routes
    assert {line["status"] for line in lines} == {"complete"} and {line["token"] for line in lines} == {"tests"}
    assert all(line["seconds"] >= 0 for line in lines)
    assert lines[2]["rows"] == lines[3]["rows"] == 5
    assert client.get("/healthz").data
    assert client.get("/api/v1/jobs", headers=BEARER).data
    assert client.get("/api/v1/status", headers=OPERATOR).data
    assert read_log(home) == lines


def test_failures_are_logged_with_their_kind(client: FlaskClient, service: FakeService, home: Path) -> None:
    assert client.post("/api/v1/query", json={**GOOD, "where": "("}, headers=BEARER).data
    assert client.get("/api/v1/count?source=nothing", headers=BEARER).data
    assert client.post("/api/v1/query", json={"source": 5}, headers=BEARER).data  # it fits no schema, and is no query
    service.batches = [StoreError("down")]
    assert client.post("/api/v1/query", json=GOOD, headers=BEARER).data
    service.batches = [events(0, 2), StoreError("down")]
    assert client.post("/api/v1/query", json=GOOD, headers=BEARER).data
    assert client.post("/api/v1/jobs", json={**GOOD, "wait": 5}, headers=BEARER).data
    lines = read_log(home, 5)
    assert [line["problem"] for line in lines] == [
        "bad-filter",
        "unknown-source",
        "unavailable",
        "unavailable",
        "unavailable",
    ]
    assert {line["status"] for line in lines} == {"failed"}
    assert [line.get("rows") for line in lines] == [None, None, None, 2, 2]


def test_a_client_that_left_is_logged(services: FakeServices, service: FakeService, home: Path) -> None:
    service.batches = [events(0, 2), threading.Event()]
    limits = RestLimits()
    app = create_app(services, FakeTokens(), limits, replace(load_settings(home=home)))
    with serve_app(app, limits) as port:
        response = ask_rest(port, TOKEN, GOOD)
        response.readline()
        response.close()
        (line,) = read_log(home)
    assert (line["status"], line["rows"], line["asked"], line["token"]) == ("cancelled", 2, GOOD, "tests")


def test_no_token_is_in_the_log(client: FlaskClient, home: Path) -> None:
    assert client.post("/api/v1/session", json={"token": TOKEN}).data
    assert client.post("/api/v1/query", json=GOOD, headers=BEARER).data
    read_log(home)
    assert TOKEN not in (home / "logs/queries.jsonl").read_text()


def test_a_client_that_leaves_is_logged(client: FlaskClient, service: FakeService, home: Path) -> None:
    answer = client.post("/api/v1/query", json=GOOD, headers=BEARER, buffered=False)
    next(iter(answer.response))
    answer.close()
    (line,) = read_log(home)
    assert line["route"] == "POST /api/v1/query"


def test_long_requests_are_cut(home: Path) -> None:
    log = QueryLog(home)
    log.write("tests", "POST /api/v1/query", {"where": "x" * 100_000}, {"status": "complete"})
    (line,) = read_log(home)
    assert isinstance(line["asked"], str) and len(line["asked"]) == query_log.MOST_ASKED


def test_the_file_is_of_bounded_size(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(query_log, "MOST_BYTES", 1000)
    log = QueryLog(home)
    for n in range(30):
        log.write("tests", "GET /api/v1/count", {"source": f"s{n}"}, {"status": "complete"})
    folder = home / "logs"
    assert {path.name for path in folder.iterdir()} == {"queries.jsonl", "queries.jsonl.1"}
    assert all(path.stat().st_size <= 1000 for path in folder.iterdir())
    assert json.loads((folder / "queries.jsonl").read_text().splitlines()[-1])["asked"] == {"source": "s29"}


def test_a_log_that_cannot_be_written_keeps_nobody_from_an_answer(
    client: FlaskClient, home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    home.write_text("a file in the place of the folder")
    for _ in range(3):
        assert client.get("/api/v1/count?source=web.access", headers=BEARER).status_code == 200
    assert [record.message[:13] for record in caplog.records] == ["the query log"]
