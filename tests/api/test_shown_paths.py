"""Commands that need no stack show any path as printable text, and take what they have shown as an input.

In `make test`: it needs no servers.
"""

from __future__ import annotations

import io
import json
import logging
import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import pytest

from watchfloor.api.cli import main as cli
from watchfloor.api.cli.commands.stack import format_status
from watchfloor.api.formats.visible import escape_line_controls
from watchfloor.loadgen.report import report
from watchfloor.schema.definition import builtin_definitions
from watchfloor.schema.files.paths import show_path
from watchfloor.store.stack.status import StackStatus

NAMES = {
    "no UTF-8": b"caf\xe9-\xff",
    "terminal": b"\x1b]0;owned\x07\x1b[2J",
    "C1": "c1\x9b31m\u202e".encode(),
    "newline": b"two\nlines\r",
    "backslash": b"a\\xff\\\xe9",
}
WATCHFLOOR = [sys.executable, "-m", "watchfloor.api.cli.main"]


@dataclass(frozen=True)
class Printed:
    """A command's exit status, and what it has printed."""

    status: int
    out: str
    err: str

    @property
    def text(self) -> str:
        return self.out + self.err


@pytest.fixture(params=NAMES.values(), ids=NAMES)
def path(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """A path with a name that no terminal should get raw; nothing is there yet."""
    return tmp_path / os.fsdecode(request.param)


@pytest.fixture(autouse=True)
def surroundings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("WATCHFLOOR_")]:
        monkeypatch.delenv(name)


def run_command(*arguments: str | Path) -> Printed:
    """Runs a command with streams that encode as those of a process do, and checks what it prints."""
    out = io.TextIOWrapper(io.BytesIO(), "utf-8", newline="")
    err = io.TextIOWrapper(io.BytesIO(), "utf-8", "backslashreplace", newline="")
    with redirect_stdout(out), redirect_stderr(err):
        try:
            status = cli.main([str(argument) for argument in arguments])
        except SystemExit as end:
            status = int(str(end.code))
        out.flush()
        err.flush()
    texts = [stream.buffer.getvalue().decode() for stream in (out, err)]  # type: ignore[attr-defined]
    return check_harmless(Printed(status, *texts))


def run_process(folder: Path, *arguments: str | Path) -> Printed:
    """Runs a command in a process of its own, where it logs to standard error, and checks what it prints."""
    done = subprocess.run([*WATCHFLOOR, *arguments], capture_output=True, cwd=folder, timeout=60)
    return check_harmless(Printed(done.returncode, done.stdout.decode(), done.stderr.decode()))


def check_harmless(printed: Printed) -> Printed:
    assert all(c == "\n" or c.isprintable() for c in printed.text), printed
    assert "\\udc" not in printed.text and "Traceback" not in printed.text, printed
    return printed


def write_definition(path: Path) -> None:
    path.write_text(json.dumps(builtin_definitions()["web.access"].definition))


def write_log(path: Path) -> None:
    path.write_text('192.0.2.1 - - [08/Jan/2026:12:00:00 +0000] "GET / HTTP/1.1" 200 5\n')


def write_settings(path: Path) -> None:
    path.write_text("shards = 5\n")


@pytest.mark.parametrize(
    ("write", "before", "after", "status"),
    [
        (write_definition, ["sources", "check"], [], 0),
        (write_log, ["replay"], ["--rate", "1000"], 0),
        (write_settings, ["--config"], ["down"], 0),
        (Path.mkdir, ["--home"], ["down"], 0),
        (Path.mkdir, ["report"], [], 2),
        (Path.mkdir, ["compare"], ["none"], 2),
    ],
    ids=["sources check", "replay", "--config", "--home", "report", "compare"],
)
def test_a_path_is_taken_as_it_is_and_as_it_is_shown(
    write: Callable[[Path], None], before: list[str], after: list[str], status: int, path: Path
) -> None:
    write(path)
    answers = [run_command(*before, given, *after) for given in (path, show_path(path))]
    for printed in answers:
        assert printed.status == status, printed
        assert "cannot be read" not in printed.err and "is not a folder" not in printed.err
        if before[0] not in ("replay", "--config"):
            assert show_path(path) in printed.text
    if before != ["replay"]:
        assert answers[0] == answers[1]


@pytest.mark.parametrize(
    "arguments",
    [
        ["sources", "check", "{}"],
        ["sources", "infer", "{}"],
        ["sources", "try", "{}", "{}"],
        ["replay", "{}", "--rate", "5"],
        ["--config", "{}", "down"],
        ["--home", "{}", "down"],
        ["--home", "{}", "status"],
        ["report", "{}"],
        ["compare", "{}", "{}"],
        ["generate", "proxy.events", "--events", "1", "--out", "{}/none"],
        ["generate", "proxy.events", "--events", "1", "--rate", "5", "--out", "{}/none"],
        ["bench", "all", "--out", "{}", "--only", "none"],
        ["down", "{}"],
        ["bench", "none", "{}"],
    ],
    ids=" ".join,
)
def test_a_path_of_nothing_is_shown(arguments: list[str], path: Path) -> None:
    printed = run_command(*(text.replace("{}", str(path)) for text in arguments))
    if arguments[:2] not in (["bench", "all"], ["bench", "none"]) and arguments != ["down", "{}"]:
        assert show_path(path) in printed.text
    assert printed.status != 70


@pytest.mark.parametrize("content", ["shards = ", "shards = 0", "zzz = 1", "partitions = 'a'"])
def test_a_bad_settings_file_is_named(content: str, path: Path) -> None:
    path.mkdir()
    (path / "watchfloor.toml").write_text(content)
    printed = run_command("--home", path, "status")
    assert printed.status == 3 and show_path(path) in printed.err


def test_the_page_of_a_report_is_shown(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report, "write_report", lambda folder: folder / "report.html")
    assert run_command("report", path).out == f"{show_path(path)}/report.html\n"


def test_what_is_ignored_is_named(tmp_path: Path) -> None:
    path = tmp_path / os.fsdecode(NAMES["terminal"] + NAMES["no UTF-8"])
    path.mkdir()
    (path / "watchfloor.toml").write_text("jars = '/tmp/planted'\n")
    printed = run_process(path, "down")
    assert f"{show_path(path)}/watchfloor.toml, jars is ignored" in printed.err
    (path / "watchfloor.toml").chmod(0o666)
    for arguments in (["down"], ["--config", path / "watchfloor.toml", "down"]):
        assert f"every user may write to {show_path(path)}/watchfloor.toml" in run_process(path, *arguments).err


def test_the_status_for_programs_has_the_shown_form(path: Path) -> None:
    status = json.loads(run_command("--home", path, "status", "--json").out)
    assert status["home"] == show_path(path)
    assert show_path(path) in status["problems"][0]


def test_secrets_and_tokens_are_named(path: Path) -> None:
    secret = path / "secret"
    secret.mkdir(parents=True, mode=0o700)
    (secret / "tokens.json").write_text("{")
    for mode, reason in ((0o644, "chmod 600 it"), (0o600, "is damaged")):
        (secret / "tokens.json").chmod(mode)
        for command in (["token", "list"], ["token", "revoke", "a"], ["status"]):
            printed = run_command("--home", path, *command)
            assert printed.status == 3 and f"{show_path(secret)}/tokens.json" in printed.text and reason in printed.text


def test_problems_of_servers_are_made_visible() -> None:
    problem = "gc: stopped; its log says \x1b[31mred\udce9"
    lines = format_status(StackStatus("/home", problems=(problem,)))
    assert escape_line_controls(lines[-1]) == "problem: gc: stopped; its log says \\x1b[31mred\\xe9"


def test_what_is_logged_is_made_visible() -> None:
    record = logging.makeLogRecord({"msg": "at %s", "args": ("a\x1b\udcff\u202e",)})
    assert cli._VisibleFormatter("%(message)s").format(record) == "at a\\x1b\\xff\\u202e"
