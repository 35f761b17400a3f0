"""Asks the REST service for pages: one client that times each answer, and many in a closed loop."""

from __future__ import annotations

import http.client
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, replace
from random import Random

import orjson

from watchfloor.loadgen.engines.answer import EngineAnswer, build_table, check_answer
from watchfloor.loadgen.engines.question import EngineQuestion
from watchfloor.loadgen.harness.background import RestAddress
from watchfloor.loadgen.harness.cpu_usage import read_cpu_seconds
from watchfloor.schema.errors import StackError
from watchfloor.schema.source import Source

_READ_BYTES = 1 << 18
_SECONDS = 600
_SUMMARY = b'{"summary":'


class PageClient:
    """A client with one connection, which stays open, that reads JSON lines."""

    def __init__(self, service: RestAddress, source: Source) -> None:
        self._source = source
        self._connection = http.client.HTTPConnection(service.host, service.port, timeout=_SECONDS)
        self._headers = {"Authorization": f"Bearer {service.token}", "Content-Type": "application/json"}

    def ask_question(self, question: EngineQuestion, check: bool) -> EngineAnswer:
        """Returns the answer, read to its end; ``check`` says whether to check and digest the rows.

        The first line of an answer without rows is its end. Raises ``StackError`` for an answer that is not whole.
        """
        asked = {"source": self._source.name, "where": question.condition, "limit": question.limit}
        body = orjson.dumps(asked)
        started = time.perf_counter()
        self._connection.request("POST", "/api/v1/query", body, self._headers)
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

    def close(self) -> None:
        self._connection.close()


@dataclass(frozen=True)
class LoopResult:
    """Pages a second of all clients, and the processor seconds of a page by the role of the processes."""

    rate: float
    cpu_seconds: Mapping[str, float]


@dataclass(frozen=True)
class PageLoop:
    """Clients that ask for pages, each again when it has its answer; ``processes`` are pids by role."""

    service: RestAddress
    source: Source
    questions: Sequence[EngineQuestion]
    clients: int
    processes: Mapping[str, Sequence[int]]

    def run(self, seconds: float, seed: int) -> LoopResult:
        """Asks for ``seconds``. Each client draws from the questions, each of which is as likely as the others."""
        before = self._read_cpu_seconds()
        began = time.perf_counter()

        def ask_often(number: int) -> int:
            drawn, asked = Random(f"{seed} {number}"), 0
            with closing(PageClient(self.service, self.source)) as client:
                while time.perf_counter() - began < seconds:
                    client.ask_question(drawn.choice(self.questions), False)
                    asked += 1
            return asked

        with ThreadPoolExecutor(self.clients) as pool:
            pages = sum(pool.map(ask_often, range(self.clients)))
        took, after = time.perf_counter() - began, self._read_cpu_seconds()
        return LoopResult(pages / took, {role: (after[role] - before[role]) / pages for role in before})

    def _read_cpu_seconds(self) -> Mapping[str, float]:
        return {role: sum(map(read_cpu_seconds, pids)) for role, pids in self.processes.items()}
