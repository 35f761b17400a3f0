"""A WSGI application around another one that shows how a server handles a stream, by two paths of its own."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

CHUNK_SECONDS = 0.1
SILENT_SECONDS = 20.0
"""Seconds for which a silent stream waits for its client to go."""
STREAM, SILENT, LAST_END = "/probe/stream", "/probe/silent", "/probe/last-end"

WsgiApp = Callable[..., Iterable[bytes]]


class StreamProbe:
    """Answers the paths of the probe itself, and all others by ``app``.

    ``STREAM`` sends a line every ``CHUNK_SECONDS``, each with the time at which it was handed to the server. ``SILENT``
    sends one line, and then waits for the server to tell, or close it. ``LAST_END`` tells when a silent stream ended.
    """

    def __init__(self, app: WsgiApp) -> None:
        self._app = app
        self._last_end = 0.0

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        path = environ.get("PATH_INFO")
        if path not in (STREAM, SILENT, LAST_END):
            return self._app(environ, start_response)
        start_response("200 OK", [("Content-Type", "application/x-ndjson")])
        if path == LAST_END:
            return [json.dumps(self._last_end).encode()]
        return self._send_lines() if path == STREAM else self._stay_silent(environ)

    def _send_lines(self) -> Iterator[bytes]:
        for _ in range(20):
            yield b"%.6f\n" % time.time()
            time.sleep(CHUNK_SECONDS)

    def _stay_silent(self, environ: dict[str, Any]) -> Iterator[bytes]:
        is_gone = environ.get("waitress.client_disconnected", lambda: False)
        try:
            yield b"\n"
            deadline = time.monotonic() + SILENT_SECONDS
            while time.monotonic() < deadline and not is_gone():
                time.sleep(0.02)
            yield b"\n"
        finally:
            self._last_end = time.time()
