"""The Python client before a service that is away, full, cut off or none at all, and with settings that cannot be.

In `make test`: it needs no servers.
"""

from __future__ import annotations

import http.client
import json
import socket
import threading
import time
from pathlib import Path

import pytest
from flask import Flask
from raw_service import answer_raw, http_answer
from rest_fakes import BEARER, GOOD, QUERY, TOKEN, FakeService, events
from served import serve_app

from watchfloor.api.client import AnswerCutOff, Client, ClientError, ServiceProblem, ServiceUnreachable
from watchfloor.api.rest.base.limits import RestLimits

FULL = http_answer("429 Too Many Requests", b'{"detail": "too many"}', "Content-Type: application/problem+json")
FULL_FOR_A_SECOND = FULL.replace(b"\r\n", b"\r\nRetry-After: 1\r\n", 1)
COUNT = http_answer("200 OK", b'{"source": "a", "count": 7}', "Content-Type: application/json")
STREAM = "Content-Type: application/x-ndjson"
CHUNKED = f"HTTP/1.1 200 OK\r\n{STREAM}\r\nTransfer-Encoding: chunked\r\n\r\n".encode()


def make_client(port: int, retry_seconds: float = 5, silent_seconds: float = 5) -> Client:
    return Client(f"http://127.0.0.1:{port}", TOKEN, retry_seconds=retry_seconds, silent_seconds=silent_seconds)


def test_a_full_service_is_asked_again_when_it_says() -> None:
    began = time.monotonic()
    with answer_raw([FULL_FOR_A_SECOND, COUNT]) as (port, requests):
        assert make_client(port).count("a") == 7
    assert len(requests) == 2 and requests[0] == requests[1]
    assert time.monotonic() - began >= 1


@pytest.mark.parametrize(
    ("answer", "seconds"), [(FULL, 5), (FULL_FOR_A_SECOND, 0.5), (FULL_FOR_A_SECOND.replace(b"429", b"503"), 5)]
)
def test_other_refusals_are_final(answer: bytes, seconds: float) -> None:
    with answer_raw([answer]) as (port, requests), pytest.raises(ServiceProblem, match="too many"):
        make_client(port, seconds).count("a")
    assert len(requests) == 1


def test_a_service_that_starts_late_is_waited_for(app: Flask, service: FakeService) -> None:
    with socket.socket() as reserved:
        reserved.bind(("127.0.0.1", 0))
        port = reserved.getsockname()[1]
    answers: list[int] = []
    asking = threading.Thread(target=lambda: answers.append(make_client(port).count("a")))
    asking.start()
    time.sleep(0.5)
    with socket.create_server(("127.0.0.1", port)) as listening:
        connection, _ = listening.accept()
        with connection:
            connection.recv(65_536)
            connection.sendall(COUNT)
        asking.join(5)
    assert answers == [7]


def test_nothing_listens() -> None:
    with socket.socket() as reserved:
        reserved.bind(("127.0.0.1", 0))
        began = time.monotonic()
        with pytest.raises(ServiceUnreachable, match="nothing listens at http"):
            make_client(reserved.getsockname()[1], retry_seconds=0.3).sources()
        assert time.monotonic() - began < 3


def test_a_host_that_nobody_knows() -> None:
    with pytest.raises(ServiceUnreachable, match="no answer from"):
        Client("http://host.invalid:1", TOKEN).sources()


def test_a_connection_that_breaks_before_its_answer_is_not_retried() -> None:
    with answer_raw([b""]) as (port, requests), pytest.raises(ServiceUnreachable):
        make_client(port).count("a")
    assert len(requests) == 1


ROWS = b'{"n": 1}\n{"n": 2}\n'


@pytest.mark.parametrize(
    "answer",
    [
        http_answer("200 OK", ROWS, STREAM),
        http_answer("200 OK", ROWS + b'{"summary": {"status": "comp', STREAM),
        http_answer("200 OK", ROWS + b'{"summ', STREAM).replace(b"Length: 2", b"Length: 9"),
        CHUNKED + b"12\r\n" + ROWS + b"\r\n",
        CHUNKED + b"12\r\n" + ROWS + b"\r\n0\r\n\r\n",
        CHUNKED + b"12\r\n" + ROWS + b"\r\n20\r\n{",
    ],
    ids=["no summary", "half a summary", "short", "no end of chunks", "end of chunks", "half a chunk"],
)
def test_a_cut_stream_raises_after_its_rows(answer: bytes) -> None:
    rows = []
    with answer_raw([answer]) as (port, requests), pytest.raises(AnswerCutOff, match="after 2 rows") as caught:
        for row in make_client(port).query("a"):
            rows.append(row)
    assert (rows, caught.value.rows, len(requests)) == ([{"n": 1}, {"n": 2}], 2, 1)


def test_an_arrow_stream_that_is_cut_anywhere_raises(port: int) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    connection.request("POST", f"{QUERY}?format=arrow", json.dumps(GOOD), BEARER | {"Content-Type": "application/json"})
    whole = connection.getresponse().read()
    kind = "Content-Type: application/vnd.apache.arrow.stream"
    with answer_raw([http_answer("200 OK", whole, kind)]) as (raw, _):
        assert make_client(raw).query("web.access").to_arrow().num_rows == 5
    summary_at = whole.index(b"watchfloor.summary")
    for end in (0, 3, 100, *range(500, summary_at, 397)):
        with answer_raw([http_answer("200 OK", whole[:end], kind)]) as (raw, _), pytest.raises(AnswerCutOff):
            make_client(raw).query("web.access").to_arrow()
        answer = http_answer("200 OK", whole, kind)[: end - len(whole)]
        with answer_raw([answer]) as (raw, _), pytest.raises(AnswerCutOff):
            make_client(raw).query("web.access").to_arrow()


def test_a_short_answer_that_is_cut_off_raises() -> None:
    cut = COUNT[:-3]
    with answer_raw([cut]) as (port, requests), pytest.raises(AnswerCutOff):
        make_client(port).count("a")
    assert len(requests) == 1


def test_a_service_that_says_nothing_for_too_long(port: int, service: FakeService) -> None:
    service.batches = [events(0, 2), threading.Event()]
    rows = []
    with pytest.raises(AnswerCutOff, match="timed out"):
        for row in make_client(port, silent_seconds=0.5).query("web.access"):
            rows.append(row)
    assert len(rows) == 2


def test_a_queue_that_is_full_of_one_tokens_queries_opens_again(app: Flask, service: FakeService) -> None:
    """The service refuses by 429 with Retry-After 5: the client asks again then."""
    more = threading.Event()
    service.batches = [events(0, 1), more]
    with serve_app(app, RestLimits(queries=2, queries_per_token=2)) as port:
        client = make_client(port, retry_seconds=20)
        running = [iter(client.query("web.access")) for _ in range(2)]
        for rows in running:
            next(rows)
        threading.Timer(3, more.set).start()
        assert len(list(client.query("web.access"))) == 1


@pytest.mark.parametrize("status", ["200 OK", "302 Found", "502 Bad Gateway"])
def test_an_answer_of_something_else(status: str) -> None:
    page = http_answer(status, b"<html>  <b>Portal</b>\n</html>", "Content-Type: text/html", "Location: /elsewhere")
    with answer_raw([page]) as (port, requests):
        with pytest.raises(ClientError, match=r"html|Portal"):
            list(make_client(port).query("a"))
        with pytest.raises(ClientError):
            make_client(port).count("a")
    assert len(requests) == 2


@pytest.mark.parametrize(
    "url", ["", "127.0.0.1:8742", "ftp://host", "http://", "http://host:0", "http://host:x", "http://a@host",
            "http://host/?a=b", "http://[::1"],
)  # fmt: skip
def test_addresses_that_cannot_be(url: str) -> None:
    with pytest.raises(ClientError, match="no address of a service; write it as"):
        Client(url, TOKEN)


@pytest.mark.parametrize("token", ["", "two words", "line\nInjected: header", "é"])
def test_tokens_that_cannot_be(token: str, tmp_path: Path) -> None:
    with pytest.raises(ClientError, match="token") as caught:
        Client("http://127.0.0.1:1", token)
    assert not token or token not in str(caught.value)
    (tmp_path / "token").write_text(token)
    with pytest.raises(ClientError, match="token"):
        Client("http://127.0.0.1:1", token_file=tmp_path / "token")


def test_settings_that_cannot_be(tmp_path: Path) -> None:
    with pytest.raises(ClientError, match="either token or token_file"):
        Client("http://127.0.0.1:1")
    with pytest.raises(ClientError, match="cannot read a token"):
        Client("http://127.0.0.1:1", token_file=tmp_path / "none")
    with pytest.raises(ClientError, match="cannot read certificates"):
        Client("https://127.0.0.1:1", TOKEN, ca_file=str(tmp_path / "none"))
