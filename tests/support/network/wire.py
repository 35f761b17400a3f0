"""Reads what passes between processes of this machine over the loopback address."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Collection
from types import TracebackType

import pytest

_EVERY_PROTOCOL = 3
_IPV4 = b"\x08\x00"


class Wire:
    """Captures the TCP payload to and from some ports within a ``with`` block; ``text`` has it afterwards.

    Each connection's direction has its own text, so that a value that is cut into two packets is found.
    """

    def __init__(self, ports: Collection[int]) -> None:
        self._ports = set(ports)
        self._parts: dict[tuple[bytes, bytes], bytearray] = {}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._capture, daemon=True)
        self._socket: socket.socket | None = None

    def __enter__(self) -> Wire:
        if os.geteuid() != 0:
            pytest.skip("only root may capture packets")
        self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(_EVERY_PROTOCOL))
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 64 << 20)
        self._socket.bind(("lo", 0))
        self._socket.settimeout(0.2)
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._stop.set()
        self._thread.join()
        assert self._socket is not None
        self._socket.close()

    @property
    def bytes_seen(self) -> int:
        return sum(map(len, self._parts.values()))

    def count(self, value: bytes) -> int:
        """Returns how often a value was seen."""
        return sum(part.count(value) for part in self._parts.values())

    def _capture(self) -> None:
        assert self._socket is not None
        while True:
            try:
                packet, address = self._socket.recvfrom(1 << 17)
            except TimeoutError:
                if self._stop.is_set():
                    return
                continue
            # Each packet of the loopback device is seen as it leaves and as it arrives.
            if address[2] != socket.PACKET_OUTGOING and packet[12:14] == _IPV4 and packet[23] == socket.IPPROTO_TCP:
                self._keep(packet[14:])

    def _keep(self, packet: bytes) -> None:
        tcp = packet[(packet[0] & 15) * 4 : int.from_bytes(packet[2:4])]
        source, target = tcp[:2], tcp[2:4]
        if {int.from_bytes(source), int.from_bytes(target)} & self._ports:
            self._parts.setdefault((source, target), bytearray()).extend(tcp[(tcp[12] >> 4) * 4 :])
