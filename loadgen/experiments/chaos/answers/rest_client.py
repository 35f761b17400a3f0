"""A plain client of the REST service, which sorts every answer into a few outcomes."""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

ANSWER_SECONDS = 90.0
"""The longest time for an answer, or for the next part of one."""
_HEALTH_SECONDS = 5.0


@dataclass(frozen=True)
class Answer:
    """One answer, or its absence.

    ``outcome`` is ``ok`` (an answer, or a stream with its summary), ``unavailable`` (the service says that it or its
    store cannot answer now), ``no connection``, ``cut off`` (recognisable: the summary is missing), ``unanswered``
    within ``ANSWER_SECONDS``, or ``wrong``: anything else. ``problem`` describes what is not ok.
    """

    outcome: str
    began: float
    seconds: float
    body: Mapping[str, Any] = field(default_factory=dict)
    rows: tuple[dict[str, Any], ...] = ()
    problem: str = ""

    @property
    def status(self) -> str:
        """The status of a query in its summary: ``complete``, ``limit``, ``deadline`` or ``failed``."""
        return str(self.body.get("status", ""))


class RestClient:
    """Asks the service by a connection of its own for each request. Threads may share it."""

    def __init__(self, host: str, port: int, token_file: Path) -> None:
        """``token_file`` is read at each request, because the service makes it when it starts."""
        self._host, self._port, self._token_file = host, port, token_file

    def is_healthy(self) -> bool:
        """Returns within seconds whether the service answers that it reaches its store."""
        connection = http.client.HTTPConnection(self._host, self._port, timeout=_HEALTH_SECONDS)
        try:
            connection.request("GET", "/healthz")
            return connection.getresponse().status == 200
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()

    def query(self, **members: Any) -> Answer:
        """Runs a query to its end."""
        return self._ask("POST", "/api/v1/query", json.dumps(members))

    def get(self, route: str, **parameters: Any) -> Answer:
        """Asks for a count, for top values or for a timeline."""
        return self._ask("GET", f"/api/v1/{route}?{urlencode(parameters)}", None)

    def _ask(self, method: str, path: str, body: str | None) -> Answer:
        began = time.time()
        connection = http.client.HTTPConnection(self._host, self._port, timeout=ANSWER_SECONDS)
        problem, status, data = "", 0, b""
        try:
            token = self._token_file.read_text().strip()
            headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
            connection.request(method, path, body, headers)
            response = connection.getresponse()
            status = response.status
            data = response.read()
        except TimeoutError:
            return Answer("unanswered", began, time.time() - began, problem=f"no answer in {ANSWER_SECONDS:.0f} s")
        except http.client.IncompleteRead as error:
            data, problem = error.partial, "the stream was cut off"
        except (OSError, http.client.HTTPException) as error:
            outcome = "cut off" if status else "no connection"
            return Answer(outcome, began, time.time() - began, problem=f"{type(error).__name__}: {error}")
        finally:
            connection.close()
        return read_answer(path, status, data, problem, began)


def read_answer(path: str, status: int, data: bytes, problem: str, began: float) -> Answer:
    """Sorts what was received: rows and summary of a query, the object of another answer, or a problem."""
    seconds = time.time() - began
    if b"Traceback" in data:
        return Answer("wrong", began, seconds, problem=f"status {status}, with a traceback: {data[-2000:]!r}")
    try:
        if status != 200:
            said = json.loads(data)
            kind = str(said["type"])
            clean = status in (429, 503) and kind.startswith("tag:watchfloor,")
            return Answer("unavailable" if clean else "wrong", began, seconds, problem=f"{status} {said}")
        if not path.startswith("/api/v1/query"):
            return Answer("ok", began, seconds, json.loads(data))
        lines = data.split(b"\n")
        whole = [json.loads(line) for line in lines[:-1]]
    except (ValueError, KeyError, TypeError) as error:
        return Answer("wrong", began, seconds, problem=f"status {status}, {error!r}: {data[-1000:]!r}")
    if whole and set(whole[-1]) == {"summary"}:
        summary = whole[-1]["summary"]
        clean = summary["status"] != "failed" or summary["problem"]["status"] == 503
        return Answer(
            "ok" if clean else "wrong", began, seconds, summary, tuple(whole[:-1]), "" if clean else str(summary)
        )
    return Answer("cut off", began, seconds, rows=tuple(whole), problem=problem or "the summary is missing")
