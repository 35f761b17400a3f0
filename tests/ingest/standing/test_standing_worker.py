"""A standing worker of a real stack gives back what it reads when it is stopped; the load goes on without it.

Every event is there once.

In `make test`: the worker is started and stopped as a stack does it, beside the stack of the run.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from ingest_support import counts, exactly, log_file, own, source

from watchfloor.ingest.queue.work_queue import queue_lag
from watchfloor.ingest.standing import stack_load
from watchfloor.ingest.standing.stack_load import ask_for_load
from watchfloor.schema.settings.settings import Settings
from watchfloor.store.runtime.local_socket import list_worker_sockets
from watchfloor.store.stack.servers.process import Server, find_process, read_state, start_server, stop_process
from watchfloor.store.stack.servers.standing_workers import has_other_settings, make_standing_workers
from watchfloor.store.store import Store

pytestmark = pytest.mark.stack
LINES = 8_000


@pytest.fixture
def settings(store_settings: Settings) -> Settings:
    return own(store_settings, "standing")


@pytest.fixture
def worker(settings: Settings) -> Iterator[Server]:
    """A worker that has been started and need not be ready yet."""
    (server,) = make_standing_workers(settings, 1)
    start_server(server)
    yield server
    stop_process(server.pid_file, 10)


@pytest.mark.usefixtures("loads_here")
def test_a_load_goes_on_without_its_worker_when_that_is_stopped(
    settings: Settings, worker: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stack_load, "_RESTART_SECONDS", 0.0)
    file, stopped = log_file(tmp_path / "a.log", LINES), False
    with Store.open(settings) as store:
        kind = store.catalog.register(source("standing"))
        while read_state(worker) != "running":
            assert find_process(worker.pid_file), worker.log_file.read_text()
        assert not has_other_settings(worker)
        (other,) = make_standing_workers(replace(settings, chunk_bytes=4096), 1)
        assert has_other_settings(other)
        load = ask_for_load(settings, [str(file)], kind.name, again=False, is_strict=True)
        assert load is not None
        for progress in load:
            if not stopped and 0 < progress.events < LINES:
                stopped = True
                assert stop_process(worker.pid_file, 30), "it did not end by itself"
                assert not list_worker_sockets(settings.home)
        assert stopped, "the load was over before anything happened to it"
        assert (load.result.events, load.result.quarantined, load.result.failed) == (LINES, 0, ())
        assert counts(store, kind) == exactly(kind, LINES)
    assert queue_lag(settings) == 0
