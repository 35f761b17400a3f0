"""Reads what passes between processes of this machine over the loopback address."""

from __future__ import annotations

import ctypes
import socket
import struct
import threading
from collections.abc import Collection
from types import TracebackType

import pytest

_EVERY_PROTOCOL = 3
_ATTACH_FILTER = 26
_LOAD_HALF, _LOAD_HALF_AT_INDEX, _LOAD_BYTE, _LOAD_INDEX = 0x28, 0x48, 0x30, 0xB1
_IF_EQUAL, _RETURN = 0x15, 0x06
"""Instructions of the kernel's packet filter (BPF)."""
_LONGEST = 1 << 17
_IPV4, _ETHERNET = 0x0800, 14


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
        try:
            self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(_EVERY_PROTOCOL))
        except PermissionError:
            pytest.skip("this user may not capture packets")
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 64 << 20)
        # Otherwise the traffic of all other tests would go through this process.
        self._filter = ctypes.create_string_buffer(make_filter(self._ports))
        program = struct.pack("HL", len(self._filter) // 8, ctypes.addressof(self._filter))
        self._socket.setsockopt(socket.SOL_SOCKET, _ATTACH_FILTER, program)
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
                packet, address = self._socket.recvfrom(_LONGEST)
            except TimeoutError:
                if self._stop.is_set():
                    return
                continue
            # Each packet of the loopback device is seen as it leaves and as it arrives.
            if address[2] != socket.PACKET_OUTGOING:
                self._keep(packet[_ETHERNET:])

    def _keep(self, packet: bytes) -> None:
        tcp = packet[(packet[0] & 15) * 4 : int.from_bytes(packet[2:4])]
        self._parts.setdefault((tcp[:2], tcp[2:4]), bytearray()).extend(tcp[(tcp[12] >> 4) * 4 :])


def make_filter(ports: Collection[int]) -> bytes:
    """Returns the program that lets IPv4 packets of TCP through which come from or go to one of the ports."""
    # The last two instructions: drop the packet, take it whole. A jump counts from the instruction that follows it.
    length = 5 + 2 * (1 + len(ports)) + 2
    drop, take = length - 2, length - 1
    program: list[bytes] = []

    def add(code: int, value: int, right: int | None = None, wrong: int | None = None) -> None:
        jumps = (0 if target is None else target - len(program) - 1 for target in (right, wrong))
        program.append(struct.pack("HBBI", code, *jumps, value))

    add(_LOAD_HALF, 12)
    add(_IF_EQUAL, _IPV4, wrong=drop)
    add(_LOAD_BYTE, 23)
    add(_IF_EQUAL, socket.IPPROTO_TCP, wrong=drop)
    add(_LOAD_INDEX, _ETHERNET)
    for direction in (0, 2):
        add(_LOAD_HALF_AT_INDEX, _ETHERNET + direction)
        for port in ports:
            add(_IF_EQUAL, port, right=take)
    add(_RETURN, 0)
    add(_RETURN, _LONGEST)
    return b"".join(program)
