"""VictoriaLogs, a server for logs that is asked in its language LogsQL over HTTP.

It keeps all fields as columns of text in blocks, with Bloom filters of their words; there is nothing to set up. All
events are of one stream, as none of their fields tells an application.
"""

from __future__ import annotations

import http.client
import json
import os
import shutil
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from threading import Lock
from typing import Any
from urllib.parse import urlencode

import orjson

from watchfloor.ingest.files.lines import read_chunks
from watchfloor.loadgen.engines.answer import AnswerRows
from watchfloor.loadgen.engines.limits import THREADS
from watchfloor.loadgen.engines.question import EngineQuestion, QuestionKind
from watchfloor.schema.errors import StackError
from watchfloor.schema.source import Source

from .victorialogs_server import HOST, VictoriaLogsServer

_SENT_BYTES = 10 << 20
_TIMEOUT = 3600  # seconds
_POLL_SECONDS = 0.2
_TIME = "_time"
"""The name of the field that has an event's time, whatever its name was."""


class VictoriaLogsEngine:
    """A server with one table, started for this engine."""

    def __init__(self, folder: Path, source: Source) -> None:
        self._time, self._folder = source.time_field, folder
        self._program = Path(os.environ["VICTORIA_LOGS"]).resolve()
        self._server = VictoriaLogsServer(self._program, folder)
        self._client = VictoriaLogsClient(self._server.port)

    def recreate_table(self) -> None:
        """Starts the server anew without data: it removes events by their age alone."""
        self.close()
        shutil.rmtree(self._folder / "data", ignore_errors=True)
        self._server = VictoriaLogsServer(self._program, self._folder)
        self._client = VictoriaLogsClient(self._server.port)

    def load_file(self, path: Path) -> None:
        chunks, lock = read_chunks(path, chunk_bytes=_SENT_BYTES), Lock()
        target = f"/insert/jsonline?{urlencode({'_time_field': self._time})}"

        def send() -> None:
            with closing(VictoriaLogsClient(self._server.port)) as client:
                while True:
                    with lock:
                        chunk = next(chunks, None)
                    if chunk is None:
                        return
                    client.send_request("POST", target, chunk.data)

        with ThreadPoolExecutor(THREADS) as pool:
            for sent in [pool.submit(send) for _ in range(THREADS)]:
                sent.result()
        self._client.send_request("GET", "/internal/force_flush")
        self._await_metric(b'vl_storage_rows{type="storage/inmemory"} 0')

    def finish_merges(self) -> None:
        """Has all parts of a day merged, which the server does in the background, and waits for the end."""
        self._client.send_request("GET", "/internal/force_merge")
        time.sleep(_POLL_SECONDS)
        self._await_metric(b"vl_active_force_merges 0")

    def measure_disk(self) -> int:
        found = os.walk(self._folder / "data")
        return sum(_measure_file(Path(folder, name)) for folder, _, names in found for name in names)

    def count_events(self) -> int:
        return self._count("*")

    def count_matches(self, question: EngineQuestion) -> int:
        return self._count(_format_condition(question))

    def read_rows(self, question: EngineQuestion) -> Iterator[AnswerRows]:
        asked = {"query": _format_condition(question)}
        if question.limit is not None:
            # The server gives the newest, sorted, and looks for them from the newest on.
            asked["limit"] = str(question.limit)
        elif question.kind is QuestionKind.NEWEST:
            asked["query"] += f" | sort by ({_TIME}) desc"
        rows = self._ask(asked)
        for row in rows:
            row[self._time] = row.pop(_TIME)
        yield rows

    def close(self) -> None:
        self._client.close()
        self._server.close()

    def _await_metric(self, line: bytes) -> None:
        while line not in self._client.send_request("GET", "/metrics").splitlines():
            time.sleep(_POLL_SECONDS)

    def _count(self, condition: str) -> int:
        return int(self._ask({"query": f"{condition} | stats count() events"})[0]["events"])

    def _ask(self, asked: Mapping[str, str]) -> list[dict[str, Any]]:
        answer = self._client.send_request("POST", "/select/logsql/query", asked)
        return [orjson.loads(line) for line in answer.splitlines()]


class VictoriaLogsClient:
    """One open HTTP connection to the server."""

    def __init__(self, port: int) -> None:
        self._connection = http.client.HTTPConnection(HOST, port, timeout=_TIMEOUT)

    def send_request(self, method: str, path: str, body: Mapping[str, str] | bytes | None = None) -> bytes:
        """Sends a request and returns the answer. A ``body`` of bytes is JSON lines, another one a form.

        Raises StackError with the server's message for an answer that is an error.
        """
        kind = "application/x-www-form-urlencoded" if isinstance(body, Mapping) else "application/stream+json"
        sent = urlencode(body).encode() if isinstance(body, Mapping) else body
        self._connection.request(method, path, sent, {"Content-Type": kind} if sent is not None else {})
        answer = self._connection.getresponse()
        text = answer.read()
        if answer.status >= http.HTTPStatus.BAD_REQUEST:
            raise StackError(f"{method} {path}: {answer.status}: {text[:1000].decode(errors='replace')}")
        return text

    def close(self) -> None:
        self._connection.close()


def _format_condition(question: EngineQuestion) -> str:
    """Returns the condition in LogsQL, whose texts have the escapes of JSON."""
    if question.condition is not None:
        return question.condition
    value = json.dumps(question.value, ensure_ascii=False)
    return f"`{question.field}`:{'~' if question.pattern else '='}{value}"


def _measure_file(path: Path) -> int:
    """Returns the bytes of a file; 0 if a merge has removed it meanwhile."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
