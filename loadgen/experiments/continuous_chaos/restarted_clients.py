"""Ingest clients of the continuous suite that are started again whenever they end, until they are stopped."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence

import psutil

from watchfloor.loadgen.continuous.ingest import IngestOptions
from watchfloor.loadgen.continuous.table import TableRows
from watchfloor.loadgen.harness.session import print_progress
from watchfloor.schema.errors import WatchfloorError
from watchfloor.schema.settings.settings import Settings
from watchfloor.store.workloads.client_process import ClientProcess, Record, start_client

_PAUSE = 1.0
"""Seconds before a client that has ended is started again."""


class RestartedClients:
    """Clients by name, ``client1`` and so on. In its context each runs again and again.

    ``flushes`` has the end (epoch seconds) and the entries of each flush of any client.
    """

    def __init__(self, settings: Settings, rows: TableRows, ingest: IngestOptions, clients: int, seed: int) -> None:
        self._settings, self._kind, self._seed = settings, ingest.make_client(rows), seed
        self.names: Sequence[str] = [f"client{number + 1}" for number in range(clients)]
        self.flushes: list[tuple[float, int]] = []
        self.restarts = 0
        self._running: dict[str, ClientProcess] = {}
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._threads = [threading.Thread(target=self._keep, args=(name,), daemon=True) for name in self.names]

    def __enter__(self) -> RestartedClients:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Returns when each client has stopped after a flush."""
        self._stop.set()
        for client in list(self._running.values()):
            client.ask_to_stop()
        for thread in self._threads:
            thread.join()

    def find_process(self, name: str) -> psutil.Process | None:
        """Returns the process of a client; None if it does not run."""
        client = self._running.get(name)
        try:
            return None if client is None else psutil.Process(client.pid)
        except psutil.NoSuchProcess:
            return None

    def find_last_flush(self) -> float:
        """Returns when the latest flush ended, in epoch seconds; 0 before the first."""
        return max((at for at, _ in self.flushes[-2 * len(self.names) :]), default=0.0)

    def count_entries(self, since: float, until: float) -> int:
        """Returns the number of entries whose flush ended in [since, until) (epoch seconds)."""
        return sum(entries for at, entries in self.flushes if since <= at < until)

    def _keep(self, name: str) -> None:
        while not self._stop.is_set():
            try:
                self._run(name)
            except WatchfloorError as error:
                if not self._stop.is_set():
                    print_progress(f"  {name} ended: {error}")
            self._running.pop(name, None)
            self._stop.wait(_PAUSE)

    def _run(self, name: str) -> None:
        """Runs a client to its end."""
        with self._lock:
            self.restarts += 1
            seed = 1_000_000 * self._seed + self.restarts
        options = {**self._kind.options, "seed": seed}
        with start_client(self._settings, f"continuous.{self._kind.name}", options, heap=self._kind.heap) as client:
            self._running[name] = client
            if self._stop.is_set():
                client.ask_to_stop()
            for record in client.read_records():
                self._note(record)

    def _note(self, record: Record) -> None:
        if "duration" in record:
            self.flushes.append((time.time(), record["interval"]))
