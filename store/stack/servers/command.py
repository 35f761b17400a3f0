"""Runs short-lived commands beside the servers, which format storage, initialise Accumulo or query it."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

from watchfloor.schema.errors import StackError
from watchfloor.schema.files.paths import show_path
from watchfloor.schema.settings.settings import Settings
from watchfloor.store.runtime.private_files import UMASK, make_private_folder, open_private

from .process import Server, find_process, read_log_tail

_POLL = 0.1


class ServerEndedError(StackError):
    """A server that a command waits for has ended."""


def run_command(
    settings: Settings, name: str, command: Sequence[str], deadline: float, watch: Sequence[Server] = ()
) -> str:
    """Runs a command and returns what it printed. Its error output goes to ``log/NAME.out``.

    Raises ``StackError`` if the command fails or ``deadline`` (monotonic seconds) passes, and ``ServerEndedError`` as
    soon as a server in ``watch`` ends, because the command would wait for that server.
    """
    path = settings.home / "log" / f"{name}.out"
    make_private_folder(path.parent)
    with open_private(path, "wb") as errors:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            cwd=settings.home,
            text=True,
            umask=UMASK,
        )
        try:
            while True:
                try:
                    printed, _ = process.communicate(timeout=_POLL)
                    break
                except subprocess.TimeoutExpired:
                    _check_servers(watch)
                    if time.monotonic() > deadline:
                        raise StackError(
                            f"{name} took too long; {_read_last_lines(path)}see {settings.home / 'log'}"
                        ) from None
        finally:
            if process.poll() is None:
                process.kill()
                process.communicate()
    if process.returncode:
        raise StackError(
            f"{name} failed: {_read_last_lines(path) or f'exit {process.returncode}; '}see {show_path(path)}"
        )
    return printed


def _check_servers(watch: Sequence[Server]) -> None:
    """Raises ServerEndedError if one of the servers has ended."""
    for server in watch:
        if find_process(server.pid_file) is None:
            raise ServerEndedError(f"{server.name} ended{read_log_tail(server)}")


def _read_last_lines(path: Path) -> str:
    """Returns the last lines of a file, for use within an error message."""
    with path.open(errors="replace") as file:
        lines = [line.strip() for line in file if line.strip()]
    return "\n  ".join(lines[-8:]) + "; " if lines else ""
