"""Runs the REST service until SIGTERM or Ctrl-C. On SIGTERM running answers get ``GRACE_SECONDS`` to end."""

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

from watchfloor.api.rest.base.limits import RestLimits
from watchfloor.api.tokens.token_file import FIRST_TOKEN_FILE, TokenFile
from watchfloor.api.tokens.tokens_in_force import TokensInForce
from watchfloor.query.service import QueryService
from watchfloor.schema.errors import OperatorError, StoreError
from watchfloor.schema.files.paths import show_path
from watchfloor.schema.lists.list_file import ListValues
from watchfloor.schema.settings.settings import Settings
from watchfloor.schema.source import Source
from watchfloor.store.bridge.connection import is_memory_short
from watchfloor.store.put_list import put_list, remove_list
from watchfloor.store.store import Store
from watchfloor.store.value_lists import StoredList

from .app import create_app
from .connections import close_server, guard_connections, make_server

GRACE_SECONDS = 5
COUNT_SECONDS = 30.0
"""The most seconds that counts, top values and timelines may take."""
log = logging.getLogger(__name__)


class StoreServices:
    """Query services over one store connection, opened at first use. Each set of labels in use has its own view.

    Authorizations are reduced to the labels that the service's Accumulo user has at that moment. Answers from counts
    fail after the seconds that bound the deadlines of queries, or after ``COUNT_SECONDS``.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._count_seconds = min(settings.deadline_seconds or COUNT_SECONDS, COUNT_SECONDS)
        self._lock = threading.Lock()
        self._root: Store | None = None
        self._stores: dict[tuple[str, ...], Store] = {}
        self._closed = False

    def open_service(self, authorizations: tuple[str, ...] | None) -> QueryService:
        """Returns the query service that sees what ``authorizations`` let through; None stands for all of the user's.

        Raises ``OperatorError`` while the store does not answer; the next call tries again.
        """
        return QueryService(self._open_store(authorizations), self._count_seconds)

    def read_sources(self, authorizations: tuple[str, ...] | None) -> Mapping[str, Source]:
        return self._open_store(authorizations).catalog.read_sources()

    def put_list(self, name: str, values: ListValues, label: str | None, expires: int | None) -> StoredList:
        with Store.open(self._settings, role="ingest") as store:
            return put_list(store, name, values, label, expires)

    def remove_list(self, name: str) -> None:
        with Store.open(self._settings, role="ingest") as store:
            remove_list(store, name)

    def is_memory_short(self) -> bool:
        return is_memory_short()

    def _open_store(self, authorizations: tuple[str, ...] | None) -> Store:
        with self._lock:
            if self._closed:
                raise StoreError("the service is stopping")
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
            self._closed = True
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
        run_server(create_app(services, tokens, RestLimits.from_settings(settings), settings), settings, say)
    finally:
        services.close()


def open_tokens(secret: Path, say: Callable[[str], None]) -> TokensInForce:
    """Returns the tokens in force. Makes a first one if there is no file, and brings an older file to the present form.

    Raises ``SettingsError`` if the file is damaged.
    """
    file = TokenFile(secret)
    if not file.make_first() and file.upgrade():
        say(f"{show_path(file.path)} is in the present form now; its tokens are analysts' and do not expire")
    return TokensInForce(secret)


def run_server(app: Callable[..., Any], settings: Settings, say: Callable[[str], None]) -> None:
    """Serves a WSGI application in the main thread until SIGTERM or Ctrl-C."""
    limits = RestLimits.from_settings(settings)
    server = make_server(app, settings.host, settings.port, limits)
    address = f"http://{server.effective_host}:{server.effective_port}"
    say(f"serving {address}/ (the web page; REST: /api/v1, health: /healthz); stop with Ctrl-C")
    if (first := settings.secret_folder / FIRST_TOKEN_FILE).exists():
        say(f"a bearer token is in {show_path(first)}")
    _install_signals(server)
    try:
        with guard_connections(server, limits):
            server.run()
    finally:
        close_server(server)
        log.info("stopped")


def _install_signals(server: Any) -> None:
    """Makes the first SIGTERM let running answers end, for ``GRACE_SECONDS`` at most, and a second one stop at once."""
    stopping = threading.Event()

    def stop_when_idle() -> None:
        deadline = time.monotonic() + GRACE_SECONDS
        while time.monotonic() < deadline and any(channel.is_busy for channel in list(server.active_channels.values())):
            time.sleep(0.05)
        os.kill(os.getpid(), signal.SIGTERM)

    def handle_signal(number: int, frame: FrameType | None) -> None:
        if stopping.is_set():
            sys.exit(0)  # waitress catches SystemExit, and ends its loop and its threads
        stopping.set()
        threading.Thread(target=stop_when_idle, name="graceful-stop", daemon=True).start()

    signal.signal(signal.SIGTERM, handle_signal)
    signal.signal(signal.SIGINT, signal.default_int_handler)
