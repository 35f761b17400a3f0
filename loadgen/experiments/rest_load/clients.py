"""Clients of an HTTP server: those that ask and read, those that do not read, and those that send half a request."""

from __future__ import annotations

import contextlib
import http.client
import json
import multiprocessing
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

HOST = "127.0.0.1"
HALF_REQUESTS = (b"", b"GET /healthz HT", b"POST /api/v1/query HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{")
HEALTH_SECONDS = 0.05
TIMEOUT = 60.0


@dataclass
class Answers:
    """The milliseconds of answers that were complete, those to their first lines, and why others failed."""

    millis: list[float] = field(default_factory=list)
    firsts: list[float] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)


def ask_query(port: int, body: Mapping[str, Any], token: str) -> tuple[float, float]:
    """Asks a query, and returns the seconds to its first line and to its summary. Raises ``OSError`` if it fails."""
    began = time.perf_counter()
    connection = http.client.HTTPConnection(HOST, port, timeout=TIMEOUT)
    try:
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        connection.request("POST", "/api/v1/query", json.dumps(body), headers)
        response = connection.getresponse()
        first = response.readline()
        first_seconds, rest = time.perf_counter() - began, response.read()
        if response.status != 200 or b'{"summary"' not in (first + rest)[-10_000:]:
            raise OSError(f"status {response.status}")
        return first_seconds, time.perf_counter() - began
    except http.client.HTTPException as error:
        raise OSError(type(error).__name__) from error
    finally:
        connection.close()


def ask_often(port: int, body: Mapping[str, Any], clients: int, seconds: float) -> Answers:
    """Has ``clients`` ask at once, each again when it has its answer, for ``seconds``. All have one token."""
    answers, end = Answers(), time.monotonic() + seconds

    def client(number: int) -> None:
        while time.monotonic() < end:
            try:
                first, whole = ask_query(port, body, "clients")
                answers.firsts.append(1000 * first)
                answers.millis.append(1000 * whole)
            except OSError as error:
                answers.failures.append(str(error) or type(error).__name__)

    with ThreadPoolExecutor(clients) as pool:
        list(pool.map(client, range(clients)))
    return answers


@contextmanager
def half_open(port: int, count: int) -> Iterator[None]:
    """Holds connections with half a request, or none, while the ``with`` block runs; those that end are opened anew."""
    halves, stop = [_send_half(port, number) for number in range(count)], threading.Event()

    def open_anew() -> None:
        while not stop.wait(1):
            for number, half in enumerate(halves):
                with contextlib.suppress(OSError):
                    if _has_ended(half):
                        half.close()
                        halves[number] = _send_half(port, number)

    thread = threading.Thread(target=open_anew, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(TIMEOUT)
        for half in halves:
            half.close()


def _send_half(port: int, number: int) -> socket.socket:
    half = socket.create_connection((HOST, port), timeout=5)
    half.sendall(HALF_REQUESTS[number % len(HALF_REQUESTS)])
    half.setblocking(False)  # A socket with a time-out waits in `recv`, whatever its flags say.
    return half


def _has_ended(half: socket.socket) -> bool:
    try:
        return half.recv(1) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True


@contextmanager
def stalled_readers(port: int, body: Mapping[str, Any], count: int) -> Iterator[None]:
    """Holds clients of one token that ask for all events and read nothing, while the ``with`` block runs."""
    text = json.dumps(body)
    head = f"POST /api/v1/query HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer stalled\r\nContent-Length: {len(text)}\r\n"
    with ExitStack() as stack:
        for _ in range(count):
            reader = stack.enter_context(socket.socket())
            reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            reader.settimeout(TIMEOUT)
            reader.connect((HOST, port))
            reader.sendall(f"{head}Content-Type: application/json\r\n\r\n{text}".encode())
        yield


@contextmanager
def health_checks(port: int) -> Iterator[Answers]:
    """Asks for the health every ``HEALTH_SECONDS`` while the ``with`` block runs, from a process of its own."""
    answers, context = Answers(), multiprocessing.get_context("spawn")
    stop, results = context.Event(), context.Queue()
    process = context.Process(target=_ask_health, args=(port, stop, results), daemon=True)
    process.start()
    try:
        yield answers
    finally:
        stop.set()
        answers.millis, answers.failures = results.get(timeout=2 * TIMEOUT)
        process.join()


def _ask_health(port: int, stop: Any, results: Any) -> None:
    answers = Answers()
    while not stop.wait(HEALTH_SECONDS):
        began = time.perf_counter()
        connection = http.client.HTTPConnection(HOST, port, timeout=TIMEOUT / 2)
        try:
            connection.request("GET", "/healthz")
            status = connection.getresponse().status
            if status == 200:
                answers.millis.append(1000 * (time.perf_counter() - began))
            else:
                answers.failures.append(f"status {status}")
        except (OSError, http.client.HTTPException) as error:
            answers.failures.append(type(error).__name__)
        finally:
            connection.close()
    results.put((answers.millis, answers.failures))
