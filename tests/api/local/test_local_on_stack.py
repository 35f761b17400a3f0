"""A service on real servers answers commands as they answer themselves: in all formats, in both layouts, with errors.

In `make test`: it is short, on the stack of the run.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from command_line import run_command
from loaded import LAYOUTS, write_hosts
from local_service import Printed, join_batches, no_store, print_command

from watchfloor.api.cli import main as cli
from watchfloor.schema.settings.settings import Settings
from watchfloor.store.store import Store

pytestmark = pytest.mark.stack
NAMES = {layout: f"local{layout}.host" for layout in LAYOUTS}
RUN = [sys.executable, "-c", "from watchfloor.api.cli.main import main; raise SystemExit(main())"]


@pytest.fixture(scope="module")
def home(store_settings: Settings) -> Path:
    """The folder of a stack with 600 events in each layout."""
    newest = datetime(2026, 3, 1, 12, tzinfo=UTC)
    events = [
        {"ts": newest - timedelta(minutes=n), "n": n, "host": f"192.0.2.{n % 9}" if n % 4 else None} for n in range(600)
    ]
    with Store.open(store_settings) as store:
        for layout, name in NAMES.items():
            write_hosts(store, name, layout, events)
    return store_settings.home


@contextmanager
def running_service(home: Path) -> Iterator[subprocess.Popen[str]]:
    command = [*RUN, "--home", str(home), "serve", "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None and "serving" in process.stderr.readline()
        try:
            yield process
        finally:
            process.kill()


def lines(source: str) -> Iterator[tuple[str, ...]]:
    """Yields command lines whose answers do not depend on when they are asked."""
    wheres = ("host = 192.0.2.1", "n > 300 and not host in 192.0.2.0/30", "not exists host")
    for form in ("ndjson", "csv", "table", "arrow"):
        yield ("query", source, "--format", form)
        yield ("query", source, "--format", form, "--where", wheres[0], "--columns", "n,host")
        yield ("query", source, "--format", form, "--stats", "count(), max(n) by host | sort -count")
    for where in wheres:
        yield ("query", source, "--where", where)
        yield ("query", source, "--where", where, "--limit", "7")
        yield ("query", source, "--where", where, "--sort", "n", "--limit", "5")
        yield ("count", source, "--where", where)
        yield ("timeline", source, "--where", where)
        yield ("top", source, "host", "--where", where)
    yield ("query", source, "--own-columns", "--since", "2026-03-01T11:00:00Z", "--until", "2026-03-01T11:30:00Z")
    yield ("query", "local*.host", "--where", "host = 192.0.2.7")
    yield ("query", source, "--where", "n = 1", "--explain")
    yield ("query", source, "--stats", "count()", "--explain")
    yield ("count", source)
    yield ("count", source, "--field", "host", "--value", "192.0.2.3")
    yield from (("top", source, "host", "--format", form) for form in ("ndjson", "csv", "table"))
    yield from (("timeline", source, "--format", form) for form in ("ndjson", "csv", "table"))
    yield ("find", "192.0.2.4", "--sources", source)
    yield ("find", "no such user", "--sources", source)


def wrong_lines(source: str) -> Iterator[tuple[str, ...]]:
    """Yields command lines that are refused, which has nothing to do with the layout."""
    yield from (("query", source, "--where", where) for where in ("n = ", "m = 1", "host = x", "n in @nothing"))
    yield ("query", source, "--stats", "count() by m")
    yield ("query", f"{source}s")
    yield ("query", source, "--cursor", "forged")
    yield ("query", source, "--limit", "0")
    yield ("top", source, "n")
    yield ("count", source, "--field", "host", "--value", "nonsense")


@dataclass(frozen=True)
class Alone:
    """What commands have printed before any service ran: by layout and command line, and pages of a source."""

    printed: dict[str, dict[tuple[str, ...], Printed]]
    whole: list[str]
    first: list[str]
    cursor: str


@pytest.fixture(scope="module")
def alone(home: Path, store_settings: Settings) -> Alone:
    printed = {
        layout: {line: print_command(home, line) for line in dict.fromkeys((*lines(name), *more))}
        for layout, name, more in (
            ("cell", NAMES["cell"], ()),
            ("block", NAMES["block"], wrong_lines(NAMES["block"])),
        )
    }
    whole = run_command(store_settings, "query", NAMES["block"])[1].splitlines()
    _, first, said = run_command(store_settings, "query", NAMES["block"], "--limit", "250")
    return Alone(printed, whole, first.splitlines(), read_cursor(said))


def read_cursor(said: str) -> str:
    return said.rstrip().rpartition(" ")[2]


@pytest.fixture(scope="module")
def service(home: Path, alone: Alone) -> Iterator[subprocess.Popen[str]]:
    """A service for all tests here, of which the last one kills it."""
    with running_service(home) as process:
        yield process


@pytest.mark.usefixtures("service")
def test_commands_print_the_same_with_a_service(home: Path, alone: Alone, layout: str) -> None:
    expected = {cli.OK} if layout == "cell" else {cli.OK, cli.USER}
    assert {status for status, _, _ in alone.printed[layout].values()} == expected
    with no_store():
        for line, printed in alone.printed[layout].items():
            assert join_batches(print_command(home, line)) == join_batches(printed), line


@pytest.mark.usefixtures("service")
def test_a_process_of_its_own_asks_the_service(home: Path) -> None:
    command = [*RUN, "--home", str(home), "query", NAMES["block"], "--limit", "2"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    log = home / "logs" / "queries.jsonl"
    last = json.loads(log.read_text().splitlines()[-1])
    assert [json.loads(line)["n"] for line in done.stdout.splitlines()] == [0, 1]
    assert (last["token"], last["asked"]["source"], last["rows"]) == ("(local)", NAMES["block"], 2)


def test_a_killed_service_is_not_waited_for_and_cursors_go_on(
    alone: Alone, service: subprocess.Popen[str], store_settings: Settings
) -> None:
    source = NAMES["block"]
    with no_store():
        _, second, said = run_command(store_settings, "query", source, "--limit", "250", "--cursor", alone.cursor)
    service.kill()
    service.wait()
    third = run_command(store_settings, "query", source, "--cursor", read_cursor(said))[1]
    assert [*alone.first, *second.splitlines(), *third.splitlines()] == alone.whole
    other = replace(store_settings, port=0)
    with running_service(other.home), no_store():
        assert run_command(other, "count", NAMES["cell"])[:2] == (0, "600\n")
