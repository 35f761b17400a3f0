"""A real REST server streams, notices clients that leave, keeps its limits and checks the tokens of its callers.

In `make test`: it needs no servers.
"""

from __future__ import annotations

import http.client
import json
import stat
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from flask import Flask
from rest_fakes import (
    BEARER,
    GOOD,
    QUERY,
    FakeService,
    events,
    read_lines,
)
from served import serve_app

from watchfloor.api.rest.auth import Tokens, hash_token
from watchfloor.api.rest.base.problems import problem_type
from watchfloor.schema.errors import SettingsError


@pytest.fixture
def port(app: Flask) -> Iterator[int]:
    with serve_app(app, threads=4) as port:
        yield port


def ask(port: int, body: Any = GOOD) -> http.client.HTTPResponse:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    connection.request("POST", QUERY, json.dumps(body), BEARER | {"Content-Type": "application/json"})
    return connection.getresponse()


def test_the_first_events_do_not_wait_for_more(port: int, service: FakeService) -> None:
    more = threading.Event()
    service.batches = [events(0, 1), more, events(1, 1)]
    response = ask(port)
    assert json.loads(response.readline())["path"] == "/0"
    assert not more.is_set()
    more.set()
    rest = read_lines(response.read())
    assert rest[0]["path"] == "/1"
    assert rest[-1]["summary"]["status"] == "complete"


def test_a_client_that_leaves_ends_its_query(port: int, service: FakeService) -> None:
    service.batches = [events(0, 1), threading.Event()]
    response = ask(port)
    response.readline()
    assert not service.results[0].closed.is_set()
    response.close()
    assert service.results[0].closed.wait(5), "the query was still open 5 s after its client had left"


def test_a_client_that_leaves_in_the_middle_of_much_ends_its_query(port: int, service: FakeService) -> None:
    class Endless(list[pa.RecordBatch]):
        def __iter__(self) -> Iterator[pa.RecordBatch]:
            batch = events(0, 1000)
            while True:
                yield batch

    service.batches = Endless()
    response = ask(port)
    response.read(100_000)
    response.close()
    assert service.results[0].closed.wait(10)


def test_queries_are_bounded_and_short_requests_still_answered(port: int, service: FakeService) -> None:
    more = threading.Event()
    service.batches = [events(0, 1), more]
    running = [ask(port), ask(port)]
    refused = ask(port)
    assert refused.status == 503
    assert json.loads(refused.read())["type"] == problem_type("busy")
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    connection.request("GET", "/healthz")
    assert connection.getresponse().status == 200
    more.set()
    for response in running:
        assert read_lines(response.read())[-1]["summary"]["status"] == "complete"
    assert ask(port).status == 200


def test_the_first_token_is_made_once_and_private(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    tokens = Tokens.open(secret)
    token = (secret / "rest.token").read_text().strip()
    holder = tokens.find_holder(token)
    assert holder is not None and holder.authorizations is None
    for name in ("tokens.json", "rest.token"):
        assert stat.S_IMODE((secret / name).stat().st_mode) == 0o600
    assert token not in (secret / "tokens.json").read_text()
    assert Tokens.open(secret).find_holder(token) == holder
    assert tokens.find_holder(token + "x") is None
    assert tokens.find_holder("") is None


def test_tokens_may_change_while_they_are_used(tmp_path: Path) -> None:
    tokens = Tokens.open(tmp_path)
    (tmp_path / "tokens.json").write_text(json.dumps({hash_token("new"): {"name": "soc", "authorizations": ["a"]}}))
    holder = tokens.find_holder("new")
    assert holder is not None and (holder.name, holder.authorizations) == ("soc", ("a",))
    assert tokens.find_holder((tmp_path / "rest.token").read_text().strip()) is None


@pytest.mark.parametrize("content", ["", "[]", '{"x": {}}', '{"00": {"name": "a", "authorizations": []}}'])
def test_damaged_tokens_are_said(tmp_path: Path, content: str) -> None:
    tokens = tmp_path / "tokens.json"
    tokens.write_text(content)
    tokens.chmod(0o600)
    with pytest.raises(SettingsError, match=r"tokens\.json"):
        Tokens.open(tmp_path)


def test_tokens_that_others_can_read_are_refused(tmp_path: Path) -> None:
    Tokens.open(tmp_path)
    (tmp_path / "tokens.json").chmod(0o644)
    with pytest.raises(SettingsError, match="chmod 600"):
        Tokens.open(tmp_path)
