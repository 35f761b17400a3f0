"""Command line and REST service load a small access log into a real store and answer questions about it.

What comes out is compared in both layouts; what is said of lines, items and mistakes knows no layout.

In `make test`: it is short, on the stack of the run.
"""

from __future__ import annotations

import json
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from command_line import run_command
from ingest_support import load
from loaded import LAYOUTS

from watchfloor.api.cli import main as cli
from watchfloor.api.rest.base.problems import problem_type
from watchfloor.schema.definition import DEFAULT_LAYOUT, builtin_definitions
from watchfloor.schema.settings.settings import Settings

pytestmark = [pytest.mark.stack, pytest.mark.usefixtures("loads_here")]

# Sources of their own: other tests load access logs into web.access of the same stack.
EVENTS, SOURCES = 300, {layout: f"faces.{layout}" for layout in LAYOUTS}
SOURCE = SOURCES[DEFAULT_LAYOUT]
BAD_LINE = "not a line of an access log \x1b[2J\x07"
Cli = Callable[..., tuple[int, str, str]]


def access_log() -> str:
    """Returns 300 accesses of one day in 2015, of which every 50th is a 404, and one line that is no access."""
    lines = [
        f'192.0.2.{n % 7} - - [17/May/2015:10:{n // 60:02}:{n % 60:02} +0000] "GET /page/{n} HTTP/1.1" '
        f'{404 if n % 50 == 0 else 200} {1000 + n} "-" "agent/1.0"'
        for n in range(EVENTS)
    ]
    return "\n".join([*lines[:150], BAD_LINE, *lines[150:]]) + "\n"


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("logs") / "faces-access.log"
    path.write_text(access_log())
    return path


@pytest.fixture(scope="module")
def loaded(store_settings: Settings, log: Path) -> tuple[int, str, str]:
    """Loads the log into both sources, and returns what the load into ``SOURCE`` printed."""
    for layout, name in SOURCES.items():
        definition = {**builtin_definitions()["web.access"].definition, "name": name}
        file = log.with_name(f"{name}.json")
        file.write_text(json.dumps(definition if layout == DEFAULT_LAYOUT else {**definition, "layout": layout}))
        status, _, err = run_command(store_settings, "sources", "add", str(file))
        assert (status, name in err, f"layout {layout}" in err) == (0, True, True)
    (other,) = set(SOURCES.values()) - {SOURCE}
    copy = Path(shutil.copy(log, log.with_name("copy.log")))
    assert load(store_settings, copy, feed=other).events == EVENTS
    return run_command(store_settings, "load", str(log), "--source", SOURCE)


@pytest.fixture(scope="module")
def wf(store_settings: Settings, loaded: tuple[int, str, str]) -> Cli:
    return lambda *arguments: run_command(store_settings, *arguments)


# The command line


def test_a_load_with_a_bad_line_says_so(loaded: tuple[int, str, str]) -> None:
    status, out, err = loaded
    assert (status, out) == (1, "")
    assert f"{EVENTS + 1} lines = {EVENTS} events + 1 quarantined" in err


def test_loading_again_changes_no_count(wf: Cli, log: Path) -> None:
    assert wf("load", str(log), "--source", SOURCE, "--again")[0] == 1
    assert wf("count", SOURCE)[1] == f"{EVENTS}\n"
    assert len(wf("query", SOURCE, "--columns", "status")[1].splitlines()) == EVENTS


def test_queries_and_counts_agree(wf: Cli, layout: str) -> None:
    source = SOURCES[layout]
    status, out, err = wf("query", source, "--where", "status = 404")
    assert status == 0
    found = [json.loads(text) for text in out.splitlines()]
    assert len(found) == 6
    assert {event["status"] for event in found} == {404}
    first = next(iter(found[0].values()))
    assert first == "2015-05-17T10:04:10.000000Z"
    assert err.startswith("6 rows in ")
    assert wf("count", source, "--field", "status", "--value", "404")[1] == "6\n"
    assert json.loads(wf("top", source, "status", "--limit", "1")[1]) == {"value": 200, "count": EVENTS - 6}
    hours = [json.loads(text) for text in wf("timeline", source)[1].splitlines()]
    assert hours == [{"start": "2015-05-17T10:00:00.000000Z", "count": EVENTS}]


def test_a_limit_and_a_range(wf: Cli, layout: str) -> None:
    arguments = ("--until", "2015-05-17T10:01:00Z", "--limit", "2", "--format", "csv")
    status, out, err = wf("query", SOURCES[layout], *arguments)
    assert status == 0
    assert [text[:29] for text in out.splitlines()[1:]] == [f'"2015-05-17T10:00:{s}.000000Z"' for s in (59, 58)]
    assert "stopped at the limit" in err


def test_quarantined_lines_are_shown_safely(wf: Cli, log: Path) -> None:
    status, out, _ = wf("quarantine", "list", "--file", str(log.resolve()))
    assert status == 0
    (line,) = [json.loads(text) for text in out.splitlines()]
    assert line["reason"] and line["offset"] == access_log().index(BAD_LINE)
    assert wf("quarantine", "show", line["line"])[1] == "not a line of an access log \\x1b[2J\\x07\n"
    assert wf("quarantine", "show", line["line"], "--raw")[1] == BAD_LINE + "\n"
    assert wf("quarantine", "retry", line["line"])[0] == 1
    assert wf("quarantine", "show", "nonsense")[0] == cli.USER


def test_the_ledger_and_the_sources_are_listed(wf: Cli, log: Path) -> None:
    items = [json.loads(text) for text in wf("items")[1].splitlines()]
    (mine,) = [item for item in items if item["file"] == str(log.resolve())]
    assert (mine["state"], mine["events"], mine["quarantined"]) == ("done", EVENTS, 1)
    assert SOURCE in [json.loads(text)["name"] for text in wf("sources")[1].splitlines()]
    assert json.loads(wf("sources", "show", SOURCE)[1])["name"] == SOURCE
    _, out, err = wf("sources", "show", SOURCE, "--sample", str(log))
    assert json.loads(out)["name"] == SOURCE and f"{EVENTS:,} events" in err and "  index of status: " in err
    status, _, err = wf("query", SOURCE[:-1])
    assert status == cli.USER
    assert f"did you mean {SOURCE}" in err


def test_a_source_keeps_its_layout(wf: Cli, tmp_path: Path) -> None:
    file = tmp_path / "other.json"
    file.write_text(json.dumps({**builtin_definitions()["web.access"].definition, "name": SOURCE, "layout": "cell"}))
    status, _, err = wf("sources", "add", str(file))
    assert status == cli.USER
    assert "other.json.layout: block is stored, not cell" in err
    listed = {row["name"]: row["layout"] for row in map(json.loads, wf("sources")[1].splitlines())}
    assert {layout: listed[name] for layout, name in SOURCES.items()} == {"cell": "cell", "block": "block"}


def test_a_known_source_is_read_by_new_rules_and_says_what_changed(wf: Cli, tmp_path: Path) -> None:
    file, log = tmp_path / "rules.json", tmp_path / "rules.txt"
    fields = [{"name": "when", "type": "time"}, {"name": "code", "type": "int", "indexed": True}]
    definition: dict[str, Any] = {
        "name": "faces.rules",
        "parser": {"format": "text", "patterns": {"usual": r"^(?P<when>\S+) code (?P<code>\S+)$"}},
        "timestamp": {"field": "when", "format": "iso8601"},
        "fields": fields,
    }
    codes = ["7", "0x10", "none"]
    log.write_text("".join(f"2026-03-05T08:00:0{n}Z code {code}\n" for n, code in enumerate(codes)))

    def add(**changes: Any) -> tuple[int, list[str]]:
        file.write_text(json.dumps({**definition, **changes}))
        status, _, err = wf("sources", "add", str(file))
        return status, err.splitlines()

    def find_codes() -> list[Any]:
        rows = [json.loads(text) for text in wf("query", "faces.rules", "--format", "ndjson")[1].splitlines()]
        found = [(row.get("code"), row.get("extra")) for row in rows if "when" in row]
        return sorted(found, key=lambda pair: pair[0] or 0)

    assert add()[0] == cli.OK
    assert wf("load", str(log), "--source", "faces.rules")[0] == 1
    assert find_codes() == [(7, None)]
    wrong = [fields[0], {"name": "code", "type": "string"}]
    status, said = add(fields=wrong)
    assert status == cli.USER and any("code is stored as int, not string" in text for text in said)
    rules = {**definition["parser"], "fields": {"code": {"convert": ["number"]}}}
    more = {"fields": [*fields, {"name": "extra", "type": "string"}], "unknown_fields": "extra"}
    status, said = add(parser=rules, **more)
    assert status == cli.OK
    assert [text.strip() for text in said if "changed:" in text] == [
        "changed: unknown fields extra",
        "changed: the parser's fields",
        "changed: new fields extra",
    ]
    status, _, err = wf("load", str(log), "--source", "faces.rules", "--again")
    assert status == cli.OK and "kept in extra: 1 value of code in faces.rules, not of its type" in err
    items = [json.loads(text) for text in wf("items")[1].splitlines()]
    assert [item["misfits"] for item in items if item["file"] == str(log.resolve())] == [1]
    assert find_codes() == [(None, '{"code":"none"}'), (7, None), (16, None)]
    assert "nothing to change" in add(parser=rules, **more)[1][-1]


def test_a_store_that_is_not_there_is_the_operators_affair(wf: Cli, tmp_path: Path) -> None:
    status, out, err = wf("--home", str(tmp_path), "count", SOURCE)
    assert (status, out) == (cli.OPERATOR, "")
    assert "watchfloor up" in err


# The REST service


class Rest:
    """A running service. ``ask`` returns the status and the body's JSON records."""

    def __init__(self, process: subprocess.Popen[str], port: int, token: str) -> None:
        self.process, self.port, self.token = process, port, token

    def ask(self, path: str, body: Any = None, token: str | None = None) -> tuple[int, list[Any]]:
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}{path}", None if body is None else json.dumps(body).encode()
        )
        if token != "":
            request.add_header("Authorization", f"Bearer {token or self.token}")
        if body is not None:
            request.add_header("Content-Type", "application/json")
        try:
            with urllib.request.urlopen(request, timeout=30) as response:
                return response.status, [json.loads(text) for text in response.read().splitlines()]
        except urllib.error.HTTPError as error:
            assert error.headers["Content-Type"] == "application/problem+json"
            return error.code, [json.loads(error.read())]


@pytest.fixture(scope="module")
def rest(store_settings: Settings, loaded: tuple[int, str, str]) -> Iterator[Rest]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-c", "from watchfloor.api.cli.main import main; raise SystemExit(main())"]
    process = subprocess.Popen(
        [*command, "--home", str(store_settings.home), "serve", "--port", str(port)], stderr=subprocess.PIPE, text=True
    )
    try:
        assert process.stderr is not None
        said = process.stderr.readline() + process.stderr.readline()
        assert f"127.0.0.1:{port}" in said and "rest.token" in said
        token = (store_settings.secret_folder / "rest.token").read_text().strip()
        assert token not in said
        yield Rest(process, port, token)
    finally:
        process.kill()
        process.wait()


def query(rest: Rest, **body: Any) -> tuple[int, list[Any]]:
    return rest.ask("/api/v1/query", {"source": SOURCE, **body})


def test_a_healthy_stream_ends_with_its_summary(rest: Rest, layout: str) -> None:
    status, (*rows, last) = query(rest, source=SOURCES[layout], where="status = 404", columns=["status"])
    assert status == 200
    assert rows == [{"status": 404}] * 6
    assert last["summary"]["status"] == "complete"
    assert last["summary"]["rows"] == 6
    assert last["summary"]["plan"]["scheme"] in ("batched-scan", "batched-index")
    assert last["summary"]["seconds"] > 0
    assert query(rest, source=SOURCES[layout], limit=3)[1][-1]["summary"]["status"] == "limit"


def test_rest_and_the_command_line_say_the_same(rest: Rest, wf: Cli, layout: str) -> None:
    source = SOURCES[layout]
    rows = query(rest, source=source)[1][:-1]
    assert rows == [json.loads(text) for text in wf("query", source)[1].splitlines()]
    assert rest.ask(f"/api/v1/count?source={source}")[1] == [{"source": source, "count": EVENTS}]
    top = rest.ask(f"/api/v1/top?source={source}&field=status")[1][0]["values"]
    assert top == [json.loads(text) for text in wf("top", source, "status")[1].splitlines()]
    buckets = rest.ask(f"/api/v1/timeline?source={source}&bucket=minute")[1][0]["buckets"]
    assert buckets == [json.loads(text) for text in wf("timeline", source, "--bucket", "minute")[1].splitlines()]
    assert sum(bucket["count"] for bucket in buckets) == EVENTS


def test_explain_sources_and_health(rest: Rest) -> None:
    assert rest.ask("/api/v1/explain", {"source": SOURCE, "where": "status = 404"})[1][0]["text"].startswith("scheme ")
    assert SOURCE in [source["name"] for source in rest.ask("/api/v1/sources")[1][0]["sources"]]
    assert rest.ask(f"/api/v1/sources/{SOURCE}")[1][0]["definition"]["name"] == SOURCE
    assert rest.ask("/healthz", token="")[1][0]["status"] == "ok"


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ({"where": "status ="}, "bad-filter"),
        ({"where": "status = 404 and ("}, "bad-filter"),
        ({"where": "statuss = 404"}, "unknown-field"),
        ({"columns": ["statuss"]}, "unknown-field"),
        ({"since": "2026-01-02", "until": "2026-01-01"}, "bad-time-range"),
        ({"source": SOURCE[:-1]}, "unknown-source"),
        ({"limit": -1}, "bad-body"),
    ],
)
def test_bad_queries(rest: Rest, body: dict[str, Any], kind: str) -> None:
    status, (problem,) = query(rest, **body)
    assert problem["type"] == problem_type(kind)
    assert status == problem["status"]
    if "where" in body:
        assert problem["caret"].splitlines()[1].strip() == "^"
        assert 0 <= problem["position"] <= len(body["where"])
    if kind.startswith("unknown"):
        assert "did you mean" in problem["detail"]


@pytest.mark.parametrize("token", ["", "wrong"])
def test_no_token_and_a_wrong_one(rest: Rest, token: str) -> None:
    status, (problem,) = rest.ask("/api/v1/sources", token=token)
    assert (status, problem["type"]) == (401, problem_type("unauthorized"))


def test_the_service_stops_gracefully(rest: Rest) -> None:
    """Stands last, since it ends the service of this module."""
    began = time.monotonic()
    rest.process.send_signal(signal.SIGTERM)
    assert rest.process.wait(15) == 0
    assert time.monotonic() - began < 12
