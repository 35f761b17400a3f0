"""Runs the suite's clients: several processes of one kind at the same time, each with a seed of its own."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

from watchfloor.schema.errors import UserError
from watchfloor.schema.settings.settings import Settings
from watchfloor.store.workloads.client_process import ClientProcess, Record, start_client

Heard = Callable[[int, Record], None]
"""Called with the number of a client, from 0, and a record of it."""
MOST_CLIENTS = 1000


@dataclass(frozen=True)
class ClientKind:
    """A kind of client: its Java class below ``watchfloor.workload.continuous``, its options and its heap."""

    name: str
    options: Mapping[str, Any]
    heap: str = "512m"


class RunningClients:
    """Clients that run; see ``start_clients``."""

    def __init__(self, clients: Sequence[ClientProcess], heard: Heard) -> None:
        self._clients, self._heard, self._lock = clients, heard, threading.Lock()
        self._have_ended = threading.Event()
        self.records: list[list[Record]] = [[] for _ in clients]

    def wait(self) -> list[list[Record]]:
        """Returns the records of each client when all have ended.

        Raises the first client's ``StoreError``, after the others have been asked to stop. All are asked, too, when the
        waiting is interrupted.
        """
        with ThreadPoolExecutor(len(self._clients)) as pool:
            running = [pool.submit(self._listen, number) for number in range(len(self._clients))]
            try:
                for one in running:
                    one.result()
            except BaseException:
                self.stop()  # The pool ends when they have ended.
                raise
            finally:
                self._have_ended.set()
        return self.records

    def stop(self) -> None:
        """Asks all clients to stop at the next place at which they may."""
        for client in self._clients:
            client.ask_to_stop()

    def stop_after(self, seconds: float) -> None:
        """Asks all clients to stop ``seconds`` after the last of them has begun its work."""
        for client in self._clients:
            client.has_begun.wait()
        if not self._have_ended.wait(seconds):
            self.stop()

    def _listen(self, number: int) -> None:
        try:
            for record in self._clients[number].read_records():
                with self._lock:
                    self.records[number].append(record)
                    self._heard(number, record)
        except BaseException:
            self.stop()
            raise


@contextmanager
def start_clients(
    settings: Settings, kind: ClientKind, clients: int, seed: int, heard: Heard = lambda number, record: None
) -> Iterator[RunningClients]:
    """Starts ``clients`` processes of one kind. What still runs at the end of the block is stopped.

    Raises ``UserError`` for a number of clients that cannot be started.
    """
    if not 1 <= clients <= MOST_CLIENTS:
        raise UserError(f"--clients is {clients}; it lies between 1 and {MOST_CLIENTS}")
    with ExitStack() as stack:
        started = [
            stack.enter_context(
                start_client(
                    settings, f"continuous.{kind.name}", {**kind.options, "seed": seed + number}, heap=kind.heap
                )
            )
            for number in range(clients)
        ]
        running = RunningClients(started, heard)
        stack.callback(running.stop)
        yield running


def run_clients(
    settings: Settings, kind: ClientKind, clients: int, seed: int, *, seconds: float | None = None
) -> list[list[Record]]:
    """Runs clients to their end, or asks them to stop after ``seconds`` of work; returns the records of each."""
    with start_clients(settings, kind, clients, seed) as running, ThreadPoolExecutor(1) as pool:
        if seconds is not None:
            pool.submit(running.stop_after, seconds)
        return running.wait()


def find_span(records: Sequence[Sequence[Record]], first: str, last: str) -> float:
    """Returns the seconds from the earliest record with ``first`` to the latest with ``last`` (both epoch ms)."""
    begins = [record[first] for one in records for record in one if first in record]
    ends = [record[last] for one in records for record in one if last in record]
    return (max(ends, default=time.time() * 1000) - min(begins, default=0)) / 1000
