"""A source's answer says of each field its type, its meaning, and which indexes have its values since when.

In `make test`: it is short, on the stack of the run.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from ingest_support import RUN
from loaded import batch_of, write
from served import AnyToken

from watchfloor.api.rest.app import create_app
from watchfloor.api.rest.store_services import StoreServices
from watchfloor.schema.definition import parse_definition
from watchfloor.schema.settings.settings import Settings
from watchfloor.schema.source import Source
from watchfloor.schema.times import parse_time
from watchfloor.store.store import Store

pytestmark = pytest.mark.stack

FIELDS: list[dict[str, Any]] = [
    {"name": "ts", "type": "time", "ecs": "@timestamp"},
    {"name": "client", "type": "ip", "indexed": True, "ecs": "source.ip"},
    {"name": "domain", "type": "string", "indexed": True, "reversed": True},
    {"name": "tags", "type": "list", "items": "string", "indexed": True},
    {"name": "note", "type": "string"},
    {"name": "late", "type": "int"},
]


def make_source(late: dict[str, Any], layout: str) -> Source:
    return parse_definition(
        {
            "name": f"columns{RUN}.{layout}", "parser": {"format": "json"}, "timestamp": {"field": "ts"},
            "layout": layout, "fields": [*FIELDS[:-1], {**FIELDS[-1], **late}],
        }
    )  # fmt: skip


@pytest.fixture(scope="module", params=["cell", "block"])
def columns(store_settings: Settings, request: pytest.FixtureRequest) -> dict[str, dict[str, Any]]:
    """The fields of a source whose last field was indexed when there was an event already, by name."""
    with Store.open(store_settings) as store, store.sink() as sink:
        source = store.catalog.register(make_source({}, request.param))
        write(sink, source, 0, batch_of(source, [{"ts": datetime(2026, 1, 8, tzinfo=UTC), "late": 1}]))
        sink.flush()
        store.catalog.register(make_source({"indexed": True}, request.param))
    services = StoreServices(store_settings)
    client = create_app(services, AnyToken()).test_client()
    answer = client.get(f"/api/v1/sources/{source.name}", headers={"Authorization": "Bearer analyst"})
    services.close()
    assert answer.status_code == 200, answer.text
    assert [column["name"] for column in answer.json["columns"]] == [field["name"] for field in FIELDS]
    return {column["name"]: column for column in answer.json["columns"]}


def test_types_are_told(columns: dict[str, dict[str, Any]]) -> None:
    assert {name: column["type"] for name, column in columns.items()} == {
        "ts": "time", "client": "ip", "domain": "string", "tags": "list of string", "note": "string", "late": "int",
    }  # fmt: skip


def test_meanings_are_told(columns: dict[str, dict[str, Any]]) -> None:
    meanings = {name: (column.get("ecs"), column.get("kind")) for name, column in columns.items()}
    assert meanings["ts"][0] == "@timestamp" and meanings["client"] == ("source.ip", "ip")
    assert meanings["note"] == meanings["tags"] == meanings["late"] == (None, None)


def test_indexes_are_told_with_what_they_cover(columns: dict[str, dict[str, Any]]) -> None:
    indexes = {name: column["indexes"] for name, column in columns.items()}
    assert indexes["client"] == [{"kind": "indexed"}, {"kind": "sighted"}]
    assert indexes["domain"] == [{"kind": "indexed"}, {"kind": "reversed"}]
    assert indexes["tags"] == [{"kind": "indexed"}]
    assert indexes["ts"] == indexes["note"] == []
    (late,) = indexes["late"]
    assert late["kind"] == "indexed"
    assert parse_time(late["from"], 0) > parse_time("2026-01-08", 0), "the event before is not in it"
