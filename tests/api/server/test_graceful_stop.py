"""On SIGTERM a service lets running answers end and says that it takes no more; a second one stops it at once.

In `make test`: it runs processes of the service over a fake store.
"""

from __future__ import annotations

import http.client
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from rest_fakes import BEARER, GOOD, TOKEN, read_lines
from slow_readers import ask_rest

from watchfloor.api.rest.serve import GRACE_SECONDS

SERVICE = """
import sys, threading
from rest_fakes import FakeService, FakeServices, FakeTokens, events
from watchfloor.api.rest.app import create_app
from watchfloor.api.rest.serve import run_server
from watchfloor.schema.settings.settings import Settings

gate, stopping = threading.Event(), threading.Event()
service = FakeService([events(0, 1), gate, events(1, 1)])
threading.Thread(target=lambda: (sys.stdin.readline(), gate.set()), daemon=True).start()
app = create_app(FakeServices(service), FakeTokens(), stopping=stopping)
run_server(app, Settings(home=sys.argv[1], port=0), lambda line: print(line, flush=True), stopping)
"""


class Service:
    """A service in a process of its own, whose queries find an event, and another one once they are told to go on."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdin is not None and process.stdout is not None
        self.process, self._stdin = process, process.stdin
        told = re.search(r":(\d+)/ ", process.stdout.readline())
        assert told is not None
        self.port = int(told[1])

    def ask(self, path: str) -> http.client.HTTPResponse:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        connection.request("GET", path, headers=BEARER)
        return connection.getresponse()

    def begin_stream(self) -> http.client.HTTPResponse:
        """Returns the answer of a query of which the first event has been read."""
        response = ask_rest(self.port, TOKEN, GOOD)
        assert b'"path":"/0"' in response.readline()
        return response

    def let_queries_go_on(self) -> None:
        self._stdin.write("\n")
        self._stdin.flush()

    def stop(self) -> None:
        self.process.send_signal(signal.SIGTERM)


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(
        [sys.executable, "-c", SERVICE, str(tmp_path)], stdin=-1, stdout=-1, text=True, env=environment
    ) as process:
        yield Service(process)
        process.kill()


def test_a_running_stream_ends_whole(service: Service) -> None:
    stream = service.begin_stream()
    assert service.ask("/readyz").status == 200
    service.stop()
    began = time.monotonic()
    while (ready := service.ask("/readyz")).status == 200:
        assert time.monotonic() - began < 2
        time.sleep(0.01)
    assert ready.status == 503 and b"unavailable" in ready.read()
    assert service.ask("/healthz").status == service.ask("/api/v1/sources").status == 200, "it still answers"
    assert service.process.poll() is None
    service.let_queries_go_on()
    (row, last) = read_lines(stream.read())
    assert row["path"] == "/1" and last["summary"]["status"] == "complete" and last["summary"]["rows"] == 2
    assert service.process.wait(GRACE_SECONDS + 5) == 0


def test_a_second_signal_stops_it_at_once(service: Service) -> None:
    stream = service.begin_stream()
    service.stop()
    time.sleep(0.3)
    assert service.process.poll() is None, "the stream has its time to end"
    began = time.monotonic()
    service.stop()
    assert service.process.wait(10) == 0
    assert time.monotonic() - began < 3
    with pytest.raises((http.client.IncompleteRead, ConnectionError)):
        stream.read()


def test_a_stream_that_does_not_end_is_cut_off(service: Service) -> None:
    stream = service.begin_stream()
    began = time.monotonic()
    service.stop()
    assert service.process.wait(GRACE_SECONDS + 10) == 0
    assert GRACE_SECONDS - 0.5 < time.monotonic() - began < GRACE_SECONDS + 4
    with pytest.raises((http.client.IncompleteRead, ConnectionError)):
        stream.read()


def test_a_service_without_work_stops_soon(service: Service) -> None:
    assert service.ask("/readyz").status == 200
    began = time.monotonic()
    service.stop()
    assert service.process.wait(10) == 0
    assert time.monotonic() - began < 3
