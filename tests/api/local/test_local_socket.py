"""The local socket: who is answered, whom a command asks, and what happens to sockets that nobody listens on.

In `make test`: it needs no servers.
"""

from __future__ import annotations

import dataclasses
import os
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from local_service import no_store, print_command, serve_commands
from rest_fakes import FakeService

from watchfloor.api.cli import main as cli
from watchfloor.api.cli.reading import identity
from watchfloor.api.cli.reading.ask_service import SOCKET
from watchfloor.schema.files import code_state
from watchfloor.schema.files.code_state import CodeState
from watchfloor.schema.settings.load import load_settings
from watchfloor.store.runtime.local_socket import FOLDER, connect_locally

pytestmark = pytest.mark.usefixtures("fake_store")
COUNT = ("count", "web.access")
NOBODY = 65534
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can act as another user")


@pytest.fixture
def other() -> FakeService:
    """The service's store; the command's own is ``service``."""
    found = FakeService()
    found.count_events = lambda *_: 77  # type: ignore[method-assign]
    return found


def is_asked(home: Path) -> bool:
    """Returns whether a command asks the service."""
    status, out, err = print_command(home, COUNT)
    assert (status, err) == (cli.OK, "")
    return {b"77\n": True, b"5\n": False}[out]


def test_the_socket_is_private_and_goes_with_the_service(other: FakeService, tmp_path: Path) -> None:
    with serve_commands(other, tmp_path):
        path = tmp_path / FOLDER / SOCKET
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
        assert stat.S_IMODE(path.lstat().st_mode) == 0o600
        assert is_asked(tmp_path)
    assert not path.exists()
    assert not is_asked(tmp_path)


def test_a_folder_with_a_long_name_has_a_socket_too(other: FakeService, tmp_path: Path) -> None:
    home = tmp_path / ("long" * 40)
    with serve_commands(other, home):
        assert is_asked(home)


def test_a_socket_that_was_left_behind_is_replaced(other: FakeService, tmp_path: Path) -> None:
    (tmp_path / FOLDER).mkdir(mode=0o700)
    with socket.socket(socket.AF_UNIX) as killed:
        killed.bind(str(tmp_path / FOLDER / SOCKET))
        (tmp_path / FOLDER / SOCKET).chmod(0o600)
    assert not is_asked(tmp_path)
    with serve_commands(other, tmp_path):
        assert is_asked(tmp_path)


def test_a_second_service_leaves_the_socket_to_the_first(other: FakeService, tmp_path: Path) -> None:
    with serve_commands(other, tmp_path):
        with serve_commands(FakeService(), tmp_path):
            assert is_asked(tmp_path)
        assert is_asked(tmp_path)


def test_a_socket_elsewhere_is_not_asked(other: FakeService, tmp_path: Path) -> None:
    real, home = tmp_path / "real", tmp_path / "home"
    with serve_commands(other, real):
        (home / FOLDER).mkdir(parents=True, mode=0o700)
        (home / FOLDER / SOCKET).symlink_to(real / FOLDER / SOCKET)
        assert not is_asked(home)
        (home / FOLDER / SOCKET).unlink()
        (home / FOLDER).rmdir()
        (home / FOLDER).symlink_to(real / FOLDER)
        assert not is_asked(home)


def test_the_reason_why_a_service_is_not_asked_is_logged(
    other: FakeService, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "watchfloor.store.runtime")
    assert not is_asked(tmp_path)
    assert not caplog.messages, "that no service runs is nothing to tell"
    with serve_commands(other, tmp_path):
        (tmp_path / FOLDER / SOCKET).chmod(0o666)
        assert not is_asked(tmp_path)
        assert [line for line in caplog.messages if str(tmp_path) in line and "other users may reach it" in line]


@pytest.mark.parametrize("name", ["", SOCKET])
def test_what_others_can_reach_is_not_asked(other: FakeService, tmp_path: Path, name: str) -> None:
    with serve_commands(other, tmp_path):
        path = tmp_path / FOLDER / name
        path.chmod(stat.S_IMODE(path.stat().st_mode) | 0o010)
        assert not is_asked(tmp_path)


def test_a_folder_that_others_can_reach_gets_no_socket(other: FakeService, tmp_path: Path) -> None:
    (tmp_path / FOLDER).mkdir()
    (tmp_path / FOLDER).chmod(0o755)
    with serve_commands(other, tmp_path):
        assert not (tmp_path / FOLDER / SOCKET).exists()


@as_root
@pytest.mark.parametrize("name", ["", SOCKET])
def test_what_belongs_to_another_user_is_not_asked(other: FakeService, tmp_path: Path, name: str) -> None:
    with serve_commands(other, tmp_path):
        os.chown(tmp_path / FOLDER / name, NOBODY, NOBODY)
        assert not is_asked(tmp_path)


@as_root
def test_a_process_of_another_user_at_the_socket_is_not_asked(tmp_path: Path) -> None:
    (tmp_path / FOLDER).mkdir(mode=0o700)
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(str(tmp_path / FOLDER / SOCKET))
    (tmp_path / FOLDER / SOCKET).chmod(0o600)
    # The credentials of a listening socket are those of the process when it began to listen.
    code = "import os, socket, sys; os.setuid(65534); s = socket.socket(fileno=int(sys.argv[1])); s.listen(); input()"
    number = str(listening.fileno())
    with subprocess.Popen([sys.executable, "-c", code, number], pass_fds=[listening.fileno()], stdin=-1) as process:
        with socket.socket(socket.AF_UNIX) as probe:
            while probe.connect_ex(str(tmp_path / FOLDER / SOCKET)) != 0:
                assert process.poll() is None
        assert connect_locally(tmp_path, SOCKET) is None
        process.communicate(b"\n")
    listening.close()


@as_root
def test_another_user_gets_no_answer(other: FakeService, tmp_path: Path) -> None:
    code = (
        "import os, socket, sys; os.setuid(65534); s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); "
        "s.sendall(b'GET / HTTP/1.0\\r\\n\\r\\n'); print(s.recv(100))"
    )
    for folder in reversed((tmp_path / FOLDER).parents):
        folder.chmod(folder.stat().st_mode | 0o011) if folder.is_relative_to(tmp_path.parents[2]) else None
    with serve_commands(other, tmp_path):
        command = [sys.executable, "-c", code, str(tmp_path / FOLDER / SOCKET)]
        closed = subprocess.run(command, capture_output=True, text=True, timeout=30)
        assert "PermissionError" in closed.stderr
        (tmp_path / FOLDER).chmod(0o711)
        (tmp_path / FOLDER / SOCKET).chmod(0o666)
        reached = subprocess.run(command, capture_output=True, text=True, timeout=30)
        assert reached.stdout in ("b''\n", "") and "HTTP" not in reached.stdout
        assert reached.stdout or "Connection" in reached.stderr or "Broken" in reached.stderr


@pytest.mark.parametrize(
    ("name", "value", "asked"),
    [
        ("WATCHFLOOR_QUERY_USER", "somebody", False),
        ("WATCHFLOOR_BATCH_EVENTS", "17", False),
        ("WATCHFLOOR_PORT", "1234", True),
        ("WATCHFLOOR_JVM_HEAP", "300m", True),
    ],
)
def test_a_service_with_other_settings_is_not_asked(
    other: FakeService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: str, asked: bool
) -> None:
    with serve_commands(other, tmp_path):
        monkeypatch.setenv(name, value)
        assert is_asked(tmp_path) is asked


def test_each_setting_is_known_to_change_an_answer_or_not(tmp_path: Path) -> None:
    settings = load_settings(home=tmp_path)
    names = {field.name for field in dataclasses.fields(settings)}
    assert names >= identity.UNRELATED
    assert {name for name in identity.describe_identity(settings) if name[0] != "("} == {
        *("home", "jars", "cluster_properties", "zookeeper_user", "zookeeper_password", "kafka_bootstrap"),
        *("kafka_user", "kafka_password", "kafka_protocol", "kafka_authority", "ingest_user", "ingest_password"),
        *("ingest_keytab", "query_user", "query_password", "query_keytab", "kerberos_config", "hadoop_conf"),
        *("queue_key", "batch_events"),
    }


def test_a_service_of_older_code_is_not_asked(
    other: FakeService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serve_commands(other, tmp_path):
        assert is_asked(tmp_path)
        monkeypatch.setattr(CodeState, "is_old", True)
        assert not is_asked(tmp_path)


def test_code_is_old_once_a_file_has_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(code_state, "_TRUST_SECONDS", -1.0)
    deep = tmp_path / "query" / "deep"
    deep.mkdir(parents=True)
    (deep / "a.py").write_text("1")
    state = CodeState(("schema", "query"), tmp_path)
    (deep / "notes.txt").write_text("no code")
    assert not state.is_old
    (deep / "b.py").write_text("2")
    assert state.is_old
    state = CodeState(("schema", "query"), tmp_path)
    (deep / "a.py").write_text("12")
    assert state.is_old
    (deep / "a.py").write_text("1")
    assert state.is_old, "what was loaded in between is not known"


@pytest.mark.parametrize("line", [("--limit", str(2**60)), ("--deadline", "nan"), ("--columns", "\udcff")])
def test_what_json_cannot_say_is_not_asked(
    service: FakeService, other: FakeService, tmp_path: Path, line: tuple[str, ...]
) -> None:
    printed = print_command(tmp_path, ("query", "web.access", *line))
    with serve_commands(other, tmp_path):
        assert print_command(tmp_path, ("query", "web.access", *line)) == printed
    assert not other.asked


def test_a_busy_service_is_not_waited_for(service: FakeService, other: FakeService, tmp_path: Path) -> None:
    with serve_commands(other, tmp_path), no_store():
        assert is_asked(tmp_path)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / FOLDER / SOCKET))
        (tmp_path / FOLDER / SOCKET).chmod(0o600)
        listening.listen()
        listening.shutdown(socket.SHUT_RDWR)
        assert not is_asked(tmp_path), "it has ended before it answered"
