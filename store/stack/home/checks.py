"""Checks before servers start: free ports, memory and disk space. A ``StackError`` names the problem and a remedy."""

from __future__ import annotations

import contextlib
import random
import socket
import time
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

import psutil

from watchfloor.schema.errors import StackError
from watchfloor.schema.files.paths import show_path
from watchfloor.store.runtime.disk_space import count_free_bytes

# Below the range of ports that systems use for outgoing connections, so that no such connection takes a server's port.
_PORTS = range(20_000, 32_000)
START_BYTES = 64 << 20
"""Bytes that must be free for servers to start: each writes logs and files of some MiB before it answers."""
LOOPBACK = "127.0.0.1"
_CONTROL_GROUPS, _OWN_GROUPS = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")


def find_free_ports(count: int, taken: Collection[int] = (), held: contextlib.ExitStack | None = None) -> list[int]:
    """Returns ``count`` ports of the loopback address, drawn at random, that are free now and not in ``taken``.

    Until ``held`` is closed, if it is given, nobody else draws them, and servers may listen on them.
    """
    ports: list[int] = []
    with contextlib.ExitStack() as bound:
        for port in random.SystemRandom().sample(_PORTS, len(_PORTS)):
            if len(ports) == count:
                break
            if port not in taken and (holder := _hold_port(port)):
                bound.enter_context(holder)
                ports.append(port)
        if len(ports) < count:
            raise StackError(f"no free ports left between {_PORTS.start} and {_PORTS.stop}")
        if held is not None:
            held.push(bound.pop_all())
    return ports


def _hold_port(port: int) -> socket.socket | None:
    """Returns a socket that holds a port of the loopback address and does not listen; None if others have the port."""
    holder = socket.socket()
    try:
        holder.bind((LOOPBACK, port))
    except OSError:
        holder.close()
        return None
    # Only with this option can a second socket have the port. Servers set it, and whoever holds a port binds without.
    holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    return holder


def is_port_free(port: int) -> bool:
    """Returns whether a server could listen on ``port`` of the loopback address."""
    with socket.socket() as probe:
        # With this option, which Java's servers set too, a connection that was just closed does not hold the port.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
            probe.listen(1)
        except OSError:
            return False
    return True


def check_ports(ports: Mapping[str, int], seconds: float = 5) -> None:
    """Raises ``StackError`` if a port in ``ports``, which maps servers to ports, is taken.

    The error names the process that has the port, if the system shows it. Otherwise the check waits for up to
    ``seconds``: a server that was just killed holds its port until the system has removed it.
    """
    deadline = time.monotonic() + seconds
    for name, port in ports.items():
        while not is_port_free(port) and not describe_holder(port) and time.monotonic() < deadline:
            time.sleep(0.1)
        if not is_port_free(port):
            raise StackError(
                f"port {port} of {name} is taken{describe_holder(port)}: end that process, "
                "or remove the port from conf/stack.json to have another one chosen"
            )


def describe_holder(port: int) -> str:
    """Returns a phrase about the process that listens on a port; empty if the system does not show the process."""
    with contextlib.suppress(psutil.Error, OSError):
        for connection in psutil.net_connections("tcp"):
            address = connection.laddr
            if connection.status == psutil.CONN_LISTEN and address and address.port == port and connection.pid:
                command = " ".join(psutil.Process(connection.pid).cmdline())
                return f" by process {connection.pid} ({command[:160]}{'…' if len(command) > 160 else ''})"
    return ""


def read_container_limit() -> int:
    """Returns the bytes that the container may use in all; more than any machine has if it has no limit."""
    return min((limit for _, limit in _list_limits()), default=1 << 62)


def check_memory(required: int) -> None:
    """Raises StackError when fewer than ``required`` bytes are available on the machine or in this container."""
    available = min(psutil.virtual_memory().available, _read_container_memory())
    if available < required:
        raise StackError(
            f"not enough memory: the servers to start may use {required >> 20} MiB, "
            f"{available >> 20} MiB are available; "
            "free some, run `watchfloor up --small`, or set smaller heaps (tserver_heap, tserver_maps, kafka_heap)"
        )


def check_room_for_servers(home: Path) -> None:
    """Raises StackError when the file system of ``home`` has too little room for servers to start."""
    free = count_free_bytes(home)
    if free < START_BYTES:
        raise StackError(
            f"the disk is full: {free >> 20} MiB are free for {show_path(home)}, servers need "
            f"{START_BYTES >> 20} MiB to start; "
            "nothing that was acknowledged is lost: free some space, then run `watchfloor up`"
        )


def _read_container_memory() -> int:
    """Returns the bytes that the container may still use; more than any machine has if it has no limit."""
    left = [1 << 62]
    for group, limit in _list_limits():
        with contextlib.suppress(OSError, ValueError):
            left.append(limit - int((group / "memory.current").read_text()))
    return min(left)


def _list_limits() -> Iterator[tuple[Path, int]]:
    """Yields each control group of this process that bounds memory, with its limit in bytes (cgroups v2)."""
    try:
        paths = [line[3:] for line in _OWN_GROUPS.read_text().splitlines() if line.startswith("0::")]
    except OSError:
        return
    for path in map(Path, paths):
        for group in (path, *path.parents):
            folder = _CONTROL_GROUPS / group.relative_to("/")
            with contextlib.suppress(OSError, ValueError):
                yield folder, int((folder / "memory.max").read_text())
