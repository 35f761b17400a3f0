"""A receiver of webhooks for tests, which can refuse."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Receiver:
    """``answers`` are the statuses of the first answers; the others are 204. ``taken`` has what those were for."""

    port: int = 0
    answers: list[int] = field(default_factory=list)
    headers: dict[str, str] = field(default_factory=dict)
    taken: list[dict[str, Any]] = field(default_factory=list)
    asked: int = 0

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}/alerts"


@contextmanager
def receive_webhooks(*answers: int, **headers: str) -> Iterator[Receiver]:
    """Runs a receiver; all answers have these headers."""
    receiver = Receiver(answers=list(answers), headers=headers)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            receiver.asked += 1
            status = receiver.answers.pop(0) if receiver.answers else 204
            if status == 204:
                receiver.taken.append(body)
            self.send_response(status)
            for name, value in receiver.headers.items():
                self.send_header(name, value)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        receiver.port = server.server_address[1]
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield receiver
        finally:
            server.shutdown()
            thread.join()
