"""Hosts as network namespaces of this machine, each with an address and a name of its own, and faults between them.

The hosts are connected by a bridge in a further namespace, so nothing of them is in the machine's own network, and any
number of networks may exist at once. The names of namespaces begin with the pid and the start time of the process that
made them: what a killed process has left is found and removed by the next one.
"""

from __future__ import annotations

import itertools
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

_NAME = re.compile(r"wf-(\d+)-(\d+)-\d+-\w+")
_FILES = Path("/etc/netns")
_SWITCH = "switch"
_NET = "10.77.0."
_FIRST = 11
_numbers = itertools.count()


class NetworkRefusedError(Exception):
    """Network namespaces cannot be made here. The message says why."""


class Network:
    """Some hosts that reach each other by name and by address."""

    def __init__(self, hosts: Sequence[str]) -> None:
        # A process may have several networks at the same time.
        self._run = f"wf-{os.getpid()}-{_read_start(os.getpid())}-{next(_numbers)}"
        self.addresses: Mapping[str, str] = {host: f"{_NET}{_FIRST + n}" for n, host in enumerate(hosts)}

    def space(self, host: str) -> str:
        """Returns the name of a host's namespace."""
        return f"{self._run}-{host}"

    def command(self, host: str, command: Sequence[str]) -> list[str]:
        """Returns the command line of a command on a host. Its process becomes that command, without a fork."""
        named = ["unshare", "--uts", "sh", "-c", 'hostname "$0" && exec "$@"', host]
        return ["ip", "netns", "exec", self.space(host), *named, *command]

    def cut_link(self, host: str) -> None:
        _run("ip", "-n", self.space(host), "link", "set", "eth0", "down")

    def mend_link(self, host: str) -> None:
        _run("ip", "-n", self.space(host), "link", "set", "eth0", "up")

    @contextmanager
    def without_link(self, host: str) -> Iterator[None]:
        """Within the block the host's link is down."""
        self.cut_link(host)
        try:
            yield
        finally:
            self.mend_link(host)

    @contextmanager
    def partition(self, some: Iterable[str], others: Iterable[str], port: int | None = None) -> Iterator[None]:
        """Within the block no packet passes between the two groups; nobody is told so.

        With ``port`` those alone are dropped by which ``some`` speak to that port of ``others``.
        """
        spaces = [self.space(host) for host in some]
        far = ", ".join(self.addresses[host] for host in others)
        answer, request = ("", "") if port is None else (f"tcp sport {port} ", f"tcp dport {port} ")
        rules = (
            "table inet cut {\n"
            f"chain from {{\ntype filter hook input priority 0;\nip saddr {{ {far} }} {answer}drop;\n}}\n"
            f"chain to {{\ntype filter hook output priority 0;\nip daddr {{ {far} }} {request}drop;\n}}\n}}"
        )
        for space in spaces:
            _run("ip", "netns", "exec", space, "nft", rules)
        try:
            yield
        finally:
            for space in spaces:
                _run("ip", "netns", "exec", space, "nft", "delete table inet cut")

    @contextmanager
    def slow_link(self, host: str, rate: str) -> Iterator[None]:
        """Within the block the host sends and receives at most at ``rate``, as ``tc`` writes it (``2mbit``)."""
        ends = ((self.space(host), "eth0"), (self.space(_SWITCH), f"to-{host}"))
        limit = ("root", "tbf", "rate", rate, "burst", "32kb", "latency", "400ms")
        for space, device in ends:
            _run("tc", "-n", space, "qdisc", "add", "dev", device, *limit)
        try:
            yield
        finally:
            for space, device in ends:
                _run("tc", "-n", space, "qdisc", "del", "dev", device, "root")

    @contextmanager
    def paused(self, host: str) -> Iterator[None]:
        """Within the block every process on a host stands still, as in a virtual machine that is moved."""
        assert _signal_processes(self.space(host), signal.SIGSTOP), f"nothing runs on {host}"
        try:
            yield
        finally:
            _signal_processes(self.space(host), signal.SIGCONT)

    @contextmanager
    def without_power(self, host: str) -> Iterator[None]:
        """Within the block nothing runs on a host, and nobody was told: no connection of its processes was closed."""
        with self.without_link(host):
            _kill_processes(self.space(host))
            yield

    def build(self) -> None:
        """Makes the hosts. Raises ``NetworkRefusedError`` where that is not allowed or a tool is missing."""
        if os.geteuid():
            raise NetworkRefusedError("only root can make network namespaces")
        for tool in ("ip", "tc", "nft", "unshare"):
            if shutil.which(tool) is None:
                raise NetworkRefusedError(f"no {tool} here (Debian: iproute2, nftables, util-linux)")
        remove_stale_networks()
        try:
            self._make_hosts()
        except subprocess.CalledProcessError as error:
            self.remove()
            raise NetworkRefusedError(f"{' '.join(error.cmd)}: {error.stderr.strip()}") from None

    def remove(self) -> None:
        """Ends all that runs on the hosts, and removes them."""
        for host in (*self.addresses, _SWITCH):
            _remove_space(self.space(host))

    def _make_hosts(self) -> None:
        switch = self.space(_SWITCH)
        _run("ip", "netns", "add", switch)
        _run("ip", "-n", switch, "link", "add", "br0", "type", "bridge")
        _run("ip", "-n", switch, "link", "set", "br0", "up")
        names = "".join(f"{address} {host}\n" for host, address in self.addresses.items())
        for host, address in self.addresses.items():
            space, port = self.space(host), f"to-{host}"
            # Without these files a host would ask a name server that it cannot reach, for seconds each time.
            (_FILES / space).mkdir(parents=True)
            (_FILES / space / "hosts").write_text("127.0.0.1 localhost\n" + names)
            (_FILES / space / "resolv.conf").write_text("")
            _run("ip", "netns", "add", space)
            _run("ip", "link", "add", port, "netns", switch, "type", "veth", "peer", "name", "eth0", "netns", space)
            _run("ip", "-n", switch, "link", "set", port, "master", "br0", "up")
            _run("ip", "-n", space, "addr", "add", f"{address}/24", "dev", "eth0")
            _run("ip", "-n", space, "link", "set", "lo", "up")
            _run("ip", "-n", space, "link", "set", "eth0", "up")


def remove_stale_networks() -> None:
    """Removes the hosts of processes that have ended without removing them, and what still runs there."""
    listed = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=False).stdout.split()
    for space in listed:
        match = _NAME.fullmatch(space)
        if match and _read_start(int(match[1])) != int(match[2]):
            _remove_space(space)


def _remove_space(space: str) -> None:
    _kill_processes(space)
    subprocess.run(["ip", "netns", "del", space], capture_output=True, check=False)
    shutil.rmtree(_FILES / space, ignore_errors=True)


def _kill_processes(space: str) -> None:
    """Kills the processes of a namespace, and returns when none is left."""
    until = time.monotonic() + 10
    while _signal_processes(space, signal.SIGKILL) and time.monotonic() < until:
        time.sleep(0.05)


def _signal_processes(space: str, number: signal.Signals) -> list[int]:
    """Sends a signal to the processes of a namespace, and returns their numbers."""
    listed = subprocess.run(["ip", "netns", "pids", space], capture_output=True, text=True, check=False).stdout
    pids = [int(pid) for pid in listed.split()]
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, number)
    return pids


def _read_start(pid: int) -> int:
    """Returns when a process was started, in ticks since the machine's start; 0 if there is no such process."""
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])
    except FileNotFoundError:
        return 0


def _run(*command: str) -> None:
    subprocess.run(command, capture_output=True, text=True, check=True, timeout=30)
