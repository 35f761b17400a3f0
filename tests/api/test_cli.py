"""The command line finds commands, checks options and returns the documented exit statuses.

In `make test`: it needs no servers.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from command_line import list_commands
from rest_fakes import FakeService

from watchfloor.api.cli import main as cli
from watchfloor.api.cli.commands import counts
from watchfloor.api.cli.terminal.command_group import AddCommand
from watchfloor.api.cli.terminal.context import read_settings
from watchfloor.schema.errors import StoreError, WatchfloorError

DOCS = Path(__file__).parents[2] / "docs"
RUN = [sys.executable, "-c", "import sys; from watchfloor.api.cli.main import main; sys.exit(main())"]
pytestmark = pytest.mark.usefixtures("fake_store")


def test_help_imports_nothing_heavy() -> None:
    heavy = {
        "jpype",
        "pyarrow",
        "numpy",
        "flask",
        "rich",
        "kafka",
        "lark",
        "jsonschema",
        "watchfloor.schema.settings.settings",
    }
    code = (
        "import atexit, sys; from watchfloor.api.cli.main import main; "
        f"atexit.register(lambda: sys.stderr.write(' '.join({heavy} & set(sys.modules)))); main(['--help'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30)
    assert "COMMAND" in done.stdout
    assert not done.stderr


@pytest.mark.parametrize(
    "command", [name for name, _ in list_commands() if name.split()[:1] not in (["bench"], ["demo"])]
)
def test_every_command_has_help(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        cli.main([*command.split(), "--help"])
    assert left.value.code == 0
    assert "usage: watchfloor" in capsys.readouterr().out


def test_the_commands_are_those_of_the_design_in_their_order() -> None:
    names = [name for name, _ in list_commands() if name and " " not in name]
    order = (
        "up down status iterators sources retention export import lists master worker load compact items quarantine "
        "query count top timeline find sigma serve token metrics generate replay bench report compare calibrate demo "
        "continuous ycsb lookups"
    )
    assert names == order.split()


def test_every_file_of_commands_is_found() -> None:
    folder = Path(counts.__file__).parent
    stems = {path.stem for path in folder.glob("*.py")} - {"__init__"}
    found: list[Any] = cli.find_groups()
    assert {group.__name__.rpartition(".")[2] for group in found} >= stems
    assert len({group.POSITION for group in found}) == len(found)


def test_a_command_that_reads_its_arguments_says_so_itself() -> None:
    def register(add: AddCommand) -> None:
        add("plain", print, "parses as all do").add_argument("--number")
        add("raw", print, "reads its own", reads_arguments=True)

    line = cli.CommandLine([SimpleNamespace(POSITION=1, register=register)])  # type: ignore[list-item]
    assert line.parse(["-v", "raw", "--number", "-x", "-v"]).rest == ["--number", "-x", "-v"]
    args = line.parse(["plain", "--number", "5", "-v"])
    assert (args.number, args.rest, args.verbose) == ("5", [], 1)


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        cli.main(["--version"])
    assert left.value.code == 0
    assert capsys.readouterr().out == f"watchfloor {metadata.version('watchfloor')}\n"


def test_every_command_and_flag_is_documented() -> None:
    text = (DOCS / "using/cli.md").read_text()
    for name, parser in list_commands():
        assert f"watchfloor {name}".strip() in text, name
        for flag in (flag for action in parser._actions for flag in action.option_strings):
            assert re.search(rf"(?<![\w-]){re.escape(flag)}(?![\w-])", text), f"{name} {flag}"


@pytest.mark.parametrize("arguments", [[], ["nonsense"], ["query"], ["query", "a.b", "--colums", "x"], ["load"]])
def test_a_wrong_command_line_is_the_users_affair(arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as left:
        cli.main(arguments)
    assert left.value.code == cli.USER


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (["--where", "status ="], cli.USER),
        (["--where", "statu = 1"], cli.USER),
        (["--columns", "nothing"], cli.USER),
        (["--since", "2026-01-02", "--until", "2026-01-01"], cli.USER),
        (["--since", "soon"], cli.USER),
        (["--output", "/nonexistent/folder/file"], cli.USER),
        ([], cli.OK),
    ],
)
def test_errors_are_one_message_and_an_exit_status(
    service: FakeService, capsys: pytest.CaptureFixture[str], arguments: list[str], status: int
) -> None:
    assert cli.main(["query", "web.access", *arguments]) == status
    out, err = capsys.readouterr()
    assert (not out and err.startswith("watchfloor: ")) == (status != cli.OK)
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("error", "status"),
    [(StoreError("no answer"), 3), (KeyboardInterrupt(), 130), (WatchfloorError("odd"), 70)],
)
def test_whose_affair_an_error_is(
    service: FakeService, capsys: pytest.CaptureFixture[str], error: Any, status: int
) -> None:
    service.error = error
    assert cli.main(["query", "web.access"]) == status
    assert capsys.readouterr().err == (f"watchfloor: {error}\n" if str(error) else "")


def test_errors_cannot_speak_to_the_terminal(service: FakeService, capsys: pytest.CaptureFixture[str]) -> None:
    service.error = StoreError("bad \x1b[2J name")
    cli.main(["query", "web.access"])
    assert "\x1b" not in capsys.readouterr().err


def test_a_reader_that_has_enough_is_no_error() -> None:
    generate = subprocess.Popen(
        [*RUN, "generate", "proxy.events", "--events", "200000"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert generate.stdout is not None and generate.stderr is not None
    assert generate.stdout.read(100).startswith(b'{"ts":"')
    generate.stdout.close()
    assert generate.stderr.read() == b""
    assert generate.wait(20) == 0


def test_a_connection_that_breaks_is_an_error_while_standard_output_is_read(
    service: FakeService, capfd: pytest.CaptureFixture[str]
) -> None:
    service.error = BrokenPipeError("the other end is gone")
    assert cli.main(["query", "web.access"]) == 3
    assert "closed its connection in the middle of a request" in capfd.readouterr().err


def test_a_time_may_begin_with_a_minus(service: FakeService) -> None:
    assert cli.main(["query", "web.access", "--since", "-4h", "--until", "-1h"]) == 0
    request = service.asked[0]
    assert request.since is not None and request.until is not None
    assert request.until - request.since == 3 * 3_600_000_000


@pytest.mark.parametrize("sort", ["-status", "-status, ts", "ts"])
def test_a_sort_may_begin_with_a_minus(sort: str, service: FakeService) -> None:
    assert cli.main(["query", "web.access", "--sort", sort, "--limit", "3"]) == 0
    assert service.asked[0].sort == sort and service.asked[0].limit == 3
    assert cli.main(["query", "web.access", f"--sort={sort}", "--limit", "3"]) == 0
    assert service.asked[1].sort == sort


def test_global_options_stand_before_or_after(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    for arguments in (["--home", "h", "status"], ["status", "--home", "h"]):
        assert read_settings(cli.CommandLine(cli.find_groups()).parse(arguments)).home == tmp_path / "h"


def test_a_named_settings_file_gives_way_to_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "other.toml").write_text("port = 1111\nshards = 7\n")
    monkeypatch.setenv("WATCHFLOOR_SHARDS", "5")
    args = cli.CommandLine(cli.find_groups()).parse(["--config", "other.toml", "serve"])
    assert (read_settings(args).port, read_settings(args).shards, read_settings(args, port=2222).port) == (
        1111,
        5,
        2222,
    )
    assert cli.main(["--config", "missing.toml", "sources"]) == cli.OPERATOR


@pytest.mark.parametrize("command", ["bench", "calibrate", "continuous", "demo"])
def test_a_command_that_reads_no_config_says_so(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--config", "other.toml", command, "--help"]) == cli.USER
    assert f"`{command}` reads no --config" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["bench", "demo"])
def test_what_follows_bench_and_demo_is_theirs(monkeypatch: pytest.MonkeyPatch, command: str) -> None:
    seen: list[list[str]] = []
    module = ModuleType({"bench": "watchfloor.loadgen.suite.bench", "demo": "watchfloor.loadgen.demo.demo"}[command])
    module.main = lambda argv: seen.append(argv) or 4  # type: ignore[attr-defined,func-returns-value]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setenv("WATCHFLOOR_HOME", "before")
    assert cli.main(["--home", "here", "-v", command, "ceiling", "--json", "f", "--help", "-v"]) == 4
    assert seen == [["ceiling", "--json", "f", "--help", "-v"]]
    assert os.environ["WATCHFLOOR_HOME"] == "here"
