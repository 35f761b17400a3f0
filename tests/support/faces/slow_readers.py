"""Clients of a REST service over plain connections, among them such as do not read their answers."""

from __future__ import annotations

import http.client
import json
import socket
from collections.abc import Mapping
from typing import Any

QUERY_PATH = "/api/v1/query"


def _make_headers(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}


def ask_rest(port: int, token: str, body: Mapping[str, Any]) -> http.client.HTTPResponse:
    """Sends a query and returns the answer, of which nothing is read yet but its head."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    connection.request("POST", QUERY_PATH, json.dumps(body), _make_headers(token))
    return connection.getresponse()


def connect_slow_reader(port: int, token: str, body: Mapping[str, Any], buffer: int = 4096) -> socket.socket:
    """Sends a query over a connection that buffers this many bytes, and returns it without reading the answer."""
    reader = socket.socket()
    reader.settimeout(10)
    reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
    reader.connect(("127.0.0.1", port))
    data = json.dumps(body).encode()
    lines = [f"POST {QUERY_PATH} HTTP/1.1", "Host: x", f"Content-Length: {len(data)}"]
    lines += [f"{name}: {value}" for name, value in _make_headers(token).items()]
    reader.sendall("\r\n".join([*lines, "", ""]).encode() + data)
    return reader
