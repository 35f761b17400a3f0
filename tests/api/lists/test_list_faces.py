"""Lists are put, shown, asked and removed on the command line and over REST, and bad files are refused in full.

In `make test`: it is short, on the stack of the run.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from command_line import run_command
from flask.testing import FlaskClient
from ingest_support import RUN
from loaded import batch_of, write
from served import AnyToken

from watchfloor.api.rest.app import create_app
from watchfloor.api.rest.store_services import StoreServices
from watchfloor.schema.definition import parse_definition
from watchfloor.schema.settings.settings import Settings
from watchfloor.store.store import Store

pytestmark = pytest.mark.stack

SOURCE, NAME = f"faces{RUN}.lists", f"faces_{RUN}"
ANALYST, OPERATOR = ({"Authorization": f"Bearer {role}"} for role in ("analyst", "operator"))


@pytest.fixture(scope="module", autouse=True)
def events(store_settings: Settings) -> None:
    """Thirty events with addresses 10.0.0.0 to 10.0.0.9."""
    source = parse_definition(
        {
            "name": SOURCE,
            "parser": {"format": "json"},
            "timestamp": {"field": "ts"},
            "fields": [{"name": "ts", "type": "time"}, {"name": "src", "type": "ip", "indexed": True}],
        }
    )
    start = datetime(2026, 1, 8, tzinfo=UTC)
    rows = [{"ts": start - timedelta(seconds=n), "src": f"10.0.0.{n % 10}"} for n in range(30)]
    with Store.open(store_settings) as store, store.sink() as sink:
        write(sink, store.catalog.register(source), 0, batch_of(source, rows))
        sink.flush()


@pytest.fixture(scope="module")
def client(store_settings: Settings) -> Iterator[FlaskClient]:
    services = StoreServices(store_settings)
    try:
        yield create_app(services, AnyToken(), settings=store_settings).test_client()
    finally:
        services.close()


def find_row(output: str, name: str) -> dict[str, Any]:
    rows = [json.loads(line) for line in output.splitlines()]
    return next(row for row in rows if row["name"] == name)


def test_a_list_on_the_command_line(store_settings: Settings, tmp_path: Path) -> None:
    def run(*line: str) -> tuple[int, str, str]:
        return run_command(store_settings, *line)

    file = tmp_path / "feed.txt"
    file.write_text("# bad ones\n10.0.0.1 # C2\n10.0.0.2\n10.0.0.8/31 # a site\n")
    status, out, said = run("lists", "put", NAME, str(file), "--expires", "30d")
    assert (status, out) == (0, "")
    assert f"{NAME}: 3 values of the type ip, 1 network among them" in said
    row = find_row(run("lists")[1], NAME)
    assert (row["type"], row["values"], row["networks"], row["state"]) == ("ip", 2, 1, "in force") and row["expires"]
    status, out, said = run("lists", "show", NAME)
    assert [json.loads(line)["entry"] for line in out.splitlines()] == ["10.0.0.8/31", "10.0.0.1", "10.0.0.2"]
    assert "put at 20" in said
    where = f"src in @{NAME}"
    status, out, _ = run("query", SOURCE, "--where", where, "--columns", "src,_matched")
    rows = [json.loads(line) for line in out.splitlines()]
    assert status == 0 and sorted(row["src"] for row in rows) == sorted(f"10.0.0.{n}" for n in (1, 2, 8, 9) * 3)
    assert {row["_matched"] for row in rows if row["src"] == "10.0.0.1"} == {f"src in @{NAME}: 10.0.0.1 (C2)"}
    assert run("count", SOURCE, "--where", where)[1] == "12\n"
    assert f"@{NAME} is the list put at" in run("query", SOURCE, "--where", where, "--explain")[1]
    within = f"src in ({SOURCE} where src = 10.0.0.3 | src)"
    assert "within    (" in run("query", SOURCE, "--where", within, "--explain")[1]
    assert run("count", SOURCE, "--where", within)[1] == "3\n"
    assert run("lists", "remove", NAME)[0] == 0
    status, _, said = run("query", SOURCE, "--where", where)
    assert status == 2 and f"unknown list '{NAME}'" in said and "^" in said
    assert run("lists", "show", NAME)[0] == run("lists", "remove", NAME)[0] == 2


def test_a_bad_file_changes_nothing(store_settings: Settings, tmp_path: Path) -> None:
    name = f"{NAME}_bad"
    good, bad = tmp_path / "good", tmp_path / "bad.csv"
    good.write_text("10.0.0.1\n")
    bad.write_text("ip,why\n10.0.0.2,x\nnothing,y\n")
    assert run_command(store_settings, "lists", "put", name, str(good))[0] == 0
    line = ("lists", "put", name, str(bad), "--column", "ip", "--comment", "why")
    status, _, said = run_command(store_settings, *line)
    assert status == 2 and "1 bad line" in said and "line 3: 'nothing' is no address" in said
    assert run_command(store_settings, "count", SOURCE, "--where", f"src in @{name}")[1] == "3\n"
    status, _, said = run_command(store_settings, *line, "--skip-bad")
    assert status == 0 and "1 bad line left out" in said
    assert json.loads(run_command(store_settings, "lists", "show", name)[1]) == {"entry": "10.0.0.2", "comment": "x"}
    for arguments, message in (
        (("put", "0bad", str(good)), "is no name of a list"),
        (("put", name, str(tmp_path / "none")), "cannot be read"),
        (("put", name, str(good), "--label", "a&b|c"), "is no label"),
        (("put", name, str(good), "--expires", "soon"), "is no duration"),
        (("put", name, str(good), "--column", "x"), "the first line has no column 'x'"),
    ):
        status, _, said = run_command(store_settings, "lists", *arguments)
        assert status == 2 and message in said, arguments


def test_a_list_over_rest(client: FlaskClient) -> None:
    name = f"{NAME}_rest"
    path = f"/api/v1/lists/{name}"
    body = {"text": "10.0.0.4,one\nx,\n10.0.0.5,\n", "column": "1", "comment": "2", "skip_bad": True, "expires": "1d"}
    put = client.put(path, json=body, headers=OPERATOR)
    assert put.status_code == 200 and (put.json["values"], put.json["skipped"]) == (2, 1)
    assert client.put(path, json=body, headers=ANALYST).status_code == 403
    assert client.put(path, json={"text": "x", "type": "ip"}, headers=OPERATOR).status_code == 400
    assert client.put(path, json={"text": "x", "type": "no"}, headers=OPERATOR).status_code == 400
    assert name in [one["name"] for one in client.get("/api/v1/lists", headers=ANALYST).json["lists"]]
    shown = client.get(path, headers=ANALYST, query_string={"limit": 1}).json
    assert shown["entries"] == [{"entry": "10.0.0.4", "comment": "one"}]
    query = {"source": SOURCE, "where": {"field": "src", "op": "in", "list": name}, "columns": ["src", "_matched"]}
    lines = [json.loads(line) for line in client.post("/api/v1/query", json=query, headers=ANALYST).data.splitlines()]
    assert lines[-1]["summary"]["rows"] == 6
    assert {line["_matched"] for line in lines[:-1]} == {f"src in @{name}: 10.0.0.4 (one)", f"src in @{name}: 10.0.0.5"}
    within = {"source": SOURCE, "where": f"src in ({SOURCE} where src = 10.0.0.3 | src)"}
    explained = client.post("/api/v1/explain", json=within, headers=ANALYST).json
    assert explained["within"][0]["values"] == 1 and explained["plan"]["notes"]
    assert client.delete(path, headers=ANALYST).status_code == 403
    assert client.delete(path, headers=OPERATOR).json == {"removed": name}
    gone = client.get(path, headers=ANALYST)
    assert gone.status_code == 404 and gone.json["type"].endswith("unknown-list")
    refused = client.post("/api/v1/query", json={"source": SOURCE, "where": f"src in @{name}"}, headers=ANALYST)
    assert refused.status_code == 400 and refused.json["position"] == 7
