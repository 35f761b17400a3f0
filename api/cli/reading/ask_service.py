"""Asks the service of the same user for the answer to a command, over its local socket and in HTTP.

What of HTTP is needed here is little, and Python's own client takes longer to import than most queries take.
"""

from __future__ import annotations

import json
import logging
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, BinaryIO

from watchfloor.schema.errors import UserError
from watchfloor.store.runtime.local_socket import connect_locally

from .identity import describe_identity
from .parts import Part, read_parts
from .question import CommandQuestion

if TYPE_CHECKING:
    from watchfloor.schema.settings.settings import Settings

PATH = "/command"
SOCKET = "serve.sock"
"""The name of the service's socket in the stack's folder."""
MEDIA_TYPE = "application/vnd.watchfloor.parts"
_MOST_HEADERS = 100
_LARGEST_WHOLE = 1 << 53
"""The largest whole number that JSON is sure to keep."""
_NOT_OF_THE_REQUEST = ("bad-body", "bad-parameter", "not-found", "unauthorized", "forbidden")
"""Problems with a status below 429 that say nothing about what the user has asked."""
log = logging.getLogger(__name__)


@contextmanager
def ask_service(settings: Settings, question: CommandQuestion) -> Iterator[Iterator[Part] | None]:
    """Yields the parts of a service's answer; None if no service answers as this process would.

    Raises ``UserError`` if the service says that the request does not fit.
    """
    if any(isinstance(value, int) and abs(value) > _LARGEST_WHOLE for value in question.members.values()):
        yield None
        return
    connection = connect_locally(settings.home, SOCKET)
    if connection is None:
        yield None
        return
    with connection, connection.makefile("rb") as answer:
        yield _send(connection, answer, settings, question)


def _send(
    connection: socket.socket, answer: BinaryIO, settings: Settings, question: CommandQuestion
) -> Iterator[Part] | None:
    members = {**vars(question), "identity": describe_identity(settings)}
    body = json.dumps({name: value for name, value in members.items() if value is not None}).encode()
    head = f"POST {PATH} HTTP/1.0\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    try:
        connection.sendall(head.encode() + body)
        status, media_type = _read_head(answer)
        if (status, media_type) == (200, MEDIA_TYPE):
            return _read_until_lost(answer)
        problem = json.loads(answer.read())
    except (OSError, ValueError) as error:  # it has ended, or is no such service
        log.info("the service does not answer: %s", error)
        return None
    if 400 <= status < 429 and isinstance(problem, dict) and _tells_of_the_request(problem):
        raise UserError(str(problem["detail"]))
    log.info("the service does not answer: status %d, %s", status, problem)
    return None


def _read_head(answer: BinaryIO) -> tuple[int, str]:
    """Returns the status and the media type of an answer. Raises ``ValueError`` if it is none."""
    version, status, *_ = answer.readline().decode("latin-1").split(" ")
    if not version.startswith("HTTP/"):
        raise ValueError(version)
    headers: dict[str, str] = {}
    for _ in range(_MOST_HEADERS):
        name, _, value = answer.readline().decode("latin-1").strip().partition(":")
        if not name:
            break
        headers[name.lower()] = value.strip()
    return int(status), headers.get("content-type", "")


def _read_until_lost(answer: BinaryIO) -> Iterator[Part]:
    """Yields the parts that arrive until the answer, or the service, ends."""
    parts = read_parts(answer)
    while True:
        try:
            part = next(parts, None)
        except OSError:
            return
        if part is None:
            return
        yield part


def _tells_of_the_request(problem: dict[str, Any]) -> bool:
    return str(problem.get("type", "")).rpartition(":")[2] not in _NOT_OF_THE_REQUEST and "detail" in problem
