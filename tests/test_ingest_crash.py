"""Processes killed in the middle of a load: it ends without help, and every count is exact."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from ingest_support import counts, exactly, load_while, log_file, own, source, workers_of

from watchfloor.ingest.load import Load, LoadResult, Progress
from watchfloor.ingest.queue import queue_lag
from watchfloor.schema.source import Source
from watchfloor.store.settings import Settings
from watchfloor.store.stack import up
from watchfloor.store.store import Store

pytestmark = [pytest.mark.stack, pytest.mark.crash]
LINES = 40_000


@pytest.fixture
def store(store_settings: Settings) -> Iterator[Store]:
    with Store.open(store_settings) as opened:
        yield opened


def load_while_killing(server: str, settings: Settings, kind: Source, folder: Path, *, restart: bool) -> LoadResult:
    """Loads LINES; kills a server once that is under way, and starts it again later, as a service manager would."""
    with ExitStack() as later:

        def kill(progress: Progress) -> bool:
            if not LINES // 10 < progress.events < LINES:
                return False
            os.kill(json.loads((settings.home / "run" / f"{server}.json").read_text())["pid"], signal.SIGKILL)
            if restart:
                timer = threading.Timer(5, up, [settings])
                timer.start()
                later.callback(timer.join)
            return True

        return load_while(Load(settings, [log_file(folder / "a.log", LINES)], kind.name, workers=2), kill)


@pytest.mark.parametrize("run", [1, 2])
def test_a_worker_is_killed(run: int, store_settings: Settings, store: Store, tmp_path: Path) -> None:
    settings, kind = own(store_settings, f"killed{run}"), store.register(source(f"killed{run}"))
    killed = 0

    def kill(progress: Progress) -> bool:
        nonlocal killed
        if progress.events > killed * LINES // 5 and (workers := workers_of(settings)):
            workers[killed % len(workers)].kill()
            killed += 1
        return killed == 3

    load = Load(settings, [log_file(tmp_path / "a.log", LINES)], kind.name, workers=2)
    result = load_while(load, kill)
    assert (result.events, result.quarantined, result.failed) == (LINES, 0, ())
    assert counts(store, kind) == exactly(LINES)


def test_the_only_tablet_server_is_killed(store_settings: Settings, store: Store, tmp_path: Path) -> None:
    """The load itself needs no help."""
    settings, kind = own(store_settings, "only"), store.register(source("only"))
    result = load_while_killing("tserver1", settings, kind, tmp_path, restart=True)
    assert (result.events, result.quarantined, result.failed) == (LINES, 0, ())
    assert counts(store, kind) == exactly(LINES)


def test_one_of_two_tablet_servers_is_killed(store_settings: Settings, store: Store, tmp_path: Path) -> None:
    """The other takes its tablets over; nobody starts anything."""
    up(store_settings, tservers=2)
    settings, kind = own(store_settings, "other"), store.register(source("other"))
    try:
        result = load_while_killing("tserver1", settings, kind, tmp_path, restart=False)
        assert (result.events, result.quarantined, result.failed) == (LINES, 0, ())
        assert counts(store, kind) == exactly(LINES)
    finally:
        up(store_settings)


def test_the_queue_is_killed(store_settings: Settings, store: Store, tmp_path: Path) -> None:
    settings, kind = own(store_settings, "broker"), store.register(source("broker"))
    result = load_while_killing("kafka", settings, kind, tmp_path, restart=True)
    assert (result.events, result.failed) == (LINES, ())
    assert counts(store, kind) == exactly(LINES)
    until = time.monotonic() + 30
    while queue_lag(settings) and time.monotonic() < until:
        time.sleep(1)


def test_no_worker_outlives_its_load(store_settings: Settings, tmp_path: Path) -> None:
    assert not workers_of(store_settings)
