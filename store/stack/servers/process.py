"""Starts, probes and stops the process of one server of the stack.

A server is found by its pid file, which holds the pid and the start time of the process (``ProcessIdentity``).
"""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import re
import signal
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import psutil

from watchfloor.schema.errors import StackError
from watchfloor.schema.files.paths import show_path
from watchfloor.schema.settings.settings import Settings
from watchfloor.store.runtime.private_files import UMASK, open_private, write_private
from watchfloor.store.runtime.process_identity import ProcessIdentity
from watchfloor.store.stack.home.checks import LOOPBACK

ServerState = Literal["running", "not answering", "died", "stopped"]
_POLL = 0.05
_STACK_FRAME = re.compile(r"\s+(at |\.\.\. \d+ more)")
# The shell becomes the server, with the same pid and start time, once it has read a line. At the end of its input it
# ends without having started anything.
_START = 'read -r go && exec "$@"'
# The exit codes of children that have ended, by pid: the system tells them once, to whoever asks first.
_exits: dict[int, int] = {}


@dataclass(frozen=True)
class Server:
    """The command, folder and ports of one server.

    ``is_ready(port)`` returns within about a second whether the server answers. ``memory`` is the number of bytes that
    it may use. ``given`` is its standard input, and ``environment`` what it finds there beside this process's own.
    """

    name: str
    command: tuple[str, ...]
    home: Path
    ports: dict[str, int]
    is_ready: Callable[[int], bool]
    memory: int = 0
    given: bytes = field(default=b"", repr=False)
    environment: Mapping[str, str] = field(default_factory=dict)

    @property
    def pid_file(self) -> Path:
        return self.home / "run" / f"{self.name}.json"

    @property
    def log_file(self) -> Path:
        return self.home / "log" / f"{self.name}.log"

    @property
    def out_file(self) -> Path:
        return self.home / "log" / f"{self.name}.out"

    @property
    def port(self) -> int:
        """The port on which the server is probed: its first one; 0 if it has none."""
        return next(iter(self.ports.values()), 0)


def find_process(pid_file: Path) -> psutil.Process | None:
    """Returns the process that a pid file names; None if the file is missing or damaged, or the process has ended."""
    identity = read_identity(pid_file)
    process = identity.find_process() if identity is not None else None
    return None if process is None or _has_ended(process) else process


def read_identity(pid_file: Path) -> ProcessIdentity | None:
    """Returns the identity of the process that a pid file names, even if it has ended; None without a readable file."""
    try:
        record = json.loads(pid_file.read_text())
        identity = ProcessIdentity(socket.gethostname(), int(record["pid"]), float(record["started"]))
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return None
    return identity if identity.pid > 0 else None


def _has_ended(process: psutil.Process) -> bool:
    """Returns whether a process has ended with all its threads, and so has released its ports."""
    try:
        # A child of this process stays a zombie until this process waits for it.
        pid, status = os.waitpid(process.pid, os.WNOHANG)
    except ChildProcessError:
        return bool(process.status() == psutil.STATUS_ZOMBIE)
    if pid:
        _exits[pid] = os.waitstatus_to_exitcode(status)
    return pid != 0


def describe_end(pid: int) -> str:
    """Returns how a process has ended. The system tells that to its parent only: of others it is just "ended"."""
    code = _exits.pop(pid, None)
    if code is None:
        return "ended"
    return f"ended by signal {-code}" if code < 0 else f"ended with exit status {code}"


def list_module_command(module: str) -> tuple[str, ...]:
    """Returns the command that runs a Python module of this project."""
    # Without -P Python would import modules from the folder in which the process starts.
    return sys.executable, "-P", "-m", module


def make_helper(settings: Settings, name: str, module: str) -> Server:
    """Returns a process beside the servers that runs a module, with the settings as input. It listens on no port."""
    command, given = list_module_command(module), pickle.dumps(settings)
    return Server(name, command, settings.home, ports={}, is_ready=lambda port: True, given=given)


def read_state(server: Server) -> ServerState:
    """Returns the state that the server is in now."""
    if find_process(server.pid_file) is None:
        return "died" if server.pid_file.exists() else "stopped"
    return "running" if server.is_ready(server.port) else "not answering"


def start_server(server: Server) -> None:
    """Starts the process in a session of its own, so that neither Ctrl-C nor a closed terminal reaches it.

    The process waits until its pid file is written. If this process dies before, the server never runs: there is no
    server that no pid file names. Raises ``StackError``.
    """
    with open_private(server.out_file, "wb") as out:
        process = subprocess.Popen(
            ("/bin/sh", "-c", _START, server.name, *server.command),
            stdin=subprocess.PIPE,
            stdout=out,
            stderr=subprocess.STDOUT,
            cwd=server.home,
            start_new_session=True,
            umask=UMASK,
            env={**server.environment, **os.environ},
        )
    assert process.stdin is not None
    try:
        started = ProcessIdentity.of_pid(process.pid).started
        write_private(server.pid_file, json.dumps({"pid": process.pid, "started": started}) + "\n")
        with process.stdin:
            process.stdin.write(b"start\n" + server.given)
    except (psutil.Error, BrokenPipeError):
        raise StackError(f"{server.name} ended at once{read_log_tail(server)}") from None
    finally:
        with contextlib.suppress(BrokenPipeError):
            process.stdin.close()
        # The server outlives this process on purpose. Python would warn of that if there were no return code.
        process.returncode = 0


def await_ready(server: Server, deadline: float) -> None:
    """Returns when the server answers.

    Raises ``StackError`` with the last log lines if the server ends or ``deadline`` (monotonic seconds) passes.
    """
    while not server.is_ready(server.port):
        if find_process(server.pid_file) is None:
            raise StackError(f"{server.name} ended while it started{read_log_tail(server)}")
        if time.monotonic() > deadline:
            where = f" on port {server.port}" if server.port else ""
            raise StackError(f"{server.name} does not answer{where}{read_log_tail(server)}")
        time.sleep(_POLL)


def await_end(pid_file: Path, deadline: float) -> bool:
    """Returns whether the process has ended by ``deadline``, and removes its pid file if so."""
    while find_process(pid_file) is not None:
        if time.monotonic() > deadline:
            return False
        time.sleep(_POLL)
    pid_file.unlink(missing_ok=True)
    return True


def send_signal(pid_file: Path, number: signal.Signals) -> None:
    """Sends a signal to the process that the pid file names, if it runs."""
    process = find_process(pid_file)
    if process is not None:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.send_signal(number)


def stop_process(pid_file: Path, seconds: float) -> bool:
    """Sends SIGTERM, and SIGKILL if the process still runs after ``seconds``. Returns whether SIGTERM was enough."""
    send_signal(pid_file, signal.SIGTERM)
    if await_end(pid_file, time.monotonic() + seconds):
        return True
    send_signal(pid_file, signal.SIGKILL)
    await_end(pid_file, time.monotonic() + 10)
    return False


def read_log_tail(server: Server, lines: int = 8) -> str:
    """Returns the last lines that the server printed and logged, for the end of an error message.

    Lines of Java's stack traces are left out: there are many, and the error that they belong to stands before them.
    """
    tail = []
    for path in (server.out_file, server.log_file):
        with contextlib.suppress(OSError), path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - 16_384))
            text = file.read().decode(errors="replace")
            told = [line for line in text.splitlines() if line.strip() and not _STACK_FRAME.match(line)]
            tail += [f"  {line[:300]}" for line in told[-lines:]]
    return f"; see {show_path(server.log_file)}\n" + "\n".join(tail) if tail else f"; see {show_path(server.log_file)}"


def ask_port(
    port: int, request: bytes, least: int = 1, seconds: float = 1.0, tls: ssl.SSLContext | None = None
) -> bytes:
    """Returns the answer to ``request`` of a server on ``port`` of the loopback address; empty if none answers.

    Reading ends after at least ``least`` bytes, or when the server closes the connection. Each step may take
    ``seconds``. With ``tls`` the connection is encrypted, and the server's certificate checked.
    """
    try:
        with ExitStack() as stack:
            connection = stack.enter_context(socket.create_connection((LOOPBACK, port), timeout=seconds))
            connection.settimeout(seconds)
            if tls is not None:
                connection = stack.enter_context(tls.wrap_socket(connection, server_hostname=LOOPBACK))
            connection.sendall(request)
            answer = b""
            while len(answer) < least and (part := connection.recv(4096)):
                answer += part
            return answer
    except OSError:
        return b""


def is_listening(port: int) -> bool:
    """Returns whether a server accepts connections on ``port`` of the loopback address."""
    try:
        socket.create_connection((LOOPBACK, port), timeout=1).close()
    except OSError:
        return False
    return True
