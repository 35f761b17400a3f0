"""A listening socket that answers each connection with bytes of a test's choice, to misbehave as no service should."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress


def http_answer(status: str, body: bytes, *headers: str) -> bytes:
    """Returns a whole answer with its length."""
    head = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join(head).encode() + b"\r\n\r\n" + body


@contextmanager
def answer_raw(answers: Sequence[bytes]) -> Iterator[tuple[int, list[bytes]]]:
    """Yields a port and the requests that came so far. One connection after the other gets its answer and is closed.

    The last answer is repeated for ever.
    """
    requests: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def answer_connections() -> None:
            while True:
                try:
                    connection, _ = listening.accept()
                except OSError:
                    return
                with connection, suppress(OSError):
                    requests.append(connection.recv(65_536))
                    connection.sendall(answers[min(len(requests), len(answers)) - 1])

        thread = threading.Thread(target=answer_connections, daemon=True)
        thread.start()
        try:
            yield int(listening.getsockname()[1]), requests
        finally:
            with suppress(OSError):
                listening.shutdown(socket.SHUT_RDWR)
            thread.join(5)
