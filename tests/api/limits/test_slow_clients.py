"""Clients of a real REST server that send or read slowly, or that leave, keep nobody else from being answered.

In `make test`: it needs no servers. The same load with the limits of the defaults, on a store, is `bench rest-load`.
"""

from __future__ import annotations

import http.client
import json
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from statistics import median

import pyarrow as pa
import pytest
from rest_fakes import BEARER, GOOD, SOURCE, TOKEN, FakeService, FakeServices, FakeTokens, events, read_lines
from served import serve_app
from slow_readers import ask_rest, connect_slow_reader
from waitress.channel import HTTPChannel
from waitress.parser import HTTPRequestParser

from watchfloor.api.rest import connections, event_loop
from watchfloor.api.rest.app import create_app
from watchfloor.api.rest.base.limits import RestLimits
from watchfloor.api.rest.base.problems import problem_type
from watchfloor.schema.errors import SettingsError


class Endless(list[pa.RecordBatch]):
    """Batches without an end."""

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        batch = events(0, 1000)
        while True:
            yield batch


def ask(port: int, **more: object) -> http.client.HTTPResponse:
    return ask_rest(port, TOKEN, GOOD | more)


def connect_reader(port: int, buffer: int = 4096) -> socket.socket:
    return connect_slow_reader(port, TOKEN, GOOD, buffer)


def wait_until(is_true: Callable[[], object], seconds: float = 5) -> None:
    deadline = time.monotonic() + seconds
    while not is_true():
        assert time.monotonic() < deadline, f"not within {seconds} s"
        time.sleep(0.02)


def test_streams_that_nobody_reads_stop_nobody(service: FakeService, services: FakeServices) -> None:
    # Nobody is refused or cut off while the test runs.
    limits = RestLimits(queries=2, queries_per_token=2, wait_seconds=60, stalled_seconds=60)
    with serve_app(create_app(services, FakeTokens(), limits), limits) as port, ExitStack() as stack:
        service.batches = Endless()
        for _ in range(6):
            stack.enter_context(connect_reader(port))
        # Two run at once, so each waits until one before it is paused.
        wait_until(lambda: len(service.results) == 6, 30)
        service.batches = [events(0, 1)]
        response = ask(port)
        assert response.status == 200 and read_lines(response.read())[-1]["summary"]["rows"] == 1


def test_answers_that_nobody_reads_end_while_memory_is_short(service: FakeService, services: FakeServices) -> None:
    limits = RestLimits(queries=4, queries_per_token=4, stalled_seconds=60)
    with serve_app(create_app(services, FakeTokens(), limits), limits) as port, ExitStack() as stack:
        service.batches = Endless()
        readers = [stack.enter_context(connect_reader(port)) for _ in range(3)]
        wait_until(lambda: len(service.results) == 3)
        time.sleep(0.5)
        assert not any(result.closed.is_set() for result in service.results)
        services.memory_is_short = True
        wait_until(lambda: all(result.closed.is_set() for result in service.results))
        readers[0].settimeout(5)
        rest = b""
        while not rest.endswith(b"0\r\n\r\n"):
            rest += readers[0].recv(1 << 20)
        summary = json.loads(rest.splitlines()[-4])["summary"]
        assert summary["status"] == "failed" and summary["problem"]["type"] == problem_type("busy")
        # One that reads is not disturbed.
        service.batches = [events(0, 1)] * 100
        assert read_lines(ask(port).read())[-1]["summary"]["rows"] == 100


def test_a_client_that_does_not_read_is_cut_off_and_its_query_ended(port: int, service: FakeService) -> None:
    service.batches = Endless()
    with connect_reader(port) as reader:
        wait_until(lambda: service.results)
        began = time.monotonic()
        assert service.results[0].closed.wait(5), "the query of a stalled reader was open for 5 s"
        assert time.monotonic() - began >= 1.9
        received = 0
        with pytest.raises(ConnectionResetError):
            while chunk := reader.recv(1 << 20):
                received += len(chunk)
            raise ConnectionResetError  # an end of the stream, too, is a cut: there was no summary
        assert received < 16 << 20


def test_a_client_that_reads_slowly_but_reads_is_served(port: int, service: FakeService) -> None:
    service.batches = [events(n * 1000, 1000) for n in range(12)]
    received = b""
    with connect_reader(port, 64 << 10) as reader:
        # Some 1.2 MB in 4 s, which is twice the time that a client may stand still.
        while b'"summary"' not in received[-1000:]:
            received += reader.recv(32 << 10)
            time.sleep(0.1)
    assert received.count(b'{"ts"') == 12_000


def test_half_sent_requests_cost_no_thread_and_end(
    port: int, service: FakeService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "REQUEST_SECONDS", 1.0)
    starts = (b"", b"GET /healthz HT", b"POST /api/v1/query HTTP/1.1\r\nContent-Length: 9\r\n\r\n{")
    with ExitStack() as stack:
        halves = [stack.enter_context(socket.create_connection(("127.0.0.1", port))) for _ in range(300)]
        for number, half in enumerate(halves):
            half.sendall(starts[number % 3])
        began = time.monotonic()
        assert ask(port).status == 200
        assert time.monotonic() - began < 1
        # A byte now and then buys no time: it is the whole request that must arrive.
        trickling, half_bodies = halves[1:15:3], halves[2:15:3]
        wait_until(lambda: all(has_ended_after(half, b"T") for half in trickling), 6)
        # A body's next byte would make the request another one, so nothing more is sent.
        wait_until(lambda: all(has_ended_after(half, b"") for half in half_bodies), 6)


def test_slow_clients_delay_nobody(service: FakeService, services: FakeServices) -> None:
    """20 clients that do not read and 200 that never finish a request cost the others less than 100 ms."""
    limits = RestLimits(stalled_seconds=60)
    with serve_app(create_app(services, FakeTokens(), limits), limits) as port, ExitStack() as stack:

        def time_query() -> float:
            began = time.monotonic()
            assert read_lines(ask(port).read())[-1]["summary"]["rows"] == 1
            return time.monotonic() - began

        service.batches = [events(0, 1)]
        quiet = median(time_query() for _ in range(20))
        service.batches = Endless()
        for number in range(20):
            stack.enter_context(connect_reader(port))
            wait_until(lambda number=number: len(service.results) == 20 + number + 1, 30)
        for _ in range(200):
            half = stack.enter_context(socket.create_connection(("127.0.0.1", port)))
            half.sendall(b"POST /api/v1/query HTTP/1.1\r\nContent-Length: 9\r\n\r\n{")
        service.batches = [events(0, 1)]
        assert median(time_query() for _ in range(20)) - quiet < 0.1


def test_a_request_is_not_late_while_the_server_takes_it(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    receive = HTTPRequestParser.received

    def receive_slowly(parser: HTTPRequestParser, data: bytes) -> int:
        time.sleep(3 * connections.GUARD_SECONDS)
        return int(receive(parser, data))

    monkeypatch.setattr(HTTPRequestParser, "received", receive_slowly)
    assert get(port, "/healthz") == 200


def has_ended_after(half: socket.socket, more: bytes) -> bool:
    """Sends ``more``, if any, and returns whether the server has closed the connection."""
    try:
        half.sendall(more)
        return half.recv(10, socket.MSG_DONTWAIT) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True


def test_a_crowd_of_idle_connections_makes_room(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "CROWDED_SHARE", 50 / connections.CONNECTIONS)
    with ExitStack() as stack:
        idle = [stack.enter_context(socket.create_connection(("127.0.0.1", port))) for _ in range(60)]
        idle[0].settimeout(5)
        assert idle[0].recv(1) == b"", "the oldest is closed"
        idle[-1].sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        assert idle[-1].recv(12) == b"HTTP/1.1 200"


def test_idle_connections_are_not_asked_what_they_wait_for(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = 0

    def is_readable(connection: connections.ClientConnection) -> bool:
        nonlocal asked
        asked += 1
        return bool(HTTPChannel.readable(connection))

    with ExitStack() as stack:
        for number in range(2000):
            idle = stack.enter_context(socket.create_connection(("127.0.0.1", port)))
            if number % 2:
                idle.sendall(b"GET /healthz HT")
        assert ask(port).status == 200
        monkeypatch.setattr(connections.ClientConnection, "readable", is_readable, raising=False)
        began = time.monotonic()
        assert [ask(port).status for _ in range(50)] == [200] * 50
        sweeps = 2 + (time.monotonic() - began) / event_loop.SWEEP_SECONDS
        assert asked < 2000 * sweeps + 50 * 40, "a walk over all of them in each round would ask 200,000 times"


def test_connections_whose_requests_run_are_not_asked_what_they_wait_for(
    port: int, service: FakeService, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[connections.ClientConnection] = []

    def is_readable(connection: connections.ClientConnection) -> bool:
        asked.append(connection)
        return bool(HTTPChannel.readable(connection))

    service.batches = [events(0, 1), threading.Event()]
    streams, health = [ask(port) for _ in range(2)], http.client.HTTPConnection("127.0.0.1", port)
    try:
        assert all(b'"path":"/0"' in stream.readline() for stream in streams)
        time.sleep(0.2)  # the loop has heard of what was sent
        monkeypatch.setattr(connections.ClientConnection, "readable", is_readable, raising=False)
        began = time.monotonic()
        for _ in range(50):
            health.request("GET", "/healthz")
            assert health.getresponse().read()
        own = health.sock.getsockname()[1]
        running = Counter(connection for connection in asked if connection.requests and connection.addr[1] != own)
        assert max(running.values(), default=0) <= 5 + (time.monotonic() - began) / event_loop.SWEEP_SECONDS
    finally:
        health.close()
        for stream in streams:
            stream.close()


def test_a_request_whose_client_leaves_the_queue_is_never_run(port: int, service: FakeService) -> None:
    more = threading.Event()
    service.batches = [events(0, 1), more]
    running = [ask(port), ask(port)]
    connect_reader(port).close()
    time.sleep(0.3)
    more.set()
    for response in running:
        response.read()
    time.sleep(0.3)
    assert len(service.results) == 2


def test_fifty_clients_at_once_are_all_answered(service: FakeService, services: FakeServices) -> None:
    class Brief(list[pa.RecordBatch]):
        def __iter__(self) -> Iterator[pa.RecordBatch]:
            time.sleep(0.01)
            return super().__iter__()

    service.batches = Brief([events(0, 10)])
    limits = RestLimits()
    with serve_app(create_app(services, FakeTokens(), limits), limits) as port, ThreadPoolExecutor(50) as pool:
        assert list(pool.map(lambda _: ask(port).status, range(200))) == [200] * 200


def test_forty_counts_that_wait_do_not_delay_the_health(
    service: FakeService, services: FakeServices, monkeypatch: pytest.MonkeyPatch
) -> None:
    free = threading.Event()

    def wait(*arguments: object) -> list[tuple[object, int]]:
        free.wait(20)
        return [("192.0.2.1", 3)]

    monkeypatch.setattr(service, "rank_values", wait)
    limits = RestLimits(queries=4, queries_per_token=4, wait_seconds=20)
    with serve_app(create_app(services, FakeTokens(), limits), limits) as port, ThreadPoolExecutor(40) as pool:
        get(port, "/healthz")  # the first one waits for the store
        counts = [pool.submit(get, port, f"/api/v1/top?source={SOURCE.name}&field=src_ip") for _ in range(40)]
        time.sleep(0.5)
        assert [get(port, "/healthz") for _ in range(20)] == [200] * 20
        assert not any(count.done() for count in counts)
        free.set()
        assert [count.result() for count in counts] == [200] * 40


def get(port: int, path: str) -> int:
    """Asks for a path and returns the answer's status once it is there in full."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request("GET", path, headers=BEARER)
    response = connection.getresponse()
    response.read()
    return response.status


def test_a_host_with_several_addresses_is_served_on_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    resolve = socket.getaddrinfo

    def resolve_twice(host: str, *arguments: object, **options: object) -> list[object]:
        names = ("127.0.0.1", "::1") if host == "two.example" else (host,)
        return [found for name in names for found in resolve(name, *arguments, **options)]  # type: ignore[call-overload]

    monkeypatch.setattr(socket, "getaddrinfo", resolve_twice)
    server = connections.make_server(lambda environ, start: [], "two.example", 0, RestLimits(queries=1))
    assert server.effective_host == "127.0.0.1"
    server.task_dispatcher.shutdown(timeout=1)
    server.close()


@pytest.mark.parametrize("host", ["no.such.host.invalid", "a" * 64 + ".example", "192.0.2.1"])
def test_a_host_that_is_not_this_machine_is_refused(host: str) -> None:
    with pytest.raises(SettingsError, match="choose another --"):
        connections.make_server(lambda environ, start: [], host, 0, RestLimits(queries=1))
