"""Socket options by which a connection ends whose other host has lost its power or its link; nobody is told of that."""

from __future__ import annotations

import socket

LOST_SECONDS = 45
"""The time until such a connection ends, if nothing is to be sent on it."""
_FIRST_SECONDS, _PAUSE_SECONDS = 15, 5
_PROBES = (LOST_SECONDS - _FIRST_SECONDS) // _PAUSE_SECONDS
# Not every system has these.
_OPTIONS = {"TCP_KEEPIDLE": _FIRST_SECONDS, "TCP_KEEPINTVL": _PAUSE_SECONDS, "TCP_KEEPCNT": _PROBES}
PROBING = (
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
    *((socket.IPPROTO_TCP, getattr(socket, name), value) for name, value in _OPTIONS.items() if hasattr(socket, name)),
)
"""The options as ``setsockopt`` takes them: the system asks the other host, which answers whatever its process does."""


def probe_peer(connection: socket.socket) -> None:
    """Has a connection end within ``LOST_SECONDS`` of its other host's loss, also while a request is being sent.

    A server does not use this: it would cut off a client that takes its time to read.
    """
    for option in PROBING:
        connection.setsockopt(*option)
    if hasattr(socket, "TCP_USER_TIMEOUT"):
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, 1000 * LOST_SECONDS)
