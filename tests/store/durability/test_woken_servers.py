"""A tablet server that was stopped until others had recovered its log loses nothing that it acknowledges when it wakes.

It wakes with requests that have waited for it, and answers them until it learns that it counts as dead. Writers of
single entries note what was acknowledged, and workers load files meanwhile. ``WATCHFLOOR_TEST_ROUNDS`` is the number of
rounds where more are wanted.

In `make soak`: each round waits until a server counts as dead, is replaced and has started again.
"""

from __future__ import annotations

import itertools
import json
import os
import random
import signal
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
from ingest_support import counts, exactly, log_file, own, source, wait_for
from own_stack import stack_folder

from watchfloor.ingest.intake.load import Load
from watchfloor.query.service import QueryService
from watchfloor.schema.errors import StoreError
from watchfloor.schema.settings.settings import Settings
from watchfloor.schema.source import Source
from watchfloor.store.admin.tablet_servers import list_tablet_servers
from watchfloor.store.bridge.requests import EntryScan
from watchfloor.store.encoding.keys import event_table, shard_names
from watchfloor.store.encoding.ranges import Ranges
from watchfloor.store.stack import stack
from watchfloor.store.stack.servers.process import find_process
from watchfloor.store.store import Store

ROUNDS = int(os.environ.get("WATCHFLOOR_TEST_ROUNDS", "2"))
pytestmark = [pytest.mark.stack, pytest.mark.crash, pytest.mark.soak, pytest.mark.timeout(600 + 300 * ROUNDS)]

WRITERS = 12
LINES = 6_000
MODES = {"block": "bulk", "cell": "live"}
"""The way in which each layout is loaded."""


@pytest.fixture
def settings() -> Iterator[Settings]:
    with stack_folder() as fresh:
        small = replace(fresh, tserver_heap="256m", tserver_maps="64m", zookeeper_timeout=6)
        stack.start_stack(small, tservers=2)
        yield small


class Writers:
    """Threads that write one entry after the other, and note each whose write has returned."""

    def __init__(self, settings: Settings, store: Store, source: Source) -> None:
        self._store, self._table = store, event_table(source)
        self._shards = itertools.cycle(shard_names(source.shards))
        self._numbers = itertools.count()
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._write) for _ in range(WRITERS)]
        self.acknowledged: list[bytes] = []

    def _write(self) -> None:
        while not self._stop.is_set():
            row = b"%s entry %d" % (next(self._shards), next(self._numbers))
            try:
                self._store.put(self._table, [(row, b"", b"q", b"")])
            except StoreError:
                continue
            self.acknowledged.append(row)

    def __enter__(self) -> Writers:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def list_lost(self) -> list[bytes]:
        """Returns what was acknowledged and is not found."""
        acknowledged = list(self.acknowledged)
        return sorted(set(acknowledged) - read_rows(self._store, self._table))


def read_rows(store: Store, table: str) -> set[bytes]:
    every = Ranges()
    every.add_rows(b"", None)
    return {row for batch in store.scan(EntryScan(table, every)) for row in batch.column("row").to_pylist()}


class Loads:
    """A thread that loads one file after the other, by worker processes."""

    def __init__(self, settings: Settings, source: Source, folder: Path) -> None:
        self._settings, self._source, self._folder = own(settings, "woken"), source, folder
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._load)
        self.files: list[Path] = []
        self.events = 0
        self.failed: list[object] = []

    def _load(self) -> None:
        for number in itertools.count():
            if self._stop.is_set():
                return
            file = log_file(self._folder / f"{self._source.layout}-{number}.log", LINES, salt=str(number))
            load = self._load_file(file)
            self.files.append(file)
            self.events += load.result.events
            self.failed += load.result.failed

    def _load_file(self, file: Path) -> Load:
        while True:
            load = Load(self._settings, [file], self._source.name)
            # A store that does not answer when a load begins is an error; later it is waited for.
            with suppress(StoreError):
                for _ in load:
                    pass
                return load

    def __enter__(self) -> Loads:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()


@contextmanager
def stopped(process: psutil.Process) -> Iterator[None]:
    process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        process.send_signal(signal.SIGCONT)


def serves_all(store: Store, table: str) -> bool:
    """Returns whether a whole table can be read."""
    try:
        read_rows(store, table)
    except StoreError:
        return False
    return True


def stop_and_wake(settings: Settings, store: Store, server: str, table: str) -> None:
    """Stops a tablet server until another serves all tablets, wakes it, and starts it again when it has ended."""
    pid_file = settings.home / "run" / f"{server}.json"
    process = find_process(pid_file)
    assert process is not None
    with stopped(process):
        wait_for(lambda: len(list_tablet_servers(store.connection)) == 1)
        wait_for(lambda: serves_all(store, table), 240)
        assert find_process(pid_file) == process, "what was killed meanwhile does not wake"
        # Minor compactions are under way when it wakes: one that it began, and those of the server in its place.
        store.connection.client.tableOperations().flush(table)
    wait_for(lambda: find_process(pid_file) != process)
    stack.start_stack(settings)
    wait_for(lambda: sum(table in server.tables for server in list_tablet_servers(store.connection)) == 2, 120)


def count_refusals(settings: Settings) -> int:
    """Returns how often a flush of a tablet server's log failed because the server counted as dead."""
    logs = (settings.home / "log").glob("tserver*.log*")
    return sum(line.startswith("java.io.IOException: the write-ahead log") for log in logs for line in log.open())


def test_what_a_woken_server_acknowledges_is_there(settings: Settings, tmp_path: Path) -> None:
    with Store.open(settings) as store:
        plain = store.catalog.register(replace(source("plain"), shards=8))
        loaded = [store.catalog.register(source(mode, layout)) for layout, mode in MODES.items()]
        loads = [Loads(replace(settings, ingest_mode=MODES[kind.layout]), kind, tmp_path) for kind in loaded]
        with Writers(settings, store, plain) as writers, loads[0], loads[1]:
            for number in range(ROUNDS):
                before = len(writers.acknowledged)
                stop_and_wake(settings, store, f"tserver{number % 2 + 1}", event_table(plain))
                lost = writers.list_lost()
                print(f"round {number + 1}: {len(writers.acknowledged) - before} acknowledged, {len(lost)} lost")
                assert not lost
                time.sleep(random.random())
        assert not writers.list_lost()
        # Without this the servers may have ended before they came to acknowledge anything.
        assert count_refusals(settings) > 0
        for kind, load in zip(loaded, loads, strict=True):
            assert not load.failed
            assert load.events == LINES * len(load.files) > 0
            assert counts(store, kind) == exactly(kind, load.events)
            check_counts(QueryService(store), kind, load.files)


def check_counts(service: QueryService, kind: Source, files: list[Path]) -> None:
    """Compares the counts of a source, by host and by minute too, with those of the lines of its files."""
    events = [json.loads(line) for file in files for line in file.read_text().splitlines()]
    hosts = Counter(event["host"] for event in events)
    minutes = Counter(int(float(event["ts"]) // 60) * 60_000_000 for event in events)
    assert service.count_events(kind.name) == len(events)
    assert dict(service.rank_values(kind.name, "host", limit=len(hosts) + 1)) == hosts
    assert dict(service.count_over_time(kind.name, bucket="minute")) == minutes
