"""Other engines, each in a process of its own: started and asked from here, run by ``peer.py``."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from watchfloor.schema.errors import StackError

from ..rig import say
from .answer import Answer
from .question import Question

PEERS = ("duckdb", "chdb")
"""Their packages' names."""
_STOP_SECONDS = 20


@dataclass(frozen=True)
class PeerLoad:
    """Seconds until the events were in the table for good, and the table's bytes on the disk once it had settled."""

    seconds: float
    rows: int
    bytes: int


class Peer:
    """One engine. Raises ``StackError`` when it fails or dies."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name = name
        self._process = subprocess.Popen(
            [sys.executable, "-m", "watchfloor.loadgen.engines.peer", name, str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            # ^C is for the experiment, which then ends its peers.
            start_new_session=True,
        )

    def load(self, path: Path) -> PeerLoad:
        """Loads a file of proxy events into a fresh table."""
        return PeerLoad(**self._call(load=str(path)))

    def ask(self, question: Question, check: bool) -> Answer:
        return Answer(**self._call(ask=question, check=check))

    def close(self) -> None:
        assert self._process.stdin and self._process.stdout
        self._process.stdin.close()
        try:
            self._process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()

    def _call(self, **request: Any) -> dict[str, Any]:
        assert self._process.stdin and self._process.stdout
        try:
            self._process.stdin.write(orjson.dumps(request) + b"\n")
            self._process.stdin.flush()
            answer: dict[str, Any] = orjson.loads(self._process.stdout.readline() or b"{}")
        except BrokenPipeError:
            answer = {}
        if "error" in answer or not answer:
            reason = answer.get("error") or f"its process ended with {self._process.wait(_STOP_SECONDS)}"
            raise StackError(f"{self.name} failed: {reason}")
        return answer


def missing(name: str) -> bool:
    """Whether an engine's package is not installed."""
    return importlib.util.find_spec(name) is None


@contextmanager
def open_peers(folder: Path) -> Iterator[list[Peer]]:
    """A peer for each engine that is installed; all are ended at the end."""
    with ExitStack() as stack:
        peers = []
        for name in PEERS:
            if missing(name):
                say(f"{name}: not installed: pip install 'watchfloor[bench]'")
                continue
            peers.append(Peer(name, folder / name))
            stack.callback(peers[-1].close)
        yield peers
