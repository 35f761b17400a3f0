"""With own columns each event of a query of several sources is the object that a query of its source alone prints.

In `make test`: it is short, on the stack of the run.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ingest_support import RUN
from loaded import batch_of, write
from query_strategies import QUERY_BATCHINGS, QUERY_PROFILE

from watchfloor.api.formats.writers import open_writer
from watchfloor.query.preparation.request import QueryRequest
from watchfloor.query.service import QueryService
from watchfloor.schema.choices import SCHEMES
from watchfloor.schema.definition import parse_definition
from watchfloor.schema.errors import UnknownFieldError, UnknownSourceError, UserError
from watchfloor.schema.settings.settings import Settings
from watchfloor.schema.source import Source
from watchfloor.store.store import Store

MIDNIGHT = datetime(2024, 3, 1, tzinfo=UTC)
PREFIX = f"own{RUN}"
ALL = f"{PREFIX}.*"
# ``size`` has another type in each, and ``time`` and ``event`` are names of fields.
FIELDS: dict[str, list[dict[str, Any]]] = {
    "flow": [
        {"name": "id.orig_h", "type": "ip", "indexed": True},
        {"name": "size", "type": "int"},
        {"name": "rate", "type": "float"},
    ],
    "mail": [
        {"name": "@name", "type": "string", "indexed": True},
        {"name": "size", "type": "string"},
        {"name": "to", "type": "list", "items": "string"},
        {"name": "sent", "type": "time"},
        {"name": "time", "type": "string"},
    ],
    "bare": [{"name": "spam", "type": "bool"}],
}
LAYOUTS = {"flow": "block", "mail": "cell", "bare": "block"}
TIMES = {"flow": "ts", "mail": "when", "bare": "event"}
EVENTS = {"flow": 120, "mail": 80, "bare": 40}


def source(name: str) -> Source:
    return parse_definition(
        {
            "name": f"{PREFIX}.{name}",
            "parser": {"format": "json"},
            "timestamp": {"field": TIMES[name]},
            "shards": 2,
            "layout": LAYOUTS[name],
            "fields": [FIELDS[name][0], {"name": TIMES[name], "type": "time"}, *FIELDS[name][1:]],
        }
    )


def make_event(name: str, number: int) -> dict[str, Any]:
    """A third of the events of all sources share one microsecond."""
    time = MIDNIGHT if number % 3 == 0 else MIDNIGHT + timedelta(minutes=number % 50 * 7 - 170)
    values: dict[str, Any] = {
        "id.orig_h": f"10.0.0.{number % 7}" if number % 5 else None,
        "size": f"{number} \\ \x01" if name == "mail" else number,
        "rate": number / 8,
        "@name": ("a", 'b"\n', "ü,{}", None)[number % 4],
        "to": (["x", 'y"'], [], None)[number % 3],
        "sent": time + timedelta(seconds=1) if number % 2 else None,
        "time": "own",
        "spam": (True, False, None)[number % 3],
    }
    return {TIMES[name]: time, **values}


@pytest.fixture(scope="module")
def service(store_settings: Settings) -> Iterator[QueryService]:
    with Store.open(store_settings) as writer, writer.sink() as sink:
        for name in FIELDS:
            kind = writer.catalog.register(source(name))
            write(sink, kind, 0, batch_of(kind, [make_event(name, number) for number in range(EVENTS[name])]), 20)
        sink.flush()
    with Store.open(store_settings, role="query") as opened:
        yield QueryService(opened)


def print_result(result: Any, form: str) -> bytes:
    """What the writer of a format makes of a result."""
    out = io.BytesIO()
    writer = open_writer(form, out)
    for batch in result:
        writer.write(batch)
    writer.close()
    return out.getvalue()


def ask(service: QueryService, request: QueryRequest) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """The rows as NDJSON has them, and the summary."""
    result = service.run(request)
    return [json.loads(line) for line in print_result(result, "ndjson").splitlines()], result.summary


requests = st.builds(
    QueryRequest,
    source=st.sampled_from([ALL, *(f"{PREFIX}.{n}" for n in FIELDS), f"{PREFIX}.mail,{PREFIX}.flow", f"{PREFIX}.?a*"]),
    where=st.sampled_from(
        [None, "size = 7", "exists size", "'id.orig_h' = 10.0.0.1", '"the \\"name\\"" = a', "spam = true"]
    ),
    scheme=st.sampled_from(SCHEMES),
    batching=QUERY_BATCHINGS,
    own_columns=st.just(True),
)


@settings(QUERY_PROFILE)
@given(requests)
def test_each_object_is_what_its_source_alone_prints(service: QueryService, request: QueryRequest) -> None:
    singly: dict[str, list[dict[str, Any]]] = {}
    for name in FIELDS:
        asked = replace(request, source=f"{PREFIX}.{name}", own_columns=False)
        try:
            singly[f"{PREFIX}.{name}"] = ask(service, asked)[0]
        except UnknownFieldError:
            continue
    try:
        rows, summary = ask(service, request)
    except UnknownFieldError:
        return
    assert [row["time"] for row in rows] == sorted((row["time"] for row in rows), reverse=True)
    assert all(list(row) == ["time", "_source", "event"] for row in rows)
    asked_of = set(summary["sources"]) | set(summary["settled"])
    for name in asked_of:
        own = [row for row in rows if row["_source"] == name]
        assert [row["event"] for row in own] == singly[name]
        assert [row["time"] for row in own] == [event[TIMES[name.rpartition(".")[2]]] for event in singly[name]]
    assert len(rows) == sum(len(singly[name]) for name in asked_of) == summary["rows"]


@settings(QUERY_PROFILE)
@given(requests, st.integers(1, 12))
def test_pages_are_the_whole(service: QueryService, request: QueryRequest, pages_most: int) -> None:
    try:
        whole, _ = ask(service, request)
    except UnknownFieldError:
        return
    pages: list[dict[str, Any]] = []
    limit = -(-len(whole) // pages_most) or 1
    page = replace(request, limit=limit)
    while True:
        rows, summary = ask(service, page)
        pages += rows
        if "cursor" not in summary:
            break
        assert len(rows) == limit
        page = replace(page, cursor=summary["cursor"])
    assert pages == whole


def test_the_cursor_of_one_source_is_not_that_of_its_own_columns(service: QueryService) -> None:
    request = QueryRequest(f"{PREFIX}.flow", limit=5)
    for own in (True, False):
        _, summary = ask(service, replace(request, own_columns=own))
        with pytest.raises(UserError, match="of another query"):
            ask(service, replace(request, own_columns=not own, cursor=summary["cursor"]))


def test_a_watch_shows_each_event_once(service: QueryService) -> None:
    watch = service.watch(QueryRequest(ALL, since=0, deadline=3, own_columns=True))
    rows = [json.loads(line) for line in print_result(watch, "ndjson").splitlines()]
    whole, _ = ask(service, QueryRequest(ALL, own_columns=True))
    assert watch.summary["polls"] > 1 and rows == whole[::-1]


def test_other_formats_have_the_object_as_json_text(service: QueryService) -> None:
    request = QueryRequest(f"{PREFIX}.mail,{PREFIX}.bare", own_columns=True)
    rows, _ = ask(service, request)
    objects = [row["event"] for row in rows]
    lines = list(csv.DictReader(io.StringIO(print_result(service.run(request), "csv").decode(), newline="")))
    assert [json.loads(line["event"]) for line in lines] == objects
    assert [(line["time"], line["_source"]) for line in lines] == [(row["time"], row["_source"]) for row in rows]
    table = pa.ipc.open_stream(print_result(service.run(request), "arrow")).read_all()
    assert table.schema.field("event").type == pa.json_(pa.string())
    assert [json.loads(text) for text in table["event"].to_pylist()] == objects
    # The first page decides how wide the columns are.
    header, *printed = print_result(service.run(replace(request, limit=20)), "table").decode().splitlines()
    assert header.split() == ["time", "_source", "event"]
    assert [json.loads(line[line.index("{") :]) for line in printed] == objects[:20]


def test_what_does_not_fit_is_refused(service: QueryService) -> None:
    for request, error in (
        (QueryRequest(ALL, columns=("size",), own_columns=True), UserError),
        (QueryRequest(f"{PREFIX}.nothing", own_columns=True), UnknownSourceError),
        (QueryRequest(ALL, where="missing = 1", own_columns=True), UnknownFieldError),
        (QueryRequest(f"{PREFIX}.flow", until=5, own_columns=True), UserError),
    ):
        with pytest.raises(error):
            service.watch(request)
