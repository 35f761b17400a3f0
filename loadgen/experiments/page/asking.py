"""Asks the REST service for pages: one client that times each answer, and many in a closed loop."""

from __future__ import annotations

import http.client
import re
import selectors
import socket
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from random import Random
from typing import cast

import orjson

from watchfloor.api.rest.base.limits import IDLE_SECONDS
from watchfloor.loadgen.engines.answer import EngineAnswer, build_table, check_answer
from watchfloor.loadgen.engines.question import EngineQuestion
from watchfloor.loadgen.harness.background import RestAddress
from watchfloor.loadgen.harness.cpu_usage import read_cpu_seconds
from watchfloor.schema.errors import StackError
from watchfloor.schema.source import Source

_READ_BYTES = 1 << 18
_SECONDS = 600
_SUMMARY = b'{"summary":'
_PATH = "/api/v1/query"
_OK, _END = b"HTTP/1.1 200 ", b"0\r\n\r\n"
"""The beginning and the last chunk of an answer: no line of JSON has a carriage return, so nothing else looks so."""


class PageClient:
    """A client with one connection, which stays open, that reads JSON lines."""

    def __init__(self, service: RestAddress, source: Source) -> None:
        self._source = source
        self._connection = http.client.HTTPConnection(service.host, service.port, timeout=_SECONDS)
        self._used_at = float("-inf")
        self._headers = {"Authorization": f"Bearer {service.token}", "Content-Type": "application/json"}

    def ask_question(self, question: EngineQuestion, check: bool) -> EngineAnswer:
        """Returns the answer, read to its end; ``check`` says whether to check and digest the rows.

        The first line of an answer without rows is its end. Raises ``StackError`` for an answer that is not whole.
        """
        body = _encode_body(self._source, question)
        self._renew_connection()
        started = time.perf_counter()
        self._connection.request("POST", _PATH, body, self._headers)
        response = self._connection.getresponse()
        parts = [response.readline()]
        first_seconds = time.perf_counter() - started
        while part := response.read1(_READ_BYTES):
            parts.append(part)
        seconds = time.perf_counter() - started
        *lines, last = b"".join(parts).splitlines()
        if response.status != 200 or not last.startswith(_SUMMARY):
            raise StackError(f"{question.name}: the REST service answered {response.status}: {last[:300]!r}")
        if (status := orjson.loads(last)["summary"]["status"]) not in ("complete", "limit"):
            raise StackError(f"{question.name}: the answer ended as {status}")
        if not check:
            return EngineAnswer(seconds, len(lines), first_seconds=first_seconds)
        rows = build_table(list(map(orjson.loads, lines)), self._source)
        return replace(check_answer(seconds, rows, self._source, question), first_seconds=first_seconds)

    def _renew_connection(self) -> None:
        """Opens the connection anew if the service may have closed it while other engines were asked."""
        now = time.monotonic()
        if now - self._used_at > IDLE_SECONDS / 2:
            self._connection.close()
            self._connection.connect()
        self._used_at = now

    def close(self) -> None:
        self._connection.close()


@dataclass(frozen=True)
class LoopResult:
    """Pages a second of all clients, and the processor seconds of a page by the role of the processes."""

    rate: float
    cpu_seconds: Mapping[str, float]


@dataclass(frozen=True)
class PageLoop:
    """Clients that ask for pages, each again when it has its answer; ``processes`` are pids by role.

    One thread does for all of them what a client must, and no more: sixteen threads with the client library took a
    fifth of the processors from the service that they measured.
    """

    service: RestAddress
    source: Source
    questions: Sequence[EngineQuestion]
    clients: int
    processes: Mapping[str, Sequence[int]]

    def run(self, seconds: float, seed: int) -> LoopResult:
        """Asks for ``seconds``, and reads the answers to their ends. Each question is as likely as the others.

        Raises ``StackError`` for an answer that is not whole.
        """
        drawn, requests = Random(seed), [self._encode_request(question) for question in self.questions]
        before, began, pages = self._read_cpu_seconds(), time.perf_counter(), 0
        with ExitStack() as opened, selectors.DefaultSelector() as selector:
            for _ in range(self.clients):
                connection = opened.enter_context(socket.create_connection(self._address, timeout=_SECONDS))
                selector.register(connection, selectors.EVENT_READ, bytearray())
                connection.sendall(drawn.choice(requests))
            while selector.get_map():
                for connection in _read_pages(selector):
                    pages += 1
                    if time.perf_counter() - began < seconds:
                        connection.sendall(drawn.choice(requests))
                    else:
                        selector.unregister(connection)
        took, after = time.perf_counter() - began, self._read_cpu_seconds()
        return LoopResult(pages / took, {role: (after[role] - before[role]) / pages for role in before})

    @property
    def _address(self) -> tuple[str, int]:
        return self.service.host, self.service.port

    def _encode_request(self, question: EngineQuestion) -> bytes:
        body = _encode_body(self.source, question)
        head = (
            f"POST {_PATH} HTTP/1.1\r\nHost: {self.service.host}\r\nAuthorization: Bearer {self.service.token}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        return head.encode() + body

    def _read_cpu_seconds(self) -> Mapping[str, float]:
        return {role: sum(map(read_cpu_seconds, pids)) for role, pids in self.processes.items()}


def _encode_body(source: Source, question: EngineQuestion) -> bytes:
    return orjson.dumps({"source": source.name, "where": question.condition, "limit": question.limit})


def _read_pages(selector: selectors.BaseSelector) -> Iterator[socket.socket]:
    """Waits for parts of answers, and yields the connections whose answers are complete.

    Raises ``StackError`` for an answer that is no whole page, or if none comes.
    """
    if not (ready := selector.select(_SECONDS)):
        raise StackError(f"the REST service answers nothing for {_SECONDS} s")
    for key, _ in ready:
        connection, answer = cast(socket.socket, key.fileobj), key.data
        answer += (part := connection.recv(_READ_BYTES))
        if part and answer.startswith(_OK) and not answer.endswith(_END):
            continue
        status = re.search(rb'\{"summary":\{"status":"(\w+)"', answer)
        if not answer.endswith(_END) or status is None or status[1] not in (b"complete", b"limit"):
            raise StackError(f"the REST service answered {bytes(answer[:300])!r}")
        answer.clear()
        yield connection
