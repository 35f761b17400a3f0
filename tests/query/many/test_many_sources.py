"""Queries of several sources equal the merge of the queries of each, and pages by cursor equal the whole.

In `make test`: it is short, on the stack of the run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ingest_support import RUN
from loaded import batch_of, write
from query_strategies import QUERY_BATCHINGS, QUERY_PROFILE

from watchfloor.api.cli.reading.summaries import format_summary
from watchfloor.query.many.selection import choose_sources, names_several
from watchfloor.query.preparation.request import QueryRequest
from watchfloor.query.service import QueryService
from watchfloor.schema.choices import SCHEMES
from watchfloor.schema.definition import parse_definition
from watchfloor.schema.errors import UnknownFieldError, UnknownSourceError, UserError
from watchfloor.schema.settings.settings import Settings
from watchfloor.schema.source import Source
from watchfloor.schema.times import to_micros
from watchfloor.store.store import Store

MIDNIGHT = datetime(2024, 3, 1, tzinfo=UTC)
PREFIX = f"many{RUN}"
ALL = f"{PREFIX}.*"
FIELDS: dict[str, list[dict[str, Any]]] = {
    "web": [
        {"name": "who", "type": "string", "indexed": True, "ecs": "user.name"},
        {"name": "size", "type": "int", "indexed": True},
    ],
    # A size of another type, and a list.
    "mail": [{"name": "who", "type": "string", "indexed": True, "ecs": "user.name"}, {"name": "size", "type": "float"}],
    "host": [
        {"name": "name", "type": "string", "ecs": "user.name"},
        {"name": "tags", "type": "list", "items": "string"},
    ],
    "late": [{"name": "who", "type": "string"}, {"name": "size", "type": "int"}],
}
LAYOUTS = {"web": "block", "mail": "cell", "host": "block", "late": "cell"}
EVENTS = {"web": 200, "mail": 150, "host": 90, "late": 40}
FILTERS = (
    None,
    "who = a",
    "who = a or size > 2",
    "size <= 1",
    "not who = b",
    "who = nobody",
    "exists name",
    'who = "c"',
    "user = a",
    "user.name = n3",
    "any contains a",
    "length(user) = 2 and any != n11",
    "size * 2 > 3",
)
QUERIES = ("*.web", "web,mail", "*", "late,host", "host")


def source(name: str) -> Source:
    return parse_definition(
        {
            "name": f"{PREFIX}.{name}",
            "parser": {"format": "json"},
            "timestamp": {"field": "ts"},
            "shards": 2,
            "layout": LAYOUTS[name],
            "fields": [{"name": "ts", "type": "time"}, *FIELDS[name]],
        }
    )


def make_event(name: str, number: int) -> dict[str, Any]:
    """A third of the events of all sources share one microsecond, a third its neighbours, the others are over hours."""
    moments = (
        MIDNIGHT,
        MIDNIGHT + timedelta(microseconds=number % 5 - 2),
        MIDNIGHT + timedelta(minutes=number % 50 * 7 - (170 if name != "late" else 1000)),
    )
    event = {"ts": moments[number % 3], "who": "aabc"[number % 4], "size": number % 5, "name": f"n{number}"}
    return {**event, "tags": ["x", f"t{number}"]}


@pytest.fixture(scope="module")
def service(store_settings: Settings) -> Iterator[QueryService]:
    with Store.open(store_settings) as writer, writer.sink() as sink:
        for name in FIELDS:
            kind = writer.catalog.register(source(name))
            rows = [make_event(name, number) for number in range(EVENTS[name])]
            for file in range(2):
                write(sink, kind, file, batch_of(kind, rows[file::2]), block_rows=20)
        sink.flush()
    with Store.open(store_settings, role="query") as opened:
        yield QueryService(opened)


def pattern(names: str) -> str:
    return ",".join(f"{PREFIX}.{name.removeprefix('*.')}" for name in names.split(","))


def run(service: QueryService, request: QueryRequest) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    result = service.run(request)
    return [row for batch in result for row in batch.to_pylist()], result.summary


requests = st.builds(
    QueryRequest,
    source=st.sampled_from(QUERIES).map(pattern).map(lambda text: f"{text},{text}"),
    since=st.none() | st.integers(-3, 3).map(lambda n: to_micros(MIDNIGHT + timedelta(microseconds=n))),
    until=st.none() | st.integers(4, 6).map(lambda n: to_micros(MIDNIGHT + timedelta(minutes=n * 20))),
    where=st.sampled_from(FILTERS),
    scheme=st.sampled_from(SCHEMES),
    batching=QUERY_BATCHINGS,
)


def ask_singly(service: QueryService, request: QueryRequest) -> dict[str, list[dict[str, Any]]]:
    """The events of each source that the request fits, by a query of its own; others are left out."""
    found = {}
    for name in dict.fromkeys(name.strip() for name in request.source.split(",")):
        names = [f"{PREFIX}.{kind}" for kind in FIELDS] if name.endswith("*") else [name]
        for one in names:
            try:
                found[one] = run(service, replace(request, source=one))[0]
            except UnknownFieldError:
                continue
    return found


@settings(QUERY_PROFILE)
@given(requests)
def test_the_stream_is_the_merge_of_all_sources(service: QueryService, request: QueryRequest) -> None:
    singly = ask_singly(service, request)
    request = replace(request, columns=("time", "_source", "event"))
    if not singly:
        with pytest.raises(UnknownFieldError):
            run(service, request)
        return
    rows, summary = run(service, request)
    assert [row["time"] for row in rows] == sorted((row["time"] for row in rows), reverse=True)
    for name, expected in singly.items():
        own = [row for row in rows if row["_source"] == name]
        assert [row["time"] for row in own] == [event["ts"] for event in expected]
        assert [row["event"] for row in own] == [render(event) for event in expected]
    assert len(rows) == sum(map(len, singly.values())) == summary["rows"]
    assert set(summary["sources"]) | set(summary["settled"]) == set(singly)
    assert summary["status"] == "complete"


def render(event: dict[str, Any]) -> str:
    return " ".join(f"{name}={to_text(v)}" for name, v in event.items() if name != "ts" and v is not None)


def to_text(value: Any) -> str:
    return ",".join(value) if isinstance(value, list) else f"{value:g}" if isinstance(value, float) else str(value)


@settings(QUERY_PROFILE)
@given(requests.filter(lambda request: request.where != "exists name"), st.integers(1, 12))
def test_pages_are_the_whole(service: QueryService, request: QueryRequest, pages_most: int) -> None:
    try:
        whole, _ = run(service, request)
    except UnknownFieldError:
        return
    pages: list[dict[str, Any]] = []
    limit = -(-len(whole) // pages_most) or 1
    page = replace(request, limit=limit)
    while True:
        rows, summary = run(service, page)
        assert len(rows) <= limit
        pages += rows
        if "cursor" not in summary:
            break
        assert len(rows) == limit
        page = replace(page, cursor=summary["cursor"], since=None, until=None)
    assert pages == whole


def test_columns_have_the_type_that_all_sources_have_or_text(service: QueryService) -> None:
    request = QueryRequest(pattern("web,mail,host"), columns=("who", "size", "tags", "_source", "time"), limit=200)
    rows, _ = run(service, request)
    kinds = {row["_source"].rpartition(".")[2]: row for row in rows}
    assert set(kinds) == {"web", "mail", "host"}
    assert re.fullmatch(r"\d", kinds["web"]["size"]) and isinstance(kinds["mail"]["size"], str)
    assert kinds["host"]["size"] is None and kinds["host"]["tags"][0] == "x" and kinds["web"]["tags"] is None
    result = service.run(QueryRequest(pattern("web,late"), columns=("size",), limit=1))
    assert all(isinstance(row["size"], int) for batch in result for row in batch.to_pylist())


def test_a_column_may_be_an_ecs_name_or_a_kind(service: QueryService) -> None:
    request = QueryRequest(pattern("web,host"), where="user = a or user = n3", columns=("_source", "user", "user.name"))
    rows, summary = run(service, request)
    users = {row["_source"].rpartition(".")[2]: row["user"] for row in rows}
    assert users == {"web": "a", "host": "n3"} and all(row["user"] == row["user.name"] for row in rows)
    assert "user stands for who" in summary["sources"][f"{PREFIX}.web"]["notes"]


def test_the_summary_says_which_sources_are_left_out_and_why(service: QueryService) -> None:
    rows, summary = run(service, QueryRequest(f"{PREFIX}.web,{PREFIX}.host", where="who = a"))
    assert {row["_source"] for row in rows} == {f"{PREFIX}.web"}
    assert summary["left_out"][f"{PREFIX}.host"].startswith("it has no field 'who'; ")
    assert f"  {PREFIX}.host: left out, it has no field 'who'; " in format_summary(summary)
    _, summary = run(service, QueryRequest(f"{PREFIX}.web,{PREFIX}.mail", where="size = 1.5"))
    assert summary["left_out"] == {f"{PREFIX}.web": "field size is an int: '1.5' is not a whole number"}
    rows, summary = run(service, QueryRequest(f"{PREFIX}.web,{PREFIX}.mail", where="who = nobody"))
    assert not rows and summary["settled"] == [f"{PREFIX}.mail", f"{PREFIX}.web"]
    explained = service.explain(QueryRequest(pattern("web,mail,host"), where="who = a"))
    assert explained.to_text().count(f"{PREFIX}.host") == 1
    for words in (f"{PREFIX}.web\n  scheme", "left out: it has no field", "batching "):
        assert words in explained.to_text()


def test_what_no_source_fits_is_refused(service: QueryService) -> None:
    for request, error in (
        (QueryRequest(f"{PREFIX}.web,{PREFIX}.nothing"), UnknownSourceError),
        (QueryRequest(f"{PREFIX}.no*"), UserError),
        (QueryRequest(f"{PREFIX}.web,,"), UserError),
        (QueryRequest(ALL, where="missing = 1"), UnknownFieldError),
        (QueryRequest(ALL, columns=("missing",)), UserError),
        (QueryRequest(ALL, where="who ="), UserError),
        (QueryRequest(ALL, limit=0), UserError),
        (QueryRequest(ALL, cursor="AAAA"), UserError),
    ):
        with pytest.raises(error):
            run(service, request)


def test_a_watch_of_several_sources_shows_each_event_once(service: QueryService) -> None:
    request = QueryRequest(pattern("web,mail"), since=0, columns=("time", "_source", "event"), deadline=3)
    watch = service.watch(request)
    rows = [row for batch in watch for row in batch.to_pylist()]
    assert watch.summary["polls"] > 1 and watch.summary["status"] == "deadline"
    assert len(rows) == EVENTS["web"] + EVENTS["mail"]
    assert [row["time"] for row in rows] == sorted(row["time"] for row in rows)


def test_a_cursor_of_other_sources_is_refused(service: QueryService) -> None:
    _, summary = run(service, QueryRequest(ALL, limit=5))
    for other in (pattern("web,mail"), f"{PREFIX}.web"):
        with pytest.raises(UserError, match="of another query"):
            run(service, QueryRequest(other, cursor=summary["cursor"]))


def test_patterns_choose_sources() -> None:
    known = ["zeek.http", "zeek.conn", "web.access"]
    assert choose_sources("*", known) == ("web.access", "zeek.conn", "zeek.http")
    assert choose_sources("zeek.*, web.access,zeek.conn", known) == ("web.access", "zeek.conn", "zeek.http")
    assert choose_sources("zeek.h???", known) == ("zeek.http",)
    assert names_several("a.b,c.d") and names_several("a.*") and not names_several("a.b")
    with pytest.raises(UnknownSourceError, match=r"zeek\.http"):
        choose_sources("zeek.htp", known)
