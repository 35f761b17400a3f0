"""A running service answers the commands of its user as they would answer themselves, byte for byte.

In `make test`: it needs no servers.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from local_service import client_environment, no_store, print_command, serve_commands
from rest_fakes import FakeService, FakeServices, events

from watchfloor.api.cli import main as cli
from watchfloor.api.cli.commands import counts, ingest
from watchfloor.api.cli.commands import events as query_command
from watchfloor.api.rest.base.limits import RestLimits
from watchfloor.api.rest.base.stream import AnswerLimits
from watchfloor.schema.errors import InternalError, StoreError

pytestmark = pytest.mark.usefixtures("fake_store")
SOURCE = "web.access"
RUN = [sys.executable, "-c", "import sys; from watchfloor.api.cli.main import main; sys.exit(main())"]
RIGHT = (
    ("query", SOURCE),
    ("query", SOURCE, "--limit", "3", "--since", "-4h"),
    ("query", SOURCE, "--columns", "status,path", "--where", "status = 404"),
    ("query", SOURCE, "--where", "path = 'é'", "--scheme", "scan", "--w", "5", "--planner", "paper"),
    ("query", SOURCE, "--own-columns"),
    ("query", SOURCE, "--sort", "-status", "--limit", "2", "--deadline", "5"),
    ("query", SOURCE, "--stats", "count() by status"),
    ("top", SOURCE, "client"),
    ("top", SOURCE, "client", "--limit", "1", "--ascending"),
    ("timeline", SOURCE),
    ("timeline", SOURCE, "--bucket", "day", "--field", "status", "--value", "200"),
    ("find", "192.0.2.1", "--kind", "ip", "--sources", "*"),
)
PLAIN = (
    ("query", SOURCE, "--explain"),
    ("query", SOURCE, "--stats", "count() by status", "--explain"),
    ("count", SOURCE),
    ("count", SOURCE, "--field", "status", "--value", "404", "--since", "2026-01-01"),
    ("count", SOURCE, "--where", "status = 404"),
)
WRONG = (
    ("query", "web.acces"),
    ("query", SOURCE, "--where", "status ="),
    ("query", SOURCE, "--where", "statu = 1"),
    ("query", SOURCE, "--columns", "nothing"),
    ("query", SOURCE, "--since", "soon"),
    ("query", SOURCE, "--since", "2026-01-02", "--until", "2026-01-01"),
    ("query", SOURCE, "--stats", "count() by"),
    ("query", SOURCE, "--stats", "count()", "--limit", "3"),
    ("query", SOURCE, "--output", "/nonexistent/folder/file"),
    ("top", SOURCE, "client", "--limit", "0"),
    ("top", SOURCE, "path"),
    ("count", SOURCE, "--field", "status"),
    ("find", "192.0.2.1", "--sources", "zzz"),
)


def lines() -> Iterator[tuple[tuple[str, ...], bool]]:
    """Yields command lines, and whether they print to a terminal."""
    for line in RIGHT:
        forms = ("ndjson", "csv", "table", "arrow") if line[0] == "query" else ("ndjson", "csv", "table")
        yield from (((*line, "--format", form), terminal) for form in forms for terminal in (False, True))
    yield from ((line, terminal) for line in (*RIGHT, *PLAIN, *WRONG) for terminal in (False, True))


@pytest.mark.parametrize("width", ["200", "37"])
def test_a_command_prints_the_same_with_a_service(
    service: FakeService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, width: str
) -> None:
    service.batches = [events(0, 2), events(0, 0), events(2, 9), events(11, 40)]
    monkeypatch.setenv("COLUMNS", width)
    alone = {key: print_command(tmp_path, *key) for key in lines()}
    assert {status for status, _, _ in alone.values()} == {cli.OK, cli.USER}
    with serve_commands(service, tmp_path), no_store():
        for key, printed in alone.items():
            if print_command(tmp_path, *key) != printed:
                assert print_command(tmp_path, *key) == printed, key


def test_batches_of_many_rows_are_not_cut(service: FakeService, tmp_path: Path) -> None:
    service.batches = [events(0, 10_000), events(10_000, 5_000)]
    alone = {form: print_command(tmp_path, ("query", SOURCE, "--format", form)) for form in ("arrow", "table", "csv")}
    assert [len(batch) for batch in pa.ipc.open_stream(alone["arrow"][1])] == [10_000, 5_000]
    limits = RestLimits(answer=AnswerLimits(rows=10, bytes=10), deadline=0.001)
    with serve_commands(service, tmp_path, limits), no_store():
        assert {form: print_command(tmp_path, ("query", SOURCE, "--format", form)) for form in alone} == alone
    assert service.asked[-1].deadline is None


def test_a_file_gets_what_standard_output_would_get(service: FakeService, tmp_path: Path) -> None:
    file = tmp_path / "out.ndjson"
    printed = print_command(tmp_path, ("query", SOURCE))
    with serve_commands(service, tmp_path), no_store():
        assert print_command(tmp_path, ("query", SOURCE, "--output", str(file))) == (0, b"", printed[2])
    assert file.read_bytes() == printed[1]


@pytest.mark.parametrize("error", [StoreError("a tablet \x1b is gone"), InternalError("odd")])
def test_an_error_in_the_middle_is_told_as_without_a_service(
    service: FakeService, tmp_path: Path, error: Exception
) -> None:
    service.batches = [events(0, 2), error]
    printed = print_command(tmp_path, ("query", SOURCE))
    assert (printed[0], printed[1].count(b"\n")) == (cli.OPERATOR if isinstance(error, StoreError) else cli.INTERNAL, 2)
    with serve_commands(service, tmp_path), no_store():
        assert print_command(tmp_path, ("query", SOURCE)) == printed


def test_an_error_of_the_store_before_the_answer_is_the_commands_own(service: FakeService, tmp_path: Path) -> None:
    other = FakeService(error=StoreError("no answer"))
    printed = print_command(tmp_path, ("count", SOURCE))
    with serve_commands(other, tmp_path):
        assert print_command(tmp_path, ("count", SOURCE)) == printed
        assert print_command(tmp_path, ("query", SOURCE))[0] == cli.OK
    assert service.asked


def test_a_service_shows_commands_all_that_its_user_may_see(service: FakeService, tmp_path: Path) -> None:
    with serve_commands(service, tmp_path) as services, no_store():
        assert isinstance(services, FakeServices)
        print_command(tmp_path, ("count", SOURCE))
        assert services.authorizations == [None]


def test_the_query_log_has_what_commands_ask(service: FakeService, tmp_path: Path) -> None:
    with serve_commands(service, tmp_path), no_store():
        print_command(tmp_path, ("query", SOURCE, "--where", "status = 404"))
        print_command(tmp_path, ("query", SOURCE, "--where", "status ="))
        print_command(tmp_path, ("count", SOURCE))
    logged = [json.loads(line) for line in (tmp_path / "logs" / "queries.jsonl").read_text().splitlines()]
    assert [(line["token"], line["status"]) for line in logged] == [
        ("(local)", "complete"),
        ("(local)", "failed"),
        ("(local)", "complete"),
    ]
    assert logged[0]["asked"]["where"] == "status = 404"


def test_a_watch_and_a_verbose_command_ask_no_service(service: FakeService, tmp_path: Path) -> None:
    other = FakeService()
    with serve_commands(other, tmp_path):
        print_command(tmp_path, ("query", SOURCE, "--watch"))
        print_command(tmp_path, ("query", SOURCE, "-v"))
    assert len(service.watched) == 1 and len(service.asked) == 2 and not other.asked


def test_the_groups_of_quick_commands_are_those_of_all_commands() -> None:
    for name, group in cli.QUICK_COMMANDS.items():
        whole, quick = cli.CommandLine(cli.find_groups()), cli.CommandLine(cli._find_needed_groups([name]))
        (module,) = cli._find_needed_groups(["--home", "x", name])
        assert module in (counts, query_command, ingest) and module.__name__.endswith(group)
        shown = [line.parser._subparsers._group_actions[0].choices[name].format_help() for line in (whole, quick)]  # type: ignore
        assert shown[0] == shown[1] and whole.parser.format_usage() == quick.parser.format_usage()


# Processes of their own


def test_a_command_with_a_service_imports_nothing_heavy(service: FakeService, tmp_path: Path) -> None:
    heavy = {"jpype", "pyarrow", "numpy", "flask", "rich", "lark", "jsonschema", "http.client", "importlib.metadata"}
    code = (
        "import atexit, sys; from watchfloor.api.cli.main import main; "
        f"atexit.register(lambda: print('heavy:', {heavy} & set(sys.modules), file=sys.stderr)); main()"
    )
    for line in (
        ("query", SOURCE, "--format", "table"),
        ("query", SOURCE, "--format", "csv"),
        ("top", SOURCE, "client"),
    ):
        with serve_commands(service, tmp_path):
            command = [sys.executable, "-c", code, "--home", str(tmp_path), *line]
            done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=client_environment())
        assert done.stdout and done.stderr.endswith("heavy: set()\n"), done.stderr


def test_ctrl_c_ends_the_query_on_the_service(service: FakeService, tmp_path: Path) -> None:
    service.batches = [events(0, 1), threading.Event()]
    with serve_commands(service, tmp_path):
        process = subprocess.Popen([*RUN, "--home", str(tmp_path), "query", SOURCE], stdout=-1, stderr=-1)
        assert process.stdout is not None and b'"path":"/0"' in process.stdout.readline()
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == cli.INTERRUPTED
        assert service.results[0].closed.wait(10)
        assert process.stderr is not None and process.stderr.read() == b""
        process.stdout.close()
        process.stderr.close()


def test_a_reader_that_has_enough_ends_the_query_on_the_service(service: FakeService, tmp_path: Path) -> None:
    service.batches = [events(0, 1000)] * 2000
    with serve_commands(service, tmp_path):
        process = subprocess.Popen([*RUN, "--home", str(tmp_path), "query", SOURCE], stdout=-1, stderr=-1)
        assert process.stdout is not None and process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert (process.stderr.read(), process.wait(60)) == (b"", 0)
        process.stderr.close()
        assert service.results[0].closed.wait(20)


SERVICE = """
import os, sys, threading
from local_service import serve_commands
from pathlib import Path
from rest_fakes import FakeService, events

with serve_commands(FakeService([events(0, 2), threading.Event()]), Path(sys.argv[1])):
    print("ready", flush=True)
    sys.stdin.readline()
    os._exit(1)
"""


def test_a_service_that_dies_in_the_middle_of_an_answer(tmp_path: Path) -> None:
    environment = client_environment()
    with subprocess.Popen(
        [sys.executable, "-c", SERVICE, str(tmp_path)], stdin=-1, stdout=-1, env=environment
    ) as served:
        assert served.stdin is not None and served.stdout is not None
        assert served.stdout.readline() == b"ready\n"
        asking = subprocess.Popen([*RUN, "--home", str(tmp_path), "query", SOURCE], stdout=-1, stderr=-1)
        assert asking.stdout is not None and asking.stderr is not None
        assert [b"/0" in asking.stdout.readline(), b"/1" in asking.stdout.readline()] == [True, True]
        served.stdin.write(b"\n")
        served.stdin.flush()
        rest, said = asking.communicate(timeout=30)
    assert (rest, asking.returncode) == (b"", cli.OPERATOR)
    assert said == b"watchfloor: the answer was cut off: the service that gave it has ended; ask again\n"
