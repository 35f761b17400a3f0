"""A stack of this module's own survives interruption, repeated starts, crashes and repair, and stops cleanly.

In `make soak`: a stack is started, killed, repaired and stopped several times, for more than a minute.
"""

from __future__ import annotations

import json
import os
import re
import socket
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace

import psutil
import pytest
from client_process import QUEUE, READ, WRITE, run_client

from watchfloor.schema.errors import StackError
from watchfloor.schema.settings.load import load_settings
from watchfloor.schema.settings.settings import Settings
from watchfloor.store.runtime.metrics_port import targets_folder
from watchfloor.store.stack import stack, starting
from watchfloor.store.stack.home.stack_state import StackState, grow_state
from watchfloor.store.stack.servers import command as stack_command
from watchfloor.store.stack.servers import process as stack_process
from watchfloor.store.stack.servers.stack_servers import StackServers
from watchfloor.store.stack.stack import read_status, start_stack, stop_stack
from watchfloor.store.stack.supervision.supervised import stop_supervisor

pytestmark = [pytest.mark.stack, pytest.mark.soak]
SERVERS = {"zookeeper", "manager", "tserver1", "gc", "kafka"}
PROCESSES = SERVERS | {"supervisor"}


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Settings]:
    small = {
        "tserver_heap": "256m",
        "tserver_maps": "64m",
        "manager_heap": "128m",
        "kafka_heap": "256m",
        "topic": "t",
        "metrics": "on",
    }
    settings = load_settings(tmp_path_factory.mktemp("stack") / "home", small)
    try:
        yield settings
    finally:
        stop_stack(settings)


@pytest.fixture
def running(settings: Settings) -> Settings:
    start_stack(settings)
    return settings


def pids(settings: Settings) -> dict[str, int]:
    return {path.stem: json.loads(path.read_text())["pid"] for path in (settings.home / "run").glob("*.json")}


def test_an_init_that_was_interrupted_is_made_good(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(settings: Settings, name: str, *arguments: object, **more: object) -> str:
        if name == "init":
            ran = stack_command.run_command(settings, name, *arguments, **more)  # type: ignore[arg-type]
            assert (settings.home / "data/accumulo").is_dir()
            raise StackError(f"cut off after {ran!r}")
        return stack_command.run_command(settings, name, *arguments, **more)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(starting, "run_command", interrupted)
        with pytest.raises(StackError, match="cut off"):
            start_stack(settings)
    start_stack(settings)
    assert set(pids(settings)) == PROCESSES
    found = read_status(settings)
    assert found.problems == ()
    assert {s.name for s in found.servers} == PROCESSES
    assert all(s.memory > 1 << 20 and s.uptime > 0 for s in found.servers)
    assert {t.name for t in found.tables} >= {"accumulo.root", "accumulo.metadata"}


def test_up_on_a_running_stack_does_nothing(running: Settings) -> None:
    before, started = pids(running), time.monotonic()
    lines: list[str] = []
    start_stack(running, report=lines.append)
    assert time.monotonic() - started < 3
    assert lines == ["the stack is running already"]
    assert pids(running) == before


def test_all_ports_are_on_the_loopback_address_only(running: Settings) -> None:
    for pid in (pid for name, pid in pids(running).items() if name in SERVERS):
        listening = [c for c in psutil.Process(pid).net_connections("inet") if c.status == psutil.CONN_LISTEN]
        assert listening
        assert {c.laddr.ip.removeprefix("::ffff:") for c in listening} == {"127.0.0.1"}


def test_secrets_are_private_and_not_in_any_command_line(running: Settings) -> None:
    files = list(running.secret_folder.iterdir())
    assert {path.name for path in files} > {"root.password", "query.password", "kafka.password", "queue.key"}
    commands = " ".join(" ".join(psutil.Process(pid).cmdline()) for pid in pids(running).values())
    for path in files:
        assert path.stat().st_mode & 0o777 == 0o600
        assert path.read_text().strip() not in commands
    assert (running.conf_folder / "accumulo.properties").stat().st_mode & 0o777 == 0o600


def test_sizes_follow_the_machine_and_stay_while_servers_run(
    running: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    unset, heaps = replace(running, tserver_heap="", standing_workers="0", calibration="off"), list[str]()

    def start(memory: int, small: bool | None = None) -> str:
        """Starts the stack on a machine with so much memory and returns the heap of the tablet server."""
        monkeypatch.setattr(stack, "measure_machine", lambda: (memory, 2))
        start_stack(unset, small=small)
        return heaps.pop() if heaps else read_heap(psutil.Process(pids(unset)["tserver1"]).cmdline())

    def read_heap(command: Sequence[str]) -> str:
        (heap,) = re.findall(r"-Xmx(\S+)", " ".join(command))
        return str(heap)

    def note_heap(settings: Settings, state: StackState, servers: StackServers, report: object) -> None:
        heaps.append(read_heap(servers.tservers[0].command))

    stop_stack(unset)
    assert start(7 << 30, small=False) == "1152m"
    assert start(32 << 30) == "1152m"
    found = read_status(unset)
    assert found.sizes["tserver_heap"] == "1152m" and found.sizes["tserver_maps"] == "64m" and not found.small
    stop_stack(unset)
    # With what a tablet server would be started is enough from here on.
    monkeypatch.setattr(stack, "start_servers", note_heap)
    monkeypatch.setattr(stack, "start_supervisor", lambda settings: None)
    assert start(7 << 30, small=True) == "768m"
    assert start(32 << 30) == "768m" and read_status(unset).small


@pytest.mark.crash
def test_a_killed_tablet_server_is_started_again_and_has_lost_nothing(running: Settings) -> None:
    """Without the supervisor, by ``up``."""
    run_client(running, WRITE)
    stop_supervisor(running)
    killed = pids(running)["tserver1"]
    process = psutil.Process(killed)
    process.kill()
    process.wait(10)
    found = read_status(running)
    assert found.problems[0] == "tserver1: died"
    lines: list[str] = []
    start_stack(running, report=lines.append)
    assert "restarting tserver1" in lines
    assert set(pids(running)) == PROCESSES
    assert pids(running)["tserver1"] != killed
    assert run_client(running, READ) == "1000"


def test_a_taken_port_is_said_and_down_and_up_keep_the_data(running: Settings) -> None:
    run_client(running, WRITE)
    assert run_client(running, QUEUE) == "0"
    before = pids(running)
    stop_stack(running)
    assert not pids(running) and not list(targets_folder(running).iterdir())
    assert not any(psutil.pid_exists(pid) for pid in before.values())
    assert {s.state for s in read_status(running).servers} == {"stopped"}

    port = json.loads((running.conf_folder / "stack.json").read_text())["ports"]["kafka"]
    with socket.create_server(("127.0.0.1", port)):
        with pytest.raises(StackError, match=f"port {port} of kafka is taken by process {os.getpid()}"):
            start_stack(running)
        assert not pids(running)

    # A pid file of before a reboot: the pid is now somebody else's, who must not be taken for the server or stopped.
    stale = running.home / "run" / "gc.json"
    stale.write_text(json.dumps({"pid": os.getpid(), "started": 1.0}))
    start_stack(running)
    assert set(pids(running)) == PROCESSES
    assert pids(running)["gc"] != os.getpid()
    assert run_client(running, READ) == "1000"
    assert run_client(running, QUEUE) == "0"


def test_a_second_stack_has_other_ports(running: Settings) -> None:
    ours = json.loads((running.conf_folder / "stack.json").read_text())["ports"]
    theirs = grow_state(None, 3).ports
    assert not set(ours.values()) & set(theirs.values())


def test_down_leaves_nothing_behind(settings: Settings) -> None:
    start_stack(settings)
    home = str(settings.home)
    stop_stack(settings)
    left = [p.pid for p in psutil.process_iter(["cmdline"]) if home in " ".join(p.info["cmdline"] or [])]
    assert left == []
    assert stack_process.find_process(settings.home / "run/kafka.json") is None
