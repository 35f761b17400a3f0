"""The HTTP servers that are compared: each serves the same application, in a process of its own.

As a program, with the name of a server and a port, it runs that server until it is ended. The stack is that of the
settings. Each server starts its JVM in the process that answers, after any fork.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from watchfloor.api.rest.app import create_app
from watchfloor.api.rest.base.limits import RestLimits
from watchfloor.api.rest.serve import run_server
from watchfloor.api.rest.store_services import StoreServices
from watchfloor.api.tokens.token import Token
from watchfloor.schema.settings.load import load_settings

from .probe import StreamProbe

HOST = "127.0.0.1"
MODULE = "watchfloor.loadgen.experiments.rest_load.servers"
LIMITS = RestLimits()


class AnyToken:
    """Accepts any text as a token, which it is the name of."""

    damage = None

    def find_token(self, text: str) -> Token | None:
        """Returns an analyst's token that sees all."""
        return Token(text, "", "analyst", None, 0)

    def is_in_force(self, token: Token) -> bool:
        """Returns True."""
        return True


def make_app() -> StreamProbe:
    """Returns the REST application over the settings' stack, with the paths of the probe."""
    return StreamProbe(create_app(StoreServices(load_settings()), AnyToken(), LIMITS))


def serve_watchfloor(port: int) -> None:
    """Serves as ``watchfloor serve`` does."""
    run_server(make_app(), replace(load_settings(), host=HOST, port=port), print)


def serve_waitress(port: int) -> None:
    """Serves by waitress with the limits that ``watchfloor serve`` had before decision 11."""
    from waitress import create_server

    create_server(
        make_app(),
        host=HOST,
        port=port,
        threads=8,
        connection_limit=200,
        channel_request_lookahead=1,
        asyncore_use_poll=True,
    ).run()


def serve_gunicorn(port: int) -> None:
    """Serves by one gthread worker of gunicorn."""
    from gunicorn.app.base import BaseApplication

    class Application(BaseApplication):
        def load_config(self) -> None:
            options = {"bind": f"{HOST}:{port}", "worker_class": "gthread", "threads": LIMITS.threads, "timeout": 0}
            for name, value in {**options, "worker_connections": 4096, "loglevel": "error"}.items():
                self.cfg.set(name, value)

        def load(self) -> StreamProbe:
            return make_app()

    Application().run()


def serve_granian(port: int) -> None:
    """Serves by one worker of granian."""
    from granian.constants import Interfaces
    from granian.server import Server

    Server(
        f"{MODULE}:make_app",
        factory=True,
        address=HOST,
        port=port,
        interface=Interfaces.WSGI,
        blocking_threads=LIMITS.threads,
        backpressure=LIMITS.threads,
        log_enabled=False,
    ).serve()


def serve_cheroot(port: int) -> None:
    """Serves by cheroot."""
    from cheroot.wsgi import Server

    server = Server((HOST, port), make_app(), numthreads=LIMITS.threads)
    try:
        server.start()
    finally:
        server.stop()


def serve_hypercorn(port: int) -> None:
    """Serves by hypercorn on asyncio, which runs the application in a pool of threads."""
    import asyncio
    from concurrent.futures import ThreadPoolExecutor

    from hypercorn.asyncio import serve
    from hypercorn.config import Config

    async def run() -> None:
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(LIMITS.threads))
        config = Config()
        config.bind, config.wsgi_max_body_size = [f"{HOST}:{port}"], 1 << 20
        app: Any = make_app()
        await serve(app, config, mode="wsgi")

    asyncio.run(run())


SERVERS: dict[str, Callable[[int], None]] = {
    "watchfloor": serve_watchfloor,
    "waitress": serve_waitress,
    "gunicorn": serve_gunicorn,
    "granian": serve_granian,
    "cheroot": serve_cheroot,
    "hypercorn": serve_hypercorn,
}


def list_installed() -> list[str]:
    """Returns the names of the servers that are installed."""
    return [name for name in SERVERS if name == "watchfloor" or importlib.util.find_spec(name)]


if __name__ == "__main__":
    SERVERS[sys.argv[1]](int(sys.argv[2]))
