"""A real REST server streams, notices clients that leave, and keeps its limits.

In `make test`: it needs no servers.
"""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import pyarrow as pa
import pytest
from rest_fakes import (
    BEARER,
    GOOD,
    QUERY,
    FakeService,
    events,
    read_lines,
)

from watchfloor.api.rest.base.limits import RestLimits
from watchfloor.api.rest.base.problems import problem_type
from watchfloor.api.rest.connections import ClientConnection, close_server, make_server


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


def test_a_connection_stays_open_after_a_stream_unless_it_is_told_to_close(port: int, service: FakeService) -> None:
    service.batches = [events(0, 1)]
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=10)) as connection:
        sockets = []
        for _ in range(3):
            connection.request("POST", QUERY, json.dumps(GOOD), BEARER | {"Content-Type": "application/json"})
            sockets.append(connection.sock)
            response = connection.getresponse()
            assert response.headers["Transfer-Encoding"] == "chunked" and "Connection" not in response.headers
            assert read_lines(response.read())[-1]["summary"]["status"] == "complete"
        assert sockets[0] is sockets[1] is sockets[2] is not None
        closing_headers = {"Content-Type": "application/json", "Connection": "close"}
        connection.request("POST", QUERY, json.dumps(GOOD), BEARER | closing_headers)
        response = connection.getresponse()
        assert response.headers["Connection"] == "close"
        assert read_lines(response.read())[-1]["summary"]["status"] == "complete"
        assert connection.sock is None


def test_the_first_and_the_last_chunk_of_a_stream_are_sent_as_one(
    port: int, service: FakeService, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[bytes] = []
    write = ClientConnection.write_soon

    def note(connection: ClientConnection, data: bytes) -> int:
        sent.append(data)
        return write(connection, data)

    monkeypatch.setattr(ClientConnection, "write_soon", note)
    service.batches = [events(0, 1), events(1, 1)]
    assert len(read_lines(ask(port).read())) == 3
    first, second, last = sent
    assert first.startswith(b"HTTP/1.1 200 OK") and b'"/0"' in first and b'"/1"' in second
    assert b'"summary"' in last and last.endswith(b"\r\n0\r\n\r\n")
    sent.clear()
    service.batches = []
    assert read_lines(ask(port).read())[0]["summary"]["rows"] == 0
    assert len(sent) == 1


def test_queries_are_bounded_and_short_requests_still_answered(port: int, service: FakeService) -> None:
    more = threading.Event()
    service.batches = [events(0, 1), more]
    running = [ask(port), ask(port)]
    refused = ask(port)
    assert (refused.status, refused.headers["Retry-After"]) == (429, "5")
    assert json.loads(refused.read())["type"] == problem_type("too-many-requests")
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    connection.request("GET", "/healthz")
    assert connection.getresponse().status == 200
    more.set()
    for response in running:
        assert read_lines(response.read())[-1]["summary"]["status"] == "complete"
    assert ask(port).status == 200


def test_an_answer_that_outlasts_the_server_ends_without_an_error(caplog: pytest.LogCaptureFixture) -> None:
    begun, released, stopped = threading.Event(), threading.Event(), threading.Event()

    def answer_late(environ: dict[str, Any], start: Callable[..., Any]) -> list[bytes]:
        begun.set()
        assert released.wait(10)
        start("200 OK", [("Content-Length", "2")])
        return [b"ok"]

    server = make_server(answer_late, "127.0.0.1", 0, RestLimits(queries=1))

    def run_loop() -> None:
        while not stopped.is_set():
            server._map.handle_events(0.1)

    loop = threading.Thread(target=run_loop)
    loop.start()
    with closing(http.client.HTTPConnection("127.0.0.1", server.effective_port)) as client:
        client.request("GET", "/")
        assert begun.wait(10)
        # As a signal ends a service: the loop ends, then its threads in some seconds, or later.
        stopped.set()
        loop.join()
        server.task_dispatcher.shutdown(timeout=0.1)
        close_server(server)
        threads = [thread for thread in threading.enumerate() if thread.name.startswith("waitress-")]
        released.set()
        assert threads
        for thread in threads:
            thread.join(10)
    assert "Exception when servicing" not in caplog.text and "Traceback" not in caplog.text
