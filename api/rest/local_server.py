"""The local socket: lets a running server answer commands of its own user too."""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from waitress.server import UnixWSGIServer

from watchfloor.api.cli.reading.ask_service import SOCKET
from watchfloor.schema.errors import StackError
from watchfloor.schema.files.paths import describe_error, show_path
from watchfloor.store.runtime.file_lock import hold_file_lock
from watchfloor.store.runtime.local_socket import (
    FOLDER,
    is_own_user,
    listen_in_folder,
    open_socket_folder,
    remove_from_folder,
)

from .connections import ClientConnection, close_server

LOCK = "serve.lock"
log = logging.getLogger(__name__)


class _LocalConnection(ClientConnection):
    """A connection of the own user, who may take any time to read: a pager shows a page and waits."""

    def find_fault(self, now: float, stalled_seconds: float) -> str | None:
        return super().find_fault(now, float("inf"))


class _LocalServer(UnixWSGIServer):
    """A server of waitress that takes no connection of another user."""

    channel_class = _LocalConnection

    def accept(self) -> tuple[socket.socket, Any] | None:
        """Returns the next connection; overrides waitress' method. None if there is none, or another user's."""
        accepted: tuple[socket.socket, Any] | None = super().accept()
        if accepted is not None and not is_own_user(accepted[0]):
            log.warning("a connection of another user is refused")
            accepted[0].close()
            return None
        return accepted


@contextmanager
def listen_locally(server: Any, app: Callable[..., Any], home: Path) -> Iterator[None]:
    """Has the loop and the threads of ``server`` answer commands by ``app`` while the ``with`` block runs.

    Nothing is answered if another service of the same folder does it already, or if the folder is not to be trusted.
    """
    busy = StackError("another service does it")
    with ExitStack() as opened:
        try:
            opened.enter_context(hold_file_lock(home / FOLDER / LOCK, busy))
            folder = opened.enter_context(open_socket_folder(home))
            opened.enter_context(_answer_in(folder, server, app))
        except (OSError, StackError) as error:
            log.info("commands are not answered in %s: %s", show_path(home / FOLDER), describe_error(error))
        yield


@contextmanager
def _answer_in(folder: int, server: Any, app: Callable[..., Any]) -> Iterator[None]:
    """Opens the socket in an open folder, and closes and removes it at the end."""
    listening = listen_in_folder(folder, SOCKET)  # a service that was killed may have left one: this one holds the lock
    local = _LocalServer(
        app, server._map, _sock=listening, dispatcher=server.task_dispatcher, adj=server.adj, bind_socket=False
    )
    # Who waits for running answers, or cuts off slow connections, looks at all of them.
    local.active_channels = server.active_channels
    try:
        yield
    finally:
        remove_from_folder(folder, SOCKET)
        close_server(local)
