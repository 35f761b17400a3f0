"""Serves an application in a thread of the tests' own process, as ``watchfloor serve`` does."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

from flask import Flask
from waitress import wasyncore

from watchfloor.api.rest.base.limits import RestLimits
from watchfloor.api.rest.connections import guard_connections, make_server
from watchfloor.api.rest.local_server import listen_locally
from watchfloor.api.rest.tls import TlsFiles, use_tls
from watchfloor.api.tokens.token import Token
from watchfloor.schema.choices import TOKEN_ROLES


class AnyToken:
    """Accepts any token, and lets its holder see all that the query user sees.

    A token named like a role has it, every other is an analyst's.
    """

    damage = None

    def find_token(self, text: str) -> Token | None:
        return Token("tests", "", text if text in TOKEN_ROLES else "analyst", None, 0)  # type: ignore[arg-type]

    def is_in_force(self, token: Token) -> bool:
        return True


@contextmanager
def serve_app(
    app: Flask, limits: RestLimits, tls: TlsFiles | None = None, local: tuple[Flask, Path] | None = None
) -> Iterator[int]:
    """Yields the port on which the application answers, over TLS with the certificate of ``tls``.

    ``local`` is the application that answers commands, and the stack's folder. At the end the loop's thread has ended
    and every socket is closed.
    """
    server = make_server(app, "127.0.0.1", 0, limits, "http" if tls is None else "https")
    if tls is not None:
        use_tls(server, tls)
    with nullcontext() if local is None else listen_locally(server, *local):
        yield from _run_loop(server, limits)


def _run_loop(server: Any, limits: RestLimits) -> Iterator[int]:
    loop = threading.Thread(target=server.run, daemon=True)
    loop.start()
    try:
        with guard_connections(server, limits):
            yield int(server.effective_port)
    finally:
        server.task_dispatcher.shutdown(timeout=1)

        def close() -> None:
            server.close()
            wasyncore.close_all(server._map)

        # The loop's own thread closes the sockets, as it waits on them. It takes this lock to run its thunks. The lock
        # is held until the write: otherwise a pull that a task has left behind could make it close the pipe before.
        with server.trigger.lock:
            server.trigger.thunks.append(close)
            server.trigger.pull_trigger()
        loop.join(5)
        assert not loop.is_alive(), "the server's loop has not ended"
