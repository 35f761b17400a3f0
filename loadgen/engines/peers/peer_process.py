"""Starts and asks other engines, each in a process of its own that runs ``peer_main``."""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import orjson
import psutil

from watchfloor.loadgen.engines.answer import EngineAnswer
from watchfloor.loadgen.engines.question import EngineQuestion
from watchfloor.loadgen.harness.session import print_progress
from watchfloor.schema.errors import StackError

SQL_PEERS = ("duckdb", "chdb")
PEERS = (*SQL_PEERS, "tantivy", "opensearch", "victorialogs")
"""The names of the engines: those of ``SERVER_VARIABLES`` are servers, the others are names of packages."""
SERVER_VARIABLES = {"opensearch": "OPENSEARCH_HOME", "victorialogs": "VICTORIA_LOGS"}
"""The environment variable that says where each engine is that is a server."""
FEED = "proxy.events"
"""The events that engines hold if no others are named."""
_STOP_SECONDS = 20
_POLL_SECONDS = 0.05


@dataclass(frozen=True)
class PeerLoad:
    """A load of an engine.

    ``seconds`` count until the events were durable; ``bytes`` are those on disk after merges and checkpoints.
    """

    seconds: float
    rows: int
    bytes: int


class PeerProcess:
    """One engine in its process. Its methods raise StackError when the engine fails or its process dies."""

    def __init__(self, name: str, feed: str = FEED) -> None:
        """Starts the process without waiting for it. ``feed`` is the built-in definition of its events."""
        self.name, self._is_open = name, False
        # The folder is outside the experiment's own folder, which only its owner may enter, because a server may have
        # to run as another user. It is made and removed here because the process may have to be killed.
        self._folder = TemporaryDirectory(prefix=f"watchfloor-{name}-", ignore_cleanup_errors=True)
        self._process = subprocess.Popen(
            [sys.executable, "-m", "watchfloor.loadgen.engines.peers.peer_main", name, self._folder.name, feed],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            # Ctrl-C reaches only the experiment, which then ends its peers and all processes that they have started.
            start_new_session=True,
        )

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def pids(self) -> list[int]:
        """The process and all that it has started: an engine that is a server answers from one of these."""
        return [self.pid, *(child.pid for child in psutil.Process(self.pid).children(recursive=True))]

    def wait_until_open(self) -> None:
        """Waits until the engine is open. Raises StackError, whose first line says why it did not start."""
        if not self._is_open:
            self._read_answer("did not start")
            self._is_open = True

    def load_file(self, path: Path) -> PeerLoad:
        """Loads a file of the feed's events into a fresh table."""
        return PeerLoad(**self._call_peer(load=str(path)))

    def load_list(self, path: Path) -> None:
        """Loads a list of addresses into an engine that is asked in SQL, which calls it ``listed``."""
        self._call_peer(list=str(path))

    def ask_question(self, question: EngineQuestion, check: bool) -> EngineAnswer:
        return EngineAnswer(**self._call_peer(ask=question, check=check))

    def run_sql(self, sql: str, keep: Path | None = None) -> EngineAnswer:
        """Runs a statement in an engine that is asked in SQL. ``keep`` is an Arrow file for its rows."""
        return EngineAnswer(**self._call_peer(sql=sql, keep=None if keep is None else str(keep)))

    def close(self) -> None:
        """Ends the process and all that it started, and removes their folder. A second call does nothing."""
        assert self._process.stdin and self._process.stdout
        if self._process.stdout.closed:
            return
        with suppress(BrokenPipeError):
            self._process.stdin.close()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_STOP_SECONDS)
        self._kill_group()
        self._process.stdout.close()
        self._folder.cleanup()

    def _kill_group(self) -> None:
        """Kills the rest of the process group, and waits for its end.

        A server in the group could still write to the folder.
        """
        until = time.monotonic() + _STOP_SECONDS
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            while time.monotonic() < until:
                os.killpg(self._process.pid, 0)
                time.sleep(_POLL_SECONDS)

    def _call_peer(self, **request: Any) -> dict[str, Any]:
        self.wait_until_open()
        assert self._process.stdin
        with suppress(BrokenPipeError):
            self._process.stdin.write(orjson.dumps(request) + b"\n")
            self._process.stdin.flush()
        return self._read_answer()

    def _read_answer(self, failed: str = "failed") -> dict[str, Any]:
        assert self._process.stdout
        answer: dict[str, Any] = orjson.loads(self._process.stdout.readline() or b"{}")
        if "error" in answer or not answer:
            reason = answer.get("error") or f"its process ended with {self._process.wait(_STOP_SECONDS)}"
            raise StackError(f"{self.name} {failed}: {reason}")
        return answer


def explain_missing(name: str) -> str:
    """Returns instructions to install an engine; an empty text if it is installed."""
    if variable := SERVER_VARIABLES.get(name):
        return "" if os.environ.get(variable) else f"{variable} is not set: docs/measuring/peers.md says how to get it"
    return "" if importlib.util.find_spec(name) else "not installed: pip install 'watchfloor[bench]'"


@contextmanager
def open_peers(names: Sequence[str], feed: str = FEED) -> Iterator[tuple[list[PeerProcess], list[str]]]:
    """Yields a peer for each engine of ``names`` that is installed and starts, to hold events of ``feed``.

    Also yields a line with the reason for each other engine.

    All peers are ended at the end.
    """
    with ExitStack() as stack:
        remedies = {name: explain_missing(name) for name in names}
        left_out = [f"{name}: {remedy}" for name, remedy in remedies.items() if remedy]
        started = [
            stack.enter_context(closing(PeerProcess(name, feed))) for name, remedy in remedies.items() if not remedy
        ]
        peers: list[PeerProcess] = []
        for peer in started:
            try:
                peer.wait_until_open()
            except StackError as error:
                peer.close()
                left_out.append(str(error))
            else:
                peers.append(peer)
        for why in left_out:
            print_progress(f"left out: {why}")
        yield peers, [why.partition("\n")[0] for why in left_out]
