"""Runs the REST service on a production WSGI server (waitress) until SIGTERM or Ctrl-C.

The number of threads is bounded. Two threads never run queries, so that short requests always find one. On SIGTERM
running answers get ``GRACE_SECONDS`` to end.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import FrameType
from typing import Any

from flask import Flask
from waitress import create_server

from watchfloor.api.rest.base.validate import MAX_BODY
from watchfloor.api.tokens.token_file import FIRST_TOKEN_FILE, TokenFile
from watchfloor.api.tokens.tokens_in_force import TokensInForce
from watchfloor.query.service import QueryService
from watchfloor.schema.errors import OperatorError, SettingsError
from watchfloor.schema.settings.settings import Settings
from watchfloor.schema.source import Source
from watchfloor.store.store import Store

from .app import create_app

THREADS = 8
SHORT_REQUEST_THREADS = 2
CONNECTIONS = 200
GRACE_SECONDS = 5
# Bodies above MAX_BODY and up to this size are refused with a problem; the server itself cuts off larger ones.
HARD_MAX_BODY = 16 * MAX_BODY
log = logging.getLogger(__name__)


class StoreServices:
    """Query services over one store connection, opened at first use. Each set of labels in use has its own view.

    Authorizations are reduced to the labels that the service's Accumulo user has at that moment.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self._root: Store | None = None
        self._stores: dict[tuple[str, ...], Store] = {}

    def open_service(self, authorizations: tuple[str, ...] | None) -> QueryService:
        """Returns the query service that sees what ``authorizations`` let through; None stands for all of the user's.

        Raises ``OperatorError`` while the store does not answer; the next call tries again.
        """
        return QueryService(self._open_store(authorizations))

    def read_sources(self, authorizations: tuple[str, ...] | None) -> Mapping[str, Source]:
        return self._open_store(authorizations).catalog.read_sources()

    def _open_store(self, authorizations: tuple[str, ...] | None) -> Store:
        with self._lock:
            if self._root is None:
                self._root = Store.open(self._settings, role="query")
            root = self._root
        labels = root.choose_granted(authorizations)
        with self._lock:
            if labels not in self._stores:
                self._stores[labels] = root.with_authorizations(labels)
            return self._stores[labels]

    def close(self) -> None:
        with self._lock:
            if self._root is not None:
                self._root.close()  # the others share its connection
            self._root, self._stores = None, {}


def serve(settings: Settings, say: Callable[[str], None]) -> None:
    """Runs the REST service until it is told to stop. ``say`` is called with lines for people."""
    tokens = open_tokens(settings.secret_folder, say)
    services = StoreServices(settings)
    try:
        try:
            services.open_service(None)
        except OperatorError as error:
            say(f"the store is not there yet ({error}); requests get 503 until it is")
        app = create_app(services, tokens, THREADS - SHORT_REQUEST_THREADS, settings.deadline_seconds or None)
        run_server(app, settings.host, settings.port, say, settings)
    finally:
        services.close()


def open_tokens(secret: Path, say: Callable[[str], None]) -> TokensInForce:
    """Returns the tokens in force. Makes a first one if there is no file, and brings an older file to the present form.

    Raises ``SettingsError`` if the file is damaged.
    """
    file = TokenFile(secret)
    if not file.make_first() and file.upgrade():
        say(f"{file.path} is in the present form now; its tokens are analysts' and do not expire")
    return TokensInForce(secret)


def run_server(app: Flask, host: str, port: int, say: Callable[[str], None], settings: Settings | None = None) -> None:
    """Serves ``app`` in the main thread until SIGTERM or Ctrl-C. Port 0 picks a free one."""
    try:
        server = create_server(
            app,
            host=host,
            port=port,
            threads=THREADS,
            connection_limit=CONNECTIONS,
            max_request_body_size=HARD_MAX_BODY,
            # Reading ahead is how waitress notices that a client has gone while its answer is being made.
            channel_request_lookahead=1,
            clear_untrusted_proxy_headers=True,
            asyncore_use_poll=True,
            ident="watchfloor",
        )
    except OSError as error:
        raise SettingsError(f"cannot listen on {host}:{port}: {error.strerror}; choose another --port") from None
    address = f"http://{server.effective_host}:{server.effective_port}"
    say(f"serving {address}/api/v1 (health: {address}/healthz); stop with Ctrl-C")
    if settings is not None and (first := settings.secret_folder / FIRST_TOKEN_FILE).exists():
        say(f"a bearer token is in {first}")
    _install_signals(server)
    try:
        server.run()
    finally:
        server.close()
        log.info("stopped")


def _install_signals(server: Any) -> None:
    """Makes the first SIGTERM let running answers end, for ``GRACE_SECONDS`` at most, and a second one stop at once."""
    stopping = threading.Event()

    def stop_when_idle() -> None:
        deadline = time.monotonic() + GRACE_SECONDS
        while time.monotonic() < deadline and any(map(_is_busy, list(server.active_channels.values()))):
            time.sleep(0.05)
        os.kill(os.getpid(), signal.SIGTERM)

    def handle_signal(number: int, frame: FrameType | None) -> None:
        if stopping.is_set():
            sys.exit(0)  # waitress catches SystemExit, and ends its loop and its threads
        stopping.set()
        threading.Thread(target=stop_when_idle, name="graceful-stop", daemon=True).start()

    signal.signal(signal.SIGTERM, handle_signal)
    signal.signal(signal.SIGINT, signal.default_int_handler)


def _is_busy(channel: Any) -> bool:
    return bool(channel.requests or channel.total_outbufs_len)
