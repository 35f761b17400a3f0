"""The supervisor's decisions, with small processes in the servers' places: back-off, record, lock, ports, room on disk.

In `make test`: it needs no servers.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType, SimpleNamespace

import psutil
import pytest

from watchfloor.schema.errors import StackError
from watchfloor.schema.settings.settings import Settings
from watchfloor.store.stack.home import checks
from watchfloor.store.stack.home.home_folder import make_folders
from watchfloor.store.stack.home.stack_lock import hold_stack_lock
from watchfloor.store.stack.home.stack_state import StackState, save_state
from watchfloor.store.stack.servers import process
from watchfloor.store.stack.servers.process import Server, find_process, read_identity, stop_process
from watchfloor.store.stack.supervision import supervised, supervisor
from watchfloor.store.stack.supervision.restarts import LONG_LIFE, ServerRestarts, load_restarts, restart_delay
from watchfloor.store.stack.supervision.supervisor import Supervisor

NAMES = StackState().server_names
SLEEP = "import time; time.sleep(60)"
Servers = Callable[..., dict[str, Server]]


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    settings = Settings(home=tmp_path)
    make_folders(settings)
    save_state(settings, StackState(prepared=True))
    return settings


@pytest.fixture
def servers(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[Servers]:
    """Returns a function that gives the stack Python processes as servers, with the code of some of them."""

    def make(ports: Mapping[str, int] = MappingProxyType({}), **codes: str) -> dict[str, Server]:
        made = {
            name: Server(
                name,
                (sys.executable, "-S", "-c", codes.get(name, SLEEP)),
                settings.home,
                {name: ports[name]} if name in ports else {},
                is_ready=lambda port: True,
            )
            for name in NAMES
        }
        monkeypatch.setattr(supervisor, "make_servers", lambda *_: SimpleNamespace(all=tuple(made.values())))
        return made

    yield make
    for name in NAMES:
        stop_process(settings.home / "run" / f"{name}.json", 0)


def look_until(watch: Supervisor, condition: Callable[[], bool], seconds: float = 20) -> None:
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until
        watch.restart_dead()
        time.sleep(0.02)


def pid_of(server: Server) -> int:
    """The pid of a server that was started. Unlike ``find_process`` it does not wait for a child that has ended."""
    last = read_identity(server.pid_file)
    return last.pid if last else 0


def test_the_delay_doubles_is_bounded_and_starts_anew_after_a_long_life() -> None:
    assert [restart_delay(deaths) for deaths in range(9)] == [0, 0, 1, 2, 4, 8, 16, 30, 30]
    entry = ServerRestarts()
    for deaths in range(1, 5):
        entry = entry.add_death(LONG_LIFE / 2, 1.0, "ended")
        assert (entry.deaths, entry.delay) == (deaths, restart_delay(deaths))
        assert entry.keeps_dying == (deaths > 2)
    assert entry.add_death(LONG_LIFE, 2.0, "ended").delay == 0


def test_what_dies_is_started_again_and_counted(settings: Settings, servers: Servers) -> None:
    made = servers()
    watch = Supervisor(settings)
    watch.restart_dead()
    before = {name: pid_of(server) for name, server in made.items()}
    assert all(before.values())
    os.kill(before["gc"], signal.SIGKILL)
    look_until(watch, lambda: pid_of(made["gc"]) not in (0, before["gc"]))
    assert {name: pid_of(server) for name, server in made.items() if name != "gc"} == {
        name: pid for name, pid in before.items() if name != "gc"
    }
    entry = load_restarts(settings)["gc"]
    assert (entry.count, entry.deaths) == (2, 2)
    assert "ended by signal 9" in entry.reason
    assert Supervisor(settings)._restarts == load_restarts(settings), "the next supervisor goes on counting"


def test_what_keeps_dying_waits_longer_each_time_and_is_said_with_its_last_lines(
    settings: Settings, servers: Servers
) -> None:
    servers(kafka="print('no such broker'); raise SystemExit(7)")
    watch, began = Supervisor(settings), time.monotonic()
    look_until(watch, lambda: load_restarts(settings).get("kafka", ServerRestarts()).deaths == 4)
    assert time.monotonic() - began > restart_delay(2) + restart_delay(3)
    entry = load_restarts(settings)["kafka"]
    assert entry.keeps_dying and entry.count == 3 and entry.delay == restart_delay(4)
    assert "exit status 7" in entry.reason and "no such broker" in entry.reason
    told = entry.describe()
    assert "keeps dying, 4 times in a row" in told and "watchfloor up" in told and "no such broker" in told


def test_a_stopped_server_is_left_alone(settings: Settings, servers: Servers) -> None:
    made = servers()
    watch = Supervisor(settings)
    watch.restart_dead()
    pid = pid_of(made["tserver1"])
    os.kill(pid, signal.SIGSTOP)
    watch.restart_dead()
    assert pid_of(made["tserver1"]) == pid
    assert load_restarts(settings)["tserver1"].count == 1


def test_nothing_is_started_while_up_or_down_is_at_work(settings: Settings, servers: Servers) -> None:
    made = servers()
    watch = Supervisor(settings)
    with hold_stack_lock(settings, 1):
        watch.restart_dead()
        assert not any(map(pid_of, made.values()))
    save_state(settings, StackState(prepared=False))
    watch.restart_dead()
    assert not any(map(pid_of, made.values())), "a stack that was never set up is for `up`"


def test_a_taken_port_is_said_with_its_holder(settings: Settings, servers: Servers) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        made = servers(ports={"zookeeper": port})
        Supervisor(settings).restart_dead()
        entry = load_restarts(settings)["zookeeper"]
        assert f"port {port} of zookeeper is taken by process {os.getpid()}" in entry.reason
        assert (entry.count, pid_of(made["zookeeper"])) == (0, 0)
        assert pid_of(made["kafka"]), "the others are started all the same"


def test_on_a_full_disk_nothing_is_tried_and_nothing_counted(
    settings: Settings, servers: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = servers()
    watch = Supervisor(settings)
    with monkeypatch.context() as patch:
        patch.setattr(checks, "START_BYTES", 1 << 60)
        for _ in range(3):
            with pytest.raises(StackError, match="the disk is full"):
                watch.restart_dead()
    assert load_restarts(settings)["zookeeper"].deaths == 1
    watch.restart_dead()
    assert all(map(pid_of, made.values()))


def test_a_server_never_runs_without_a_pid_file(
    settings: Settings, servers: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if the process that starts it were killed in between: there would be a server that nobody finds."""
    made = servers(gc="import pathlib; pathlib.Path('ran').touch()")
    with monkeypatch.context() as patch:
        patch.setattr(process, "write_private", lambda *_: (_ for _ in ()).throw(StackError("cut off")))
        with pytest.raises(StackError, match="cut off"):
            process.start_server(made["gc"])
    time.sleep(0.5)
    assert not (settings.home / "ran").exists()
    process.start_server(made["gc"])
    until = time.monotonic() + 10
    while not (settings.home / "ran").exists() and time.monotonic() < until:
        time.sleep(0.02)
    assert (settings.home / "ran").exists()


def test_the_supervisor_is_a_small_process_that_ends_with_its_pid_file(settings: Settings) -> None:
    save_state(settings, StackState(prepared=False))
    supervised.start_supervisor(settings)
    path = supervised.supervisor_process(settings).pid_file
    first = find_process(path)
    assert first is not None and supervised.is_supervised(settings)
    log = settings.home / "log" / "supervisor.log"
    until = time.monotonic() + 20
    while not (log.exists() and "supervising" in log.read_text()) and time.monotonic() < until:
        time.sleep(0.05)
    assert "supervising" in log.read_text()
    loaded = {Path(region.path).name for region in first.memory_maps()}
    assert not {name for name in loaded if "arrow" in name or "jvm" in name or "numpy" in name}
    assert first.memory_info().rss < 60 << 20
    supervised.start_supervisor(settings)
    second = find_process(path)
    assert second is not None and second.pid != first.pid
    path.unlink()
    second.wait(10)
    assert not psutil.pid_exists(second.pid)
