"""Runs Watchfloor's own long-running commands as processes of their own, for the demo and the experiments."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from watchfloor.api.tokens.token_file import FIRST_TOKEN_FILE
from watchfloor.schema.errors import StackError
from watchfloor.schema.files.paths import show_path
from watchfloor.schema.settings.settings import Settings
from watchfloor.store.runtime.private_files import UMASK, open_private

_START_SECONDS = 60
_STOP_SECONDS = 20


@dataclass(frozen=True)
class RestAddress:
    """The address of a REST service that answers, a token for it, and its process."""

    host: str
    port: int
    token: str
    pid: int


@contextmanager
def run_background(settings: Settings, log: Path, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    """Runs ``watchfloor ARGUMENTS`` until the end of the block. Its output goes to ``log``."""
    command = [sys.executable, "-m", "watchfloor.api.cli.main", "--home", str(settings.home), *arguments]
    with open_private(log, "wb") as out:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, umask=UMASK)
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@contextmanager
def run_rest_service(settings: Settings, log: Path) -> Iterator[RestAddress]:
    """Runs ``watchfloor serve`` on a free port. Raises ``StackError`` if it does not start."""
    with run_background(settings, log, "serve", "--port", "0") as process:
        host, port = _await_address(process, log)
        yield RestAddress(host, port, _read_token(settings.secret_folder / FIRST_TOKEN_FILE), process.pid)


def _read_token(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError as error:
        hint = "put a token of `watchfloor token create NAME --all-labels` there"
        raise StackError(f"no token for the REST service in {show_path(path)} ({error.strerror}): {hint}") from None


def _await_address(process: subprocess.Popen[bytes], log: Path) -> tuple[str, int]:
    """Waits until the service prints its address, and returns host and port."""
    until = time.monotonic() + _START_SECONDS
    while time.monotonic() < until and process.poll() is None:
        for line in log.read_text().splitlines():
            if line.startswith("serving http://"):
                host, _, port = line.removeprefix("serving http://").partition("/")[0].rpartition(":")
                return host, int(port)
        time.sleep(0.1)
    raise StackError(f"`watchfloor serve` does not start: {log.read_text()[-500:]}")
