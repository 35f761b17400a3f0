"""The command and the REST service say how long events are kept, change it, and say what a removal freed.

In `make test`: a source of a hundred events, on the stack of the run.
"""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from command_line import run_command
from ingest_support import RUN
from loaded import batch_of, write
from served import AnyToken

from watchfloor.api.cli.definitions import retention
from watchfloor.api.rest.app import create_app
from watchfloor.api.rest.store_services import StoreServices
from watchfloor.ingest.maintenance import expire
from watchfloor.schema.definition import parse_definition
from watchfloor.schema.errors import OperatorError
from watchfloor.schema.settings.settings import Settings
from watchfloor.schema.source import Source
from watchfloor.schema.times import to_micros
from watchfloor.store.encoding.keys import HOUR
from watchfloor.store.retention.policy import set_keep
from watchfloor.store.retention.removal import Removal, remove_expired
from watchfloor.store.runtime.file_lock import hold_file_lock
from watchfloor.store.store import Store

pytestmark = pytest.mark.stack
NAME = f"faces.kept{RUN}"


def list_policies(settings: Settings, *arguments: str) -> tuple[list[dict[str, Any]], str]:
    status, out, err = run_command(settings, "retention", *arguments, "--format", "ndjson")
    assert status == 0, err
    return [json.loads(line) for line in out.splitlines()], err


def fill(store: Store, name: str) -> Source:
    """Makes a source with an event in each of the last hundred hours."""
    now = datetime.now(UTC)
    fields = [{"name": "ts", "type": "time"}, {"name": "text", "type": "string", "indexed": True}]
    definition = {"name": name, "parser": {"format": "json"}, "timestamp": {"field": "ts"}, "fields": fields}
    source = store.catalog.register(parse_definition(definition))
    events = [{"ts": now - timedelta(hours=n), "text": f"text {n}" * 40} for n in range(100)]
    with store.sink() as sink:
        write(sink, source, 0, batch_of(source, events))
        sink.flush()
    return source


def ask_service(settings: Settings) -> dict[str, Any]:
    services = StoreServices(settings)
    client = create_app(services, AnyToken()).test_client()
    answer = client.get(f"/api/v1/sources/{NAME}", headers={"Authorization": "Bearer analyst"})
    services.close()
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json["retention"]
    return found


def test_command_and_service_tell_and_change_what_is_kept(store_settings: Settings) -> None:
    with Store.open(store_settings) as store:
        fill(store, NAME)
    rows, _ = list_policies(store_settings, NAME)
    assert {**rows[0], "bytes": 0, "oldest_day": ""} == {"name": NAME, "keep": "forever", "oldest_day": "", "bytes": 0}
    assert ask_service(store_settings) == {"keep": None, "kept_from": None}
    assert "nothing to remove" in list_policies(store_settings, NAME, "--apply")[1]

    rows, _ = list_policies(store_settings, NAME, "--keep", "2d12h")
    assert rows[0]["keep"] == "2d12h" and "removed_before" not in rows[0]
    told = ask_service(store_settings)
    shown_from = to_micros(datetime.fromisoformat(told["kept_from"]))
    assert told["keep"] == "2d12h" and shown_from % HOUR == 0
    assert 0 <= time.time_ns() // 1000 - 60 * HOUR - shown_from < HOUR + 60_000_000

    rows, said = list_policies(store_settings, NAME, "--apply")
    assert rows[0]["removed_before"] == rows[0]["kept_from"] is not None
    assert said.startswith(f"{NAME}: ") and " freed, " in said
    rows, _ = list_policies(store_settings, NAME, "--keep", "forever")
    assert rows[0]["keep"] == "forever" and rows[0]["kept_from"] == rows[0]["removed_before"] is not None
    _, counted, _ = run_command(store_settings, "count", NAME)
    assert counted.strip() in {"59", "60", "61", "62"}


def test_a_source_that_is_being_compacted_waits_for_the_next_removal(
    store_settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [f"faces.{name}{RUN}" for name in ("busy", "free")]
    with Store.open(store_settings) as store:
        sources = [fill(store, name) for name in names]
        for name in names:
            set_keep(store, name, 50 * HOUR)
    monkeypatch.setattr(retention, "_choose_sources", lambda store, name: sources[: 1 if name else 2])
    monkeypatch.setattr(expire, "remove_expired", lambda store, free: remove_expired(store, free, lambda seconds: None))
    with hold_file_lock(store_settings.home / f"compact-{names[0]}.lock", OperatorError("x")):
        status, out, err = run_command(store_settings, "retention", "--apply", "--format", "ndjson")
        assert status == 1 and f"another removal is running: {names[0]}; run" in err and err.startswith(names[1])
        assert ["removed_before" in json.loads(line) for line in out.splitlines()] == [False, True]
        status, out, err = run_command(store_settings, "retention", names[0], "--apply")
        assert (status, out) == (3, "") and f"watchfloor compact {names[0]}" in err
    given: list[list[Source]] = []
    monkeypatch.setattr(expire, "remove_expired", lambda store, free: given.append(free) or Removal((), 0, 0, 0))
    assert "left out" not in list_policies(store_settings, "--apply")[1]
    assert given == [sources]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--keep", "90d"], "--keep is for one source"),
        (["faces.none", "--keep", "90d"], "faces.none"),
        ([NAME, "--keep", "soon"], "'soon'"),
        ([NAME, "--keep", "59m"], "an hour at least"),
    ],
)
def test_what_does_not_fit_is_refused(store_settings: Settings, arguments: list[str], message: str) -> None:
    status, out, err = run_command(store_settings, "retention", *arguments)
    assert (status, out) == (2, "") and message in err and "Traceback" not in err
