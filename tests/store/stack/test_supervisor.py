"""The supervisor of a real stack: each server that is killed comes back by itself, and every entry is there.

In `make soak`: servers are killed one after the other, and each recovery takes some seconds.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
from client_process import READ, WRITE, run_client
from own_stack import stack_folder

from watchfloor.schema.settings.load import load_settings
from watchfloor.schema.settings.settings import Settings
from watchfloor.store.stack.home.stack_state import load_state
from watchfloor.store.stack.servers.process import find_process, read_identity, start_server
from watchfloor.store.stack.servers.stack_servers import make_servers
from watchfloor.store.stack.stack import StackStatus, read_status, start_stack, stop_stack
from watchfloor.store.stack.supervision.restarts import ServerRestarts, delete_restarts, load_restarts
from watchfloor.store.stack.supervision.supervised import SUPERVISOR

pytestmark = [pytest.mark.stack, pytest.mark.crash, pytest.mark.soak]
BACK_SECONDS = 60
"""Seconds in which all tablets are served again on a busy machine; on a quiet one it takes 5 to 20."""


@pytest.fixture(scope="module")
def running() -> Iterator[Settings]:
    with stack_folder() as folder:
        small = {"tserver_heap": "256m", "tserver_maps": "64m", "manager_heap": "128m", "kafka_heap": "256m"}
        settings = load_settings(folder.home, small)
        start_stack(settings, 2)
        yield settings


def pid_of(settings: Settings, name: str) -> int:
    last = read_identity(settings.home / "run" / f"{name}.json")
    assert last is not None
    return last.pid


def kill(settings: Settings, name: str) -> int:
    pid = pid_of(settings, name)
    os.kill(pid, signal.SIGKILL)
    return pid


def wait_until(condition: Callable[[], bool], seconds: float = BACK_SECONDS) -> None:
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.2)


def await_health(settings: Settings) -> StackStatus:
    """Returns the status once nothing is wrong with the stack."""
    until = time.monotonic() + BACK_SECONDS
    while True:
        found = read_status(settings)
        if found.is_healthy:
            return found
        assert time.monotonic() < until, found.problems
        time.sleep(0.5)


def test_each_server_that_is_killed_is_back_and_all_tablets_are_served(running: Settings) -> None:
    run_client(running, WRITE)
    names = [server.name for server in read_status(running).servers if server.name != SUPERVISOR]
    assert len(names) == 6
    for name in names:
        killed, began = kill(running, name), time.monotonic()
        wait_until(lambda name=name, killed=killed: pid_of(running, name) != killed, 10)  # type: ignore[misc]
        found = await_health(running)
        print(f"{name}: all is well {time.monotonic() - began:.1f} s after its death")
        assert {server.name: server.restarts.count for server in found.servers}[name] >= 1
    assert run_client(running, READ) == "1000"


def test_all_at_once(running: Settings) -> None:
    run_client(running, WRITE)
    killed = {s.name: kill(running, s.name) for s in read_status(running).servers if s.name != SUPERVISOR}
    wait_until(lambda: all(pid_of(running, name) != pid for name, pid in killed.items()))
    await_health(running)
    assert run_client(running, READ) == "1000"


def test_what_keeps_dying_is_said_and_up_starts_it_once_the_cause_is_gone(running: Settings) -> None:
    path = running.conf_folder / "kafka.properties"
    good = path.read_text()
    path.write_text(good.replace("node.id=1", "node.id=one"))
    kill(running, "kafka")
    # Its first death says nothing, as it was killed.
    wait_until(
        lambda: (
            (now := load_restarts(running).get("kafka", ServerRestarts())).keeps_dying and "value one" in now.reason
        ),
        120,
    )
    (problem,) = [p for p in read_status(running).problems if p.startswith("kafka")]
    assert "it keeps dying" in problem and "exit status 1" in problem and "watchfloor up" in problem
    assert "ConfigException: Invalid value one for configuration" in problem
    wait_until(lambda: find_process(running.home / "run/kafka.json") is None)
    state = load_state(running)
    assert state is not None
    # `up` meets one that the supervisor has just started, and that will end.
    start_server(make_servers(running, state).kafka)
    start_stack(running)  # it writes the configuration anew
    assert path.read_text() == good
    found = {server.name: server for server in read_status(running).servers}
    assert found["kafka"].state == "running" and found["kafka"].restarts.deaths >= 3


def test_the_supervisor_itself_is_started_again_by_up(running: Settings) -> None:
    kill(running, SUPERVISOR)
    wait_until(lambda: find_process(running.home / "run" / f"{SUPERVISOR}.json") is None)
    (problem,) = [p for p in read_status(running).problems if p.startswith(SUPERVISOR)]
    assert problem == "supervisor: died; nothing starts servers again that die: run `watchfloor up`"
    # The tests before have killed each server several times within a minute.
    delete_restarts(running)
    lines: list[str] = []
    start_stack(running, report=lines.append)
    assert lines == ["starting the supervisor", "the stack is running already"]
    assert kill(running, "gc")
    await_health(running)


def test_what_up_and_down_stop_stays_down(running: Settings) -> None:
    start_stack(running, 1)
    surplus = running.home / "run" / "tserver2.json"
    for _ in range(10):
        assert find_process(surplus) is None
        time.sleep(0.3)
    assert {s.name for s in await_health(running).servers} >= {"tserver1", SUPERVISOR}
    home = str(running.home)
    stop_stack(running)
    time.sleep(2)
    assert list_processes_of(home) == []
    assert sorted(path.name for path in (running.home / "run").iterdir()) == ["lock"]
    start_stack(running)
    assert run_client(running, READ) == "1000"
    assert {s.restarts.count for s in read_status(running).servers} == {0}


def list_processes_of(home: str) -> list[int]:
    """Returns the processes that were started in the folder ``home`` or are told it."""
    found = []
    for process in psutil.process_iter(["pid", "cmdline", "cwd"]):
        cwd, command = process.info["cwd"] or "", " ".join(process.info["cmdline"] or [])
        if Path(cwd) == Path(home) or home in command:
            found.append(process.pid)
    return found
