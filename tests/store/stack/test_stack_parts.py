"""The stack's parts work without a stack: pid files, errors, and checks before a start.

In `make test`: it needs no servers.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from watchfloor.schema.errors import StackError
from watchfloor.schema.settings.settings import Settings
from watchfloor.store.runtime import java_home
from watchfloor.store.stack.home import checks as stack_checks
from watchfloor.store.stack.home.home_folder import make_folders, make_secrets
from watchfloor.store.stack.home.stack_state import grow_state
from watchfloor.store.stack.servers import process as stack_process
from watchfloor.store.stack.servers.configuration import write_configuration
from watchfloor.store.stack.servers.process import Server
from watchfloor.store.stack.stack import read_status, start_stack, stop_stack


def make_server(home: Path, code: str) -> Server:
    """A Python process in a server's place; it answers as soon as the file ``ready`` is there."""
    for folder in ("run", "log"):
        (home / folder).mkdir(exist_ok=True)
    command = (sys.executable, "-c", code)
    return Server("thing", command, home, {"thing": 1}, is_ready=lambda port: (home / "ready").exists())


@pytest.fixture
def sleeper(tmp_path: Path) -> Iterator[Server]:
    server = make_server(tmp_path, "import time; time.sleep(60)")
    stack_process.start_server(server)
    yield server
    stack_process.stop_process(server.pid_file, 0)


def test_a_server_is_found_by_its_pid_file_until_it_ends(sleeper: Server) -> None:
    assert stack_process.read_state(sleeper) == "not answering"
    (sleeper.home / "ready").touch()
    assert stack_process.read_state(sleeper) == "running"
    stack_process.send_signal(sleeper.pid_file, signal.SIGKILL)
    deadline = time.monotonic() + 5
    while stack_process.find_process(sleeper.pid_file) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert stack_process.read_state(sleeper) == "died"
    sleeper.pid_file.unlink()
    assert stack_process.read_state(sleeper) == "stopped"


def test_a_pid_that_was_given_to_another_process_is_not_mistaken(tmp_path: Path) -> None:
    pid_file = tmp_path / "thing.json"
    pid_file.write_text(json.dumps({"pid": os.getpid(), "started": time.time() - 1e6}))
    assert stack_process.find_process(pid_file) is None
    assert stack_process.stop_process(pid_file, 1)
    assert not pid_file.exists()


@pytest.mark.parametrize(
    "text", ["", "{", "7", '{"pid": "x", "started": 1}', '{"pid": 0}', '{"pid": -5, "started": 1}']
)
def test_a_damaged_pid_file_names_nothing(tmp_path: Path, text: str) -> None:
    pid_file = tmp_path / "thing.json"
    pid_file.write_text(text)
    assert stack_process.find_process(pid_file) is None


def test_a_server_that_ends_at_once_is_told_with_its_last_lines(tmp_path: Path) -> None:
    server = make_server(tmp_path, "print('bad luck'); raise SystemExit(3)")
    with pytest.raises(StackError, match=r"thing ended (.|\n)*bad luck"):
        stack_process.start_server(server)
        stack_process.await_ready(server, time.monotonic() + 10)


def test_waiting_for_an_answer_is_bounded(sleeper: Server) -> None:
    started = time.monotonic()
    with pytest.raises(StackError, match="does not answer on port 1"):
        stack_process.await_ready(sleeper, time.monotonic() + 0.3)
    assert time.monotonic() - started < 3


def test_a_process_that_ignores_sigterm_is_killed(tmp_path: Path) -> None:
    code = (
        "import pathlib, signal, time; signal.signal(15, signal.SIG_IGN); pathlib.Path('ready').touch(); time.sleep(60)"
    )
    server = make_server(tmp_path, code)
    stack_process.start_server(server)
    stack_process.await_ready(server, time.monotonic() + 10)
    assert not stack_process.stop_process(server.pid_file, 0.2)
    assert stack_process.read_state(server) == "stopped"


def test_a_taken_port_is_named_with_its_holder() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        with pytest.raises(StackError, match=f"port {port} of kafka is taken by process {os.getpid()} "):
            stack_checks.check_ports({"kafka": port})
        assert port not in stack_checks.find_free_ports(5, taken={port})
    stack_checks.check_ports({"kafka": port})


def test_nobody_else_draws_a_held_port_and_servers_may_listen_on_it(monkeypatch: pytest.MonkeyPatch) -> None:
    with ExitStack() as held:
        (port,) = stack_checks.find_free_ports(1, held=held)
        monkeypatch.setattr(stack_checks, "_PORTS", range(port, port + 1))
        with pytest.raises(StackError, match="no free ports left"):
            stack_checks.find_free_ports(1)
        # Python's servers set the option that Java's set.
        with socket.create_server(("127.0.0.1", port)), pytest.raises(StackError, match="is taken by process"):
            stack_checks.check_ports({"kafka": port})
        stack_checks.check_ports({"kafka": port})
    assert stack_checks.find_free_ports(1) == [port]


def test_short_memory_and_disk_are_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(StackError, match="not enough memory: the servers to start may use 1048576 MiB"):
        stack_checks.check_memory(1 << 40)
    monkeypatch.setattr(stack_checks, "START_BYTES", 1 << 60)
    with pytest.raises(StackError, match=r"the disk is full: .* are free .* then run `watchfloor up`"):
        stack_checks.check_room_for_servers(tmp_path)


def test_a_missing_or_wrong_java_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text("#!/bin/sh\n")
    java.chmod(0o755)
    (tmp_path / "release").write_text('JAVA_VERSION="25.0.1"\n')
    monkeypatch.setattr(java_home, "_list_java_homes", lambda: iter([tmp_path, tmp_path / "none"]))
    with pytest.raises(StackError, match=r"Java 17 or 21 is wanted .* is 25, .*none is not a JDK"):
        java_home.find_java()
    (tmp_path / "release").write_text('JAVA_VERSION="21.0.4"\n')
    assert java_home.find_java() == tmp_path


def test_missing_jars_are_said_before_anything_starts(tmp_path: Path) -> None:
    with pytest.raises(StackError, match="run `make setup`"):
        start_stack(Settings(home=tmp_path / "home", jars=tmp_path))
    assert not list((tmp_path / "home/run").glob("*.json"))


def test_a_folder_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StackError, match=r"cannot be written: .*choose another --home"):
        start_stack(Settings(home=tmp_path / "file" / "home"))


def test_damaged_memory_of_a_stack_is_said(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path)
    make_folders(settings)
    (settings.conf_folder / "stack.json").write_text('{"ports": {}, "unheard": 1}')
    with pytest.raises(StackError, match=r"stack\.json is damaged"):
        start_stack(settings)


def test_a_cluster_of_others_is_neither_started_nor_stopped(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path, cluster_properties=Path("/etc/accumulo-client.properties"))
    for change in (start_stack, stop_stack):
        with pytest.raises(StackError, match="not ours to start or stop"):
            change(settings)


def test_without_a_stack_down_and_status_say_so(tmp_path: Path) -> None:
    lines: list[str] = []
    stop_stack(Settings(home=tmp_path), lines.append)
    assert lines == [f"no stack in {tmp_path}"]
    found = read_status(Settings(home=tmp_path))
    assert not found.is_healthy
    assert "run `watchfloor up`" in found.problems[0]


def test_data_that_no_stack_file_knows_is_not_removed(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path)
    (tmp_path / "data/accumulo/wal").mkdir(parents=True)
    with pytest.raises(StackError, match="move the data away"):
        start_stack(settings)
    assert (tmp_path / "data/accumulo/wal").exists()
    assert not list((tmp_path / "run").glob("zookeeper.json"))
    stop_stack(settings)


def test_ports_stay_and_new_servers_get_new_ones() -> None:
    one = grow_state(None, 1)
    three = grow_state(one, 3)
    assert one.ports.items() <= three.ports.items()
    assert len(set(three.ports.values())) == len(three.ports) == 8


def test_the_write_ahead_log_never_forces_flushes_before_memory_does(tmp_path: Path) -> None:
    for maps in ("32m", "256m", "2048m"):
        settings = Settings(home=tmp_path, tserver_maps=maps)
        make_folders(settings)
        make_secrets(settings)
        write_configuration(settings, grow_state(None, 1), native=tmp_path)
        lines = dict(
            line.split("=", 1) for line in (settings.conf_folder / "accumulo.properties").read_text().splitlines()
        )
        assert 3 * int(lines["tserver.wal.max.size"]) >= int(lines["tserver.memory.maps.max"])
    assert oct((settings.conf_folder / "accumulo.properties").stat().st_mode & 0o777) == "0o600"
