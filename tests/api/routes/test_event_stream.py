"""The live tail sends events with their IDs as server-sent events, and says when there are none and when it ends.

In `make test`: it is short, on the stack of the run.
"""

from __future__ import annotations

import functools
import json
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from flask.testing import FlaskClient
from ingest_support import RUN
from loaded import LAYOUTS, batch_of, write
from rest_fakes import check_problem
from served import AnyToken

from watchfloor.api.rest.app import create_app
from watchfloor.api.rest.store_services import StoreServices
from watchfloor.schema.definition import parse_definition
from watchfloor.schema.settings.settings import Settings
from watchfloor.store.store import Store

pytestmark = pytest.mark.stack

BEARER = {"Authorization": "Bearer analyst"}
BOTH = ",".join(f"sse{RUN}.{layout}" for layout in LAYOUTS)


@functools.cache
def find_start() -> datetime:
    """Returns the time of the first event: that of the first use, as the tail begins with recent events."""
    return datetime.now(UTC).replace(microsecond=0)


@pytest.fixture(scope="module")
def store(store_settings: Settings) -> Iterator[Store]:
    with Store.open(store_settings) as opened:
        write_events(opened, 0, 5)
        yield opened


@pytest.fixture(scope="module")
def client(store: Store, store_settings: Settings) -> Iterator[FlaskClient]:
    services = StoreServices(store_settings)
    yield create_app(services, AnyToken()).test_client()
    services.close()


def write_events(store: Store, first: int, count: int) -> None:
    fields = [{"name": "ts", "type": "time"}, {"name": "n", "type": "int"}, {"name": "text", "type": "string"}]
    for layout in LAYOUTS:
        form = {
            "name": f"sse{RUN}.{layout}",
            "parser": {"format": "json"},
            "timestamp": {"field": "ts"},
            "layout": layout,
        }
        kind = store.catalog.register(parse_definition({**form, "fields": fields}))
        rows = [
            {"ts": find_start() + timedelta(seconds=n), "n": n, "text": f"a\nb\r\n: {n}"}
            for n in range(first, first + count)
        ]
        with store.sink() as sink:
            write(sink, kind, first, batch_of(kind, rows))
            sink.flush()


def read_messages(text: str) -> list[dict[str, str]]:
    """Returns the messages of a stream as the standard has them read; comments are ``{"": …}``."""
    messages = []
    for block in text.removesuffix("\n\n").split("\n\n"):
        lines = (line.split(":", 1) for line in block.split("\n"))
        messages.append({name: value.removeprefix(" ") for name, value in lines})
    return messages


def tail(client: FlaskClient, **query: Any) -> list[dict[str, str]]:
    answer = client.get("/api/v1/tail", query_string=query, headers=BEARER)
    assert (answer.status_code, answer.content_type) == (200, "text/event-stream"), answer.text
    return read_messages(answer.text)


def test_events_come_oldest_first_with_their_ids(client: FlaskClient, layout: str) -> None:
    *messages, last = tail(client, source=f"sse{RUN}.{layout}", limit=5)
    events = [json.loads(message["data"]) for message in messages]
    assert [event["n"] for event in events] == [0, 1, 2, 3, 4]
    assert events[2]["text"] == "a\nb\r\n: 2"
    assert [message["id"] for message in messages] == [event["_id"] for event in events]
    assert last["event"] == "summary" and json.loads(last["data"])["status"] == "limit"
    found = client.get(f"/api/v1/events/{messages[3]['id']}", headers=BEARER).json["event"]
    assert found == events[3]


def test_a_filter_columns_and_several_sources(client: FlaskClient) -> None:
    *messages, _ = tail(client, source=BOTH, where="n > 2", columns="n,_source", limit=4)
    events = [json.loads(message["data"]) for message in messages]
    assert sorted((event["n"], event["_source"]) for event in events) == sorted(
        (n, source) for n in (3, 4) for source in BOTH.split(",")
    )
    assert all(event.keys() == {"n", "_source", "_id"} for event in events)


def test_it_says_that_nothing_is_new_and_sends_what_comes(client: FlaskClient, store: Store) -> None:
    answer = client.get(f"/api/v1/tail?source=sse{RUN}.block&where=n>=100", headers=BEARER, buffered=False)
    parts = (part.decode() for part in answer.response)  # type: ignore[union-attr]
    assert next(parts) == ": nothing new\n\n"
    write_events(store, 100, 2)
    began = time.monotonic()
    found = next(part for part in parts if not part.startswith(":"))
    assert time.monotonic() - began < 30
    assert [json.loads(message["data"])["n"] for message in read_messages(found)] == [100, 101]
    answer.close()


def test_a_deadline_ends_it(client: FlaskClient) -> None:
    *messages, last = tail(client, source=f"sse{RUN}.cell", where="n < 0", deadline=1)
    assert messages and all(message.keys() == {""} for message in messages)
    assert json.loads(last["data"])["status"] == "deadline"


@pytest.mark.parametrize(
    ("query", "kind"),
    [
        ({}, "bad-parameter"),
        ({"source": "no.source"}, "unknown-source"),
        ({"source": BOTH, "where": "("}, "bad-filter"),
        ({"source": BOTH, "columns": "a,,b"}, "bad-request"),
        ({"source": BOTH, "until": "now"}, "bad-parameter"),
        ({"source": BOTH, "limit": "0"}, "bad-parameter"),
        ({"source": BOTH, "since": "soon"}, "bad-time-range"),
    ],
)
def test_a_tail_that_does_not_fit_is_refused(client: FlaskClient, query: dict[str, str], kind: str) -> None:
    check_problem(client.get("/api/v1/tail", query_string=query, headers=BEARER), kind)
