"""Runs the REST service until SIGTERM or Ctrl-C. On SIGTERM running answers get ``GRACE_SECONDS`` to end."""

from __future__ import annotations

import gc
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import nullcontext
from ipaddress import ip_address
from pathlib import Path
from types import FrameType
from typing import Any

from watchfloor.api.rest.base.context import RestContext
from watchfloor.api.rest.base.limits import RestLimits
from watchfloor.api.rest.warming.warm_up import WarmUp
from watchfloor.api.tokens.token_file import FIRST_TOKEN_FILE, TokenFile
from watchfloor.api.tokens.tokens_in_force import TokensInForce
from watchfloor.schema.errors import OperatorError
from watchfloor.schema.files.paths import show_path
from watchfloor.schema.settings.settings import Settings
from watchfloor.store.bridge.jvm import start_jvm

from .app import make_app, make_command_app, make_warm_up_app
from .connections import close_server, guard_connections, make_server
from .local_server import listen_locally
from .store_services import StoreServices
from .tls import TlsFiles, use_tls

GRACE_SECONDS = 5
log = logging.getLogger(__name__)


def serve(settings: Settings, say: Callable[[str], None]) -> None:
    """Runs the REST service until it is told to stop. ``say`` is called with lines for people."""
    tokens = open_tokens(settings.secret_folder, say)
    services, limits, stopping = StoreServices(settings), RestLimits.from_settings(settings), threading.Event()
    try:
        warm_up = WarmUp(make_warm_up_app(services, tokens, limits), services)
        try:
            start_jvm(settings.jars, settings.jvm_heap, is_lasting=True)
            warm_up.run()
        except OperatorError as error:
            say(f"the store is not there yet ({error}); requests get 503 until it is")
        context = RestContext(services, tokens, limits, settings, stopping)
        app, commands = make_app(context), make_command_app(context, settings)
        # What was made until now stays, so collections of garbage leave it out from now on.
        gc.collect()
        gc.freeze()
        with warm_up.go_on(context.is_at_rest, stopping):
            run_server(app, settings, say, stopping, commands)
    finally:
        services.close()


def open_tokens(secret: Path, say: Callable[[str], None]) -> TokensInForce:
    """Returns the tokens in force. Makes a first one if there is no file, and brings an older file to the present form.

    Raises ``SettingsError`` if the file is damaged.
    """
    file = TokenFile(secret)
    if not file.make_first() and file.upgrade():
        say(f"{show_path(file.path)} is in the present form now")
    return TokensInForce(secret)


def run_server(
    app: Callable[..., Any],
    settings: Settings,
    say: Callable[[str], None],
    stopping: threading.Event | None = None,
    commands: Callable[..., Any] | None = None,
) -> None:
    """Serves a WSGI application in the main thread until SIGTERM or Ctrl-C. ``stopping`` is set at the first SIGTERM.

    ``commands`` is the application that answers on the local socket; None opens none.
    Raises ``SettingsError`` if it cannot listen, or has no good certificate.
    """
    limits, tls = RestLimits.from_settings(settings), TlsFiles.of_settings(settings)
    server = make_server(app, settings.host, settings.port, limits, "http" if tls is None else "https")
    if tls is not None:
        use_tls(server, tls)
    _install_signals(server, stopping or threading.Event())
    try:
        local = nullcontext() if commands is None else listen_locally(server, commands, settings.home)
        # What is said holds: commands may rely on the local socket from then on.
        with local, guard_connections(server, limits):
            _announce(server, settings, tls is not None, say)
            server.run()
    finally:
        close_server(server)
        log.info("stopped")


def _announce(server: Any, settings: Settings, is_encrypted: bool, say: Callable[[str], None]) -> None:
    """Says where the server listens, and where its first token is."""
    if not is_encrypted and not ip_address(server.effective_host).is_loopback:
        say(
            "tokens and events go over the network unencrypted: name tls_certificate and tls_key, or listen on "
            "127.0.0.1 behind a proxy with TLS"
        )
    address = f"{'https' if is_encrypted else 'http'}://{server.effective_host}:{server.effective_port}"
    say(f"serving {address}/ (the web page; REST: /api/v1, health: /healthz); stop with Ctrl-C")
    if (first := settings.secret_folder / FIRST_TOKEN_FILE).exists():
        say(f"a bearer token is in {show_path(first)}")


def _install_signals(server: Any, stopping: threading.Event) -> None:
    """Makes the first SIGTERM let running answers end, for ``GRACE_SECONDS`` at most, and a second one stop at once."""

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
