"""Sends requests to the service, and sends again those that it has not begun to answer.

Each request has a connection of its own, because closing it is what ends a query on the service.
"""

from __future__ import annotations

import re
import socket
import ssl
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from typing import Any
from urllib.parse import SplitResult, urlencode, urlsplit

import orjson

from watchfloor.api.lost_peers import probe_peer

from .errors import AnswerCutOff, ClientError, ServiceProblem, ServiceUnreachable

CONNECT_SECONDS = 10.0
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 0.05, 1.0
"""The pause before the second attempt to connect, which doubles with each attempt, and its bound."""
_TOKEN = re.compile(r"[!-~]+")


@dataclass(frozen=True)
class ServiceRequest:
    """One request: ``path`` below ``/api/v1``, query parameters, and the members of a JSON body.

    ``silent_seconds`` without a byte from the service count as a lost connection; None: none do.
    """

    method: str
    path: str
    parameters: Mapping[str, Any]
    body: Mapping[str, Any] | None = None
    silent_seconds: float | None = None


class Exchange:
    """The sending of one request and the reading of its answer, which ``end`` ends from any thread."""

    def __init__(self) -> None:
        self._ended = threading.Event()
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None

    @property
    def is_ended(self) -> bool:
        return self._ended.is_set()

    def use_socket(self, opened: socket.socket) -> None:
        """Takes the socket that ``end`` closes. If that was called already, the socket is of no use any more."""
        with self._lock:
            self._socket = opened
        if self.is_ended:
            self.end()

    def wait(self, seconds: float) -> None:
        """Waits, and returns sooner if the exchange ends."""
        self._ended.wait(seconds)

    def end(self) -> None:
        """Closes the connection. A thread that waits for the answer goes on at once, with an error or its end."""
        self._ended.set()
        with self._lock, suppress(OSError):
            if self._socket is not None:
                self._socket.shutdown(socket.SHUT_RDWR)
                self._socket.close()


class ServiceConnection:
    """Sends requests to one service.

    A request is sent again for at most ``retry_seconds``, and only while nothing listens at the address or the service
    refuses it by 429 with ``Retry-After``. Raises ``ClientError`` for an address or token that cannot be one.
    """

    def __init__(self, url: str, token: str, retry_seconds: float, ca_file: str | None) -> None:
        parts = _split_url(url)
        if not _TOKEN.fullmatch(token):
            raise ClientError("the token is empty or has characters that no token has; copy it again")
        self.url, self._host, self._port = url, parts.hostname or "", parts.port
        self._prefix = f"{parts.path.rstrip('/')}/api/v1"
        self._token, self._retry_seconds = token, retry_seconds
        self._tls = _make_tls_context(ca_file) if parts.scheme == "https" else None

    def send(self, request: ServiceRequest, exchange: Exchange) -> HTTPResponse:
        """Returns the answer once its status, which is 200, is here.

        Raises ``ServiceProblem`` for another status, and ``ServiceUnreachable`` without one.
        """
        latest, pause = time.monotonic() + self._retry_seconds, FIRST_PAUSE_SECONDS
        while True:
            failure: ServiceUnreachable | ServiceProblem
            try:
                return self._send_once(request, exchange)
            except ServiceUnreachable as error:
                if not isinstance(error.__cause__, ConnectionRefusedError) or exchange.is_ended:
                    raise
                failure, wait = error, pause
                pause = min(2 * pause, LONGEST_PAUSE_SECONDS)
            except ServiceProblem as problem:
                if problem.status != 429 or problem.retry_after is None:
                    raise
                failure, wait = problem, problem.retry_after
            if time.monotonic() + wait > latest:
                raise failure
            exchange.wait(wait)

    def ask_json(self, request: ServiceRequest) -> Any:
        """Returns the JSON value of an answer. Raises ``AnswerCutOff`` besides what ``send`` raises."""
        exchange = Exchange()
        try:
            return orjson.loads(self.send(request, exchange).read())
        except (OSError, HTTPException, orjson.JSONDecodeError) as error:
            raise AnswerCutOff(str(error) or type(error).__name__) from error
        finally:
            exchange.end()

    def _send_once(self, request: ServiceRequest, exchange: Exchange) -> HTTPResponse:
        headers = {"Authorization": f"Bearer {self._token}", "User-Agent": "watchfloor-client"}
        body = None
        if request.body is not None:
            body, headers["Content-Type"] = orjson.dumps(request.body), "application/json"
        query = f"?{urlencode(request.parameters)}" if request.parameters else ""
        connection = self._open_connection()
        try:
            connection.connect()
            connection.sock.settimeout(request.silent_seconds)
            probe_peer(connection.sock)
            exchange.use_socket(connection.sock)
            connection.request(request.method, f"{self._prefix}{request.path}{query}", body, headers)
            response = connection.getresponse()
            if response.status == 200:
                return response
            problem = ServiceProblem.from_answer(response.status, response.headers, response.read())
        except (OSError, HTTPException) as error:
            connection.close()
            raise ServiceUnreachable(self.url, error) from error
        connection.close()
        raise problem

    def _open_connection(self) -> HTTPConnection:
        if self._tls is None:
            return HTTPConnection(self._host, self._port, timeout=CONNECT_SECONDS)
        return HTTPSConnection(self._host, self._port, timeout=CONNECT_SECONDS, context=self._tls)


def _split_url(url: str) -> SplitResult:
    """Returns the parts of an address. Raises ``ClientError`` if it has others than scheme, host, port and path."""
    try:
        parts = urlsplit(url)
        is_address = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_address = False
    if not is_address or parts.query or parts.fragment or parts.username is not None:
        raise ClientError(f"{url!r} is no address of a service; write it as http://127.0.0.1:8742")
    return parts


def _make_tls_context(ca_file: str | None) -> ssl.SSLContext:
    """Returns a context that trusts the certificates of a file; for None, those that the system trusts."""
    try:
        return ssl.create_default_context(cafile=ca_file)
    except OSError as error:
        raise ClientError(f"cannot read certificates from {ca_file}: {error}; name a PEM file") from error
