"""The HTTP server (waitress), and a guard that cuts off connections which send or read too slowly.

waitress reads and writes all connections in one thread, so a connection without a complete request costs no other
thread, and with the loop of ``event_loop.py`` no time. It bounds only the time in which nothing at all happens, and not
while an answer waits to be read. The guard bounds the rest: the time that a request takes to arrive, and the time for
which a client does not read its answer.
"""

from __future__ import annotations

import logging
import resource
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from waitress import create_server
from waitress.channel import HTTPChannel
from waitress.task import WSGITask

from watchfloor.api.lost_peers import PROBING
from watchfloor.api.rest.base.limits import BODY_BYTES, CONNECTIONS, IDLE_SECONDS, REQUEST_SECONDS, RestLimits
from watchfloor.api.rest.base.stream import LastChunk
from watchfloor.schema.errors import SettingsError

from .event_loop import EpollLoop, WatchedConnections
from .request_threads import RequestThreads

BACKLOG = 1024
"""Connections that wait to be accepted."""
BUFFERED_BYTES = 16 << 10
"""Bytes of a body that a connection keeps in memory while it arrives; more of it goes to a temporary file."""
OTHER_FILES = 256
"""Files of the process that are no connections."""
CROWDED_SHARE = 0.9
"""Share of all connections from which on the guard closes those that have been without a request for longest."""
READ_BYTES = 64 << 10
"""The least number of bytes of a waiting answer that a client must read within ``stalled_seconds``."""
UNSENT_BYTES = 1 << 20
"""Bytes of an answer that wait for its client until the query pauses."""
GUARD_SECONDS = 0.25
# Bodies above BODY_BYTES and up to this size are refused with a problem; the server itself cuts off larger ones.
HARD_MAX_BODY = 4 * BODY_BYTES
log = logging.getLogger(__name__)


class _JoinedWrites:
    """Takes the place of a connection while an answer writes to it several times, and hands all to it at once.

    Each write to a connection is sent, and wakes the client.
    """

    def __init__(self, connection: Any) -> None:
        self.server = connection.server
        self._connection = connection
        self._parts: list[bytes] = []

    def write_soon(self, data: bytes) -> int:
        self._parts.append(data)
        return len(data)

    def hand_over(self) -> None:
        self._connection.write_soon(b"".join(self._parts))


class RequestAnswer(WSGITask):
    """Answers one request. A stream of unknown length leaves its connection open, as its last chunk tells its end.

    The headers are sent with the first chunk, and the mark of a stream's end with its ``LastChunk``.
    """

    channel: Any

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._is_finished = False

    def write(self, data: bytes) -> None:
        """Sends data of the answer; overrides waitress' method."""
        is_last = isinstance(data, LastChunk)
        if self.wrote_header and not is_last:
            super().write(data)
            return
        connection, joined = self.channel, _JoinedWrites(self.channel)
        self.channel = joined
        try:
            super().write(data)
            if is_last:
                self.finish()
        finally:
            self.channel = connection
        joined.hand_over()

    def finish(self) -> None:
        """Sends what is left when the answer is whole; overrides waitress' method."""
        if not self._is_finished:
            self._is_finished = True
            super().finish()

    def set_close_on_finish(self) -> None:
        """Lets the connection close after the answer; overrides waitress' method, which closes it after any stream.

        waitress calls it for every answer in chunks, just before the headers are written. An answer that fails later is
        cut off by other means.
        """
        is_stream = self.chunked_response and not self.wrote_header
        if not is_stream or self.request.command == "HEAD":
            super().set_close_on_finish()


class _WakingServer:
    """The server as one connection sees it, which wakes the loop only if that has something to do for the connection.

    waitress wakes it after each answer. A loop that waits for a connection's next request already needs no notice.
    """

    def __init__(self, server: Any, connection: ClientConnection) -> None:
        self._server, self._connection = server, connection

    def __getattr__(self, name: str) -> Any:
        return getattr(self._server, name)

    def pull_trigger(self) -> None:
        if self._connection.writable() or not self._connection.is_awaited:
            self._connection.note_change()
            self._server.pull_trigger()


class ClientConnection(HTTPChannel):
    """A connection that tells since when a request has been arriving, and how much its client has read."""

    task_class = RequestAnswer
    server: Any

    def __init__(self, *arguments: Any, **options: Any) -> None:
        self.bytes_sent = 0
        self.arriving_since = 0.0
        self._arriving: object = None
        # The time and ``bytes_sent`` from which on the guard measures how fast the client reads its answer.
        self.reading_mark: tuple[float, int] | None = None
        super().__init__(*arguments, **options)
        self.server = _WakingServer(self.server, self)

    def received(self, data: bytes) -> bool:
        """Takes what the client has sent; overrides waitress' method to note when a request begins."""
        result: bool = super().received(data)
        if self.request is not self._arriving:
            self._arriving, self.arriving_since = self.request, time.monotonic()
        return result

    def send(self, data: bytes, do_close: bool = True) -> int:
        """Sends what the client takes of ``data`` and returns its size; overrides waitress' method to count it."""
        sent: int = super().send(data, do_close)
        self.bytes_sent += sent
        return sent

    @property
    def is_awaited(self) -> bool:
        """True while the loop waits for the client's next request, and would be woken by it."""
        return bool(self._map.is_awaited(self._fileno))

    def note_change(self) -> None:
        """Tells the loop that another thread has changed what this connection waits for."""
        self._map.note_change(self._fileno)

    @property
    def is_busy(self) -> bool:
        """True while a request is answered, until its client has read all of the answer."""
        return bool(self.requests or self.total_outbufs_len)

    def find_fault(self, now: float, stalled_seconds: float) -> str | None:
        """Returns why the connection is to be cut off at ``now`` (of ``time.monotonic``), or None."""
        if not self.is_busy and self.request is not None and now - self.arriving_since > REQUEST_SECONDS:
            return f"its request did not arrive within {REQUEST_SECONDS:g} s"
        if not self.total_outbufs_len:
            self.reading_mark = None
        elif self.reading_mark is None or self.bytes_sent - self.reading_mark[1] >= READ_BYTES:
            self.reading_mark = (now, self.bytes_sent)
        elif now - self.reading_mark[0] > stalled_seconds:
            return f"its client did not read its answer for {stalled_seconds:g} s"
        return None


def make_server(app: Callable[..., Any], host: str, port: int, limits: RestLimits, scheme: str = "http") -> Any:
    """Returns a waitress server that listens on one address; port 0 picks a free one. ``scheme`` is that of its URLs.

    Raises ``SettingsError`` if it cannot listen.
    """
    try:
        server = create_server(
            app,
            map=WatchedConnections(),
            host=_resolve_host(host),
            port=port,
            _dispatcher=RequestThreads(limits.threads),
            connection_limit=_raise_connection_limit(),
            backlog=BACKLOG,
            channel_timeout=IDLE_SECONDS,
            cleanup_interval=5,
            max_request_body_size=HARD_MAX_BODY,
            inbuf_overflow=BUFFERED_BYTES,
            # Reading ahead is how waitress notices that a client has gone while its answer is being made.
            channel_request_lookahead=1,
            outbuf_high_watermark=UNSENT_BYTES,
            outbuf_overflow=16 * UNSENT_BYTES,  # above what is ever unsent: events never reach a temporary file
            log_socket_errors=False,  # such as that a client's host was lost
            clear_untrusted_proxy_headers=True,
            url_scheme=scheme,
            ident="watchfloor",
        )
    except OSError as error:
        raise SettingsError(f"cannot listen on {host}:{port}: {error.strerror}; choose another --port") from None
    server.channel_class, server.asyncore = ClientConnection, EpollLoop
    for option in PROBING:
        server.socket.setsockopt(*option)  # connections have the options of the socket that listens
    return server


def close_server(server: Any) -> None:
    """Closes a server whose loop has ended. Threads that still answer a request then end without waking the loop."""
    server.pull_trigger = lambda: None  # the pipe that wakes the loop is closed too
    server.close()


def _resolve_host(host: str) -> str:
    """Returns the first address of a host. For several, waitress would make several servers."""
    try:
        return str(socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)[0][4][0])
    except (OSError, UnicodeError):
        raise SettingsError(f"{host} is no address or name of this machine; choose another --host") from None


@contextmanager
def guard_connections(server: Any, limits: RestLimits) -> Iterator[None]:
    """Cuts off slow connections of a server while the ``with`` block runs."""
    left = threading.Event()

    def look_after() -> None:
        while not left.wait(GUARD_SECONDS):
            # The server's own thread looks and closes, because it is the one that receives: what it finds of a
            # connection still holds when it closes it.
            server.trigger.pull_trigger(lambda: _close_faulty(server, limits.stalled_seconds))

    thread = threading.Thread(target=look_after, name="connections", daemon=True)
    thread.start()
    try:
        yield
    finally:
        left.set()
        thread.join()


def _close_faulty(server: Any, stalled_seconds: float) -> None:
    for connection, fault in _find_faults(server, stalled_seconds):
        log.info("a connection of %s is closed: %s", connection.addr[0], fault)
        connection.handle_close()


def _find_faults(server: Any, stalled_seconds: float) -> Iterator[tuple[ClientConnection, str]]:
    """Yields the connections that are to be closed, and why."""
    now, connections = time.monotonic(), list(server.active_channels.values())
    for connection in connections:
        if fault := connection.find_fault(now, stalled_seconds):
            yield connection, fault
    crowd = len(connections) - int(CROWDED_SHARE * server.adj.connection_limit)
    if crowd > 0:
        waiting = sorted((c for c in connections if not c.is_busy), key=lambda c: c.creation_time)
        yield from ((connection, "there are too many connections") for connection in waiting[:crowd])


def _raise_connection_limit() -> int:
    """Returns how many connections the process may have; raises its limit of open files to what it may be."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = CONNECTIONS + OTHER_FILES
    if soft != resource.RLIM_INFINITY and soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        return max(64, soft - OTHER_FILES)
    return CONNECTIONS
