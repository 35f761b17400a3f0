"""Operators see over REST what the ledger and the quarantine hold, as far as their labels let it through.

In `make test`: it is short, on the stack of the run.
"""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from command_line import run_command
from flask.testing import FlaskClient
from ingest_support import RUN, ledger_rows, line, load, own, source
from rest_fakes import check_problem

from watchfloor.api.records.seen_records import SeenRecords
from watchfloor.api.rest.app import create_app
from watchfloor.api.rest.store_services import StoreServices
from watchfloor.api.tokens.token_file import TokenFile
from watchfloor.api.tokens.tokens_in_force import TokensInForce
from watchfloor.ingest.records.ledger import Ledger, SeenFile
from watchfloor.schema.definition import parse_definition
from watchfloor.schema.settings.settings import Settings
from watchfloor.schema.visibility.grant import Grant
from watchfloor.store.admin.tables import drop_source
from watchfloor.store.store import Store

pytestmark = pytest.mark.stack

SECRET = f"lines{RUN}"
BAD = ["{", '{"host": "no time \x1b[2J"}', "x" * 300]
HOLDERS = {"all": None, "secret": (SECRET,), "nothing": ()}
"""The labels of the operators' tokens."""


class Operators:
    """Asks the service as operators with other labels."""

    def __init__(self, client: FlaskClient, tokens: dict[str, str]) -> None:
        self.client, self.tokens = client, tokens

    def ask(self, path: str, holder: str = "all", body: Any = None, **query: Any) -> Any:
        answer = self.open(path, holder, body, **query)
        assert answer.status_code == 200, answer.text
        return answer.json

    def open(self, path: str, holder: str = "all", body: Any = None, **query: Any) -> Any:
        headers = {"Authorization": f"Bearer {self.tokens[holder]}"}
        method = "GET" if body is None else "POST"
        return self.client.open(f"/api/v1{path}", method=method, json=body, query_string=query, headers=headers)


@pytest.fixture(scope="module")
def operators(store_settings: Settings, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Operators]:
    secret = tmp_path_factory.mktemp("secret")
    file = TokenFile(secret)
    tokens = {name: file.create_token(name, "operator", labels, None) for name, labels in HOLDERS.items()}
    tokens["bound"] = file.create_token("bound", "operator", None, None, [source("qopen").name])
    tokens["analyst"] = file.create_token("analyst", "analyst", None, None)
    services = StoreServices(store_settings)
    yield Operators(create_app(services, TokensInForce(secret)).test_client(), tokens)
    services.close()


@pytest.fixture(scope="module")
def files(store_settings: Settings, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Loads a file with three bad lines into a source that all see, and one into a source with a label."""
    folder = tmp_path_factory.mktemp("logs")
    settings, paths = own(store_settings, "faces", item_bytes=1 << 20), {}
    with Store.open(store_settings) as store:
        for name, label in (("open", ""), ("labelled", SECRET)):
            kind = parse_definition({**source(f"q{name}").definition, "visibility": label})
            store.catalog.register(kind)
            paths[name] = folder / f"{name}.log"
            paths[name].write_text("\n".join([*map(line, range(20)), *BAD]) + "\n")
            assert load(settings, paths[name], feed=kind.name).quarantined == 3
    return paths


def test_lines_are_those_of_the_command(operators: Operators, store_settings: Settings, files: dict[str, Path]) -> None:
    for path in map(str, files.values()):
        listed = operators.ask("/quarantine", file=path)
        printed = run_command(store_settings, "quarantine", "list", "--file", path)[1]
        assert listed == {"lines": [json.loads(text) for text in printed.splitlines()], "more": False}
        assert len(listed["lines"]) == 3
        first = operators.ask("/quarantine", file=path, limit=2)
        assert first == {"lines": listed["lines"][:2], "more": True}


def test_a_line_comes_with_its_bytes(operators: Operators, files: dict[str, Path]) -> None:
    lines = sorted(operators.ask("/quarantine", file=str(files["open"]))["lines"], key=lambda found: found["offset"])
    for listed, text in zip(lines, BAD, strict=True):
        shown = operators.ask(f"/quarantine/{listed['line']}")
        assert listed.items() <= shown.items()
        assert base64.b64decode(shown["raw"]).decode() == text
        assert shown["text"] == text.replace("\x1b", "\\x1b")
        assert (shown["state"], shown["whole"]) == ("open", True)


def test_labels_hide_what_a_line_says(operators: Operators, files: dict[str, Path]) -> None:
    for holder, name, is_seen in (
        ("secret", "labelled", True),
        ("nothing", "labelled", False),
        ("nothing", "open", True),
    ):
        lines = operators.ask("/quarantine", file=str(files[name]))["lines"]
        seen = operators.ask("/quarantine", holder, file=str(files[name]))
        assert seen == {"lines": lines if is_seen else [], "more": False}
        for key in (listed["line"] for listed in lines):
            if is_seen:
                assert operators.ask(f"/quarantine/{key}", holder)["raw"]
            else:
                check_problem(operators.open(f"/quarantine/{key}", holder), "unknown-line")
                check_problem(operators.open("/quarantine/retry", holder, {"line": key}), "unknown-line")


def test_a_line_that_may_hold_a_hidden_field_is_hidden(
    operators: Operators, store_settings: Settings, tmp_path: Path
) -> None:
    """The item is that of a source that is seen; the reason of a failure may quote a line, too."""
    labelled = source("qfield", extra=({"name": "password", "type": "string", "visibility": SECRET},))
    path = tmp_path / "field.log"
    path.write_text(f"{line(0)}\n{BAD[0]}\n")
    with Store.open(store_settings) as store:
        store.catalog.register(labelled)
        assert load(own(store_settings, "faces"), path, feed=labelled.name).quarantined == 1
        (row,) = ledger_rows(store, path)
        records = SeenRecords(store.with_authorizations(()), Grant(()))
        assert (records.shows_row(row), records.shows_reason(row)) == (True, False)
        labels = store.with_authorizations(store.choose_granted([SECRET]))
        assert SeenRecords(labels, Grant((SECRET,))).shows_reason(row)
    assert len(operators.ask("/quarantine", "secret", file=str(path))["lines"]) == 1
    assert operators.ask("/quarantine", "nothing", file=str(path))["lines"] == []
    (item,) = [one for one in operators.ask("/ingest/items", "nothing")["items"] if one["file"] == str(path)]
    assert (item["events"], item["quarantined"]) == (1, 1)


def test_what_belongs_to_no_source_is_for_those_who_see_everything(
    operators: Operators, store_settings: Settings, tmp_path: Path
) -> None:
    """A refused file, whose reason quotes it, and the items of a source that is not there any more."""
    refused, dropped = tmp_path / f"refused{RUN}.log", source("qdropped")
    loaded = tmp_path / "dropped.log"
    loaded.write_text(f"{line(0)}\n{BAD[0]}\n")
    with Store.open(store_settings) as store:
        Ledger(store).write_seen(SeenFile(str(refused), 9, 0, "refused", time.time(), "tests", "it begins 'secret'"))
        load(own(store_settings, "faces"), loaded, feed=store.catalog.register(dropped).name)
        drop_source(store.connection, dropped)
    for path in (refused, loaded):
        for holder, is_seen in (("all", True), ("secret", False), ("bound", False)):
            items = operators.ask("/ingest/items", holder, limit=10_000)["items"]
            assert (str(path) in [item["file"] for item in items]) is is_seen, (path, holder)
    assert operators.ask("/quarantine", "secret", file=str(loaded))["lines"] == []


def test_an_operator_who_is_bound_to_sources_knows_no_others(operators: Operators, files: dict[str, Path]) -> None:
    assert len(operators.ask("/quarantine", "bound", file=str(files["open"]))["lines"]) == 3
    assert operators.ask("/quarantine", "bound", file=str(files["labelled"]))["lines"] == []
    items = operators.ask("/ingest/items", "bound", limit=10_000)["items"]
    assert [item["file"] for item in items] == [str(files["open"])]
    told = operators.ask("/ingest", "bound")
    assert (told["states"]["done"]["items"], told["states"]["done"]["quarantined"]) == (1, 3)
    assert [rate["items"] for rate in told["rates"]][-1] == 1


@pytest.mark.parametrize("name", ["nonsense", "00:1", "0123456789abcdef:42", "retry", ":", "0123456789abcdef:-1"])
def test_a_line_that_is_not_there(operators: Operators, name: str) -> None:
    check_problem(operators.open(f"/quarantine/{name}"), "unknown-line")
    check_problem(operators.open("/quarantine/retry", body={"line": name}), "unknown-line")


def test_a_retry_tells_how_many_lines_became_events(
    operators: Operators, store_settings: Settings, files: dict[str, Path]
) -> None:
    path = str(files["open"])
    one = operators.ask("/quarantine", file=path)["lines"][0]["line"]
    assert operators.ask("/quarantine/retry", body={"line": one}) == {"lines": 1, "events": 0, "kept": 1}
    assert operators.ask("/quarantine/retry", body={"file": path}) == {"lines": 3, "events": 0, "kept": 3}
    # A holder who does not see a line does not retry it, and learns nothing of it.
    answer = operators.ask("/quarantine/retry", "nothing", {"file": str(files["labelled"])})
    assert answer == {"lines": 0, "events": 0, "kept": 0}


def test_ingest_is_summed_up(operators: Operators, files: dict[str, Path]) -> None:
    told = operators.ask("/ingest")
    done = told["states"]["done"]
    assert done["items"] >= 2 and done["events"] >= 40 and done["quarantined"] >= 6
    assert done["bytes"] >= sum(path.stat().st_size for path in files.values())
    hour = told["rates"][-1]
    assert hour["seconds"] == 3600 and hour["items"] >= 2
    assert hour["events_per_second"] > 0 and hour["bytes_per_second"] > 0


def test_items_are_listed_the_last_change_first(operators: Operators, files: dict[str, Path]) -> None:
    items = operators.ask("/ingest/items", limit=10_000)["items"]
    assert [item["at"] for item in items] == sorted((item["at"] for item in items), reverse=True)
    mine = {item["file"]: item for item in items}
    for path in files.values():
        assert (mine[str(path)]["state"], mine[str(path)]["events"], mine[str(path)]["quarantined"]) == ("done", 20, 3)
    assert (
        operators.ask("/ingest/items", state="done", limit=1)["items"]
        == [item for item in items if item["state"] == "done"][:1]
    )
    assert all(item["state"] == "refused" for item in operators.ask("/ingest/items", state="refused")["items"])


def test_analysts_are_refused(operators: Operators) -> None:
    for path, body in (("/ingest", None), ("/ingest/items", None), ("/quarantine", None), ("/quarantine/retry", {})):
        check_problem(operators.open(path, "analyst", body), "forbidden")
