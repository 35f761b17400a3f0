"""A stack with a standing worker that is killed, stopped and taken down in the middle of loads: all events, each once.

In `make soak`: the items of a worker that is lost are taken over after some seconds, and the stack is started twice.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from ingest_support import counts, exactly, log_file, source, wait_for
from own_stack import stack_folder

from watchfloor.ingest.standing.stack_load import ask_for_load
from watchfloor.schema.settings.settings import Settings
from watchfloor.store.runtime.local_socket import list_worker_sockets
from watchfloor.store.stack.servers.process import find_process
from watchfloor.store.stack.stack import has_standing_workers, read_status, start_stack, stop_stack
from watchfloor.store.store import Store

pytestmark = [pytest.mark.stack, pytest.mark.crash, pytest.mark.soak]
LINES = 12_000


@pytest.fixture(scope="module")
def running() -> Iterator[Settings]:
    with stack_folder() as folder:
        settings = replace(folder, standing_workers="1", item_bytes=32 << 10, chunk_bytes=32 << 10)
        start_stack(settings)
        yield settings


def load_while(settings: Settings, name: str, folder: Path, act: Callable[[], None]) -> str:
    """Loads LINES, acts once that is under way, and checks the result; returns the problems that it told."""
    file, acted, problems = log_file(folder / "a.log", LINES, name), False, set()
    with Store.open(settings) as store:
        kind = store.catalog.register(source(name))
    load = ask_for_load(settings, [str(file)], kind.name, again=False, is_strict=True)
    assert load is not None
    for progress in load:
        problems.add(progress.problem)
        if not acted and 0 < progress.events < LINES:
            acted = True
            act()
    assert acted, "the load was over before anything happened to it"
    assert (load.result.events, load.result.quarantined, load.result.failed) == (LINES, 0, ())
    with Store.open(settings) as store:
        assert counts(store, kind) == exactly(kind, LINES)
    return "\n".join(problems)


def send(settings: Settings, number: signal.Signals) -> None:
    process = find_process(settings.home / "run" / "worker1.json")
    assert process is not None
    process.send_signal(number)


def test_a_killed_worker_is_started_again_and_does_the_rest(running: Settings, tmp_path: Path) -> None:
    problems = load_while(running, "lost_killed", tmp_path, lambda: send(running, signal.SIGKILL))
    assert "the stack's worker has ended; the load goes on with another" in problems
    wait_for(lambda: has_standing_workers(running))
    (worker,) = [server for server in read_status(running).servers if server.name == "worker1"]
    assert worker.state == "running" and worker.memory > 1 << 20 and worker.restarts.count == 1


def test_a_worker_that_stands_still_does_no_harm_when_it_goes_on(running: Settings, tmp_path: Path) -> None:
    problems = load_while(running, "lost_paused", tmp_path, lambda: send(running, signal.SIGSTOP))
    assert "has said nothing for 10 s" in problems
    send(running, signal.SIGCONT)
    wait_for(lambda: has_standing_workers(running))
    load_while(running, "lost_after", tmp_path, lambda: None)


def test_a_load_waits_for_a_stack_that_is_taken_down(running: Settings, tmp_path: Path) -> None:
    up = threading.Thread(target=start_stack, args=(running,))

    def restart() -> None:
        stop_stack(running)
        assert not list_worker_sockets(running.home)
        up.start()

    load_while(running, "lost_down", tmp_path, restart)
    up.join()
    assert read_status(running).is_healthy


def test_up_with_other_settings_replaces_the_worker(running: Settings) -> None:
    lines: list[str] = []
    start_stack(replace(running, chunk_bytes=64 << 10), report=lines.append)
    assert "stopping worker1, others are wanted" in lines and has_standing_workers(running)
    start_stack(replace(running, standing_workers="0"))
    assert not has_standing_workers(running) and read_status(running).is_healthy
