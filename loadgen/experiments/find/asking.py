"""Asks in which sources a value occurs, and for its newest events in all of them, over REST and in the process."""

from __future__ import annotations

import http.client
import time
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode

import orjson

from watchfloor.loadgen.harness.background import RestAddress
from watchfloor.query.service import QueryService
from watchfloor.schema.errors import StackError

LIMIT = 100
"""The number of newest events of a value that are asked for."""
_SECONDS = 120


class FindClient:
    """Asks the REST service on one open connection."""

    def __init__(self, service: RestAddress) -> None:
        self._connection = http.client.HTTPConnection(service.host, service.port, timeout=_SECONDS)
        self._headers = {"Authorization": f"Bearer {service.token}", "Content-Type": "application/json"}

    def find_value(self, sources: Sequence[str], value: str) -> tuple[float, int]:
        """Returns the seconds until the sightings of a value are here, and their number."""
        asked = urlencode({"value": value, "kind": "ip", "sources": ",".join(sources)})
        started = time.perf_counter()
        self._connection.request("GET", f"/api/v1/find?{asked}", headers=self._headers)
        answer = self._connection.getresponse()
        body = answer.read()
        seconds = time.perf_counter() - started
        _check_status(answer, body)
        return seconds, len(orjson.loads(body)["sightings"])

    def query_value(self, sources: Sequence[str], value: str) -> tuple[float, float, int]:
        """Returns the seconds to the first and to the last of the newest events of a value, and their number."""
        body = orjson.dumps({"source": ",".join(sources), "where": f"ip = {value}", "limit": LIMIT})
        started = time.perf_counter()
        self._connection.request("POST", "/api/v1/query", body, self._headers)
        answer = self._connection.getresponse()
        line = answer.readline()
        first = time.perf_counter() - started
        lines = [line, *answer.readlines()]
        seconds = time.perf_counter() - started
        _check_status(answer, line)
        summary: dict[str, Any] = orjson.loads(lines[-1])["summary"]
        if summary["status"] not in ("complete", "limit"):
            raise StackError(f"the query ended with {summary}")
        return first, seconds, summary["rows"]

    def close(self) -> None:
        self._connection.close()


def find_in_process(service: QueryService, sources: Sequence[str], value: str) -> float:
    """Returns the seconds that the query service of this process takes for the sightings of a value."""
    started = time.perf_counter()
    service.find_sightings(value, "ip", sources=",".join(sources))
    return time.perf_counter() - started


def _check_status(answer: http.client.HTTPResponse, body: bytes) -> None:
    if answer.status != 200:
        raise StackError(f"the REST service answered {answer.status}: {body[:300]!r}")
