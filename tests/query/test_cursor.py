"""A cursor continues exactly after the last row, and all pages together are the whole answer.

In `make test`: it is short, on the stack of the run.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ingest_support import RUN
from loaded import LAYOUTS, batch_of, write
from query_strategies import QUERY_BATCHINGS, QUERY_PROFILE

from watchfloor.query.preparation.cursor import Cursor, read_cursor
from watchfloor.query.preparation.request import QueryRequest
from watchfloor.query.service import QueryService
from watchfloor.schema.choices import SCHEMES
from watchfloor.schema.definition import parse_definition
from watchfloor.schema.errors import UserError
from watchfloor.schema.filter.type_check import read_filter
from watchfloor.schema.settings.settings import Settings
from watchfloor.schema.source import Source
from watchfloor.schema.times import END_OF_TIME, to_micros
from watchfloor.store.encoding.keys import MAX_TIME
from watchfloor.store.store import Store

MIDNIGHT = datetime(2024, 3, 1, tzinfo=UTC)
EVENTS = 420
FILES = 3
FILTERS = (None, "who = a", "who = a and size < 3", "who = a or who = b", "size > 1", "size = 9", "not tag = x")
COLUMNS = (None, ("ts", "who"), ("size",))


def source(name: str, layout: str = "block", **time: str) -> Source:
    return parse_definition(
        {
            "name": f"pages{RUN}.{name}",
            "parser": {"format": "json"},
            "timestamp": {"field": "ts"},
            "shards": 3,
            "layout": layout,
            "visibility": "staff" if time else "",
            "fields": [
                {"name": "ts", "type": "time", **time},
                {"name": "who", "type": "string", "indexed": True},
                {"name": "size", "type": "int", "indexed": True},
                {"name": "tag", "type": "string"},
            ],
        }
    )


def events() -> list[dict[str, Any]]:
    """Around midnight: a third in one microsecond, a third in its neighbours, the others over hours."""
    moments = (
        lambda n: MIDNIGHT,
        lambda n: MIDNIGHT + timedelta(microseconds=n % 5 - 2),
        lambda n: MIDNIGHT + timedelta(minutes=n % 50 * 7 - 170),
    )
    return [{"ts": moments[n % 3](n), "who": "aabc"[n % 4], "size": n % 5, "tag": f"{n}"} for n in range(EVENTS)]


@pytest.fixture(scope="module")
def store(store_settings: Settings) -> Iterator[Store]:
    with Store.open(store_settings) as writer, writer.sink() as sink:
        sources = [source(layout, layout) for layout in LAYOUTS] + [source("hidden", visibility="clock")]
        for kind in map(writer.catalog.register, sources):
            for file in range(FILES):
                write(sink, kind, file, batch_of(kind, events()[file::FILES]), block_rows=20)
        sink.flush()
    with Store.open(store_settings, role="query") as opened:
        yield opened


def rows(service: QueryService, request: QueryRequest) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    result = service.run(request)
    return [row for batch in result for row in batch.to_pylist()], result.summary


requests = st.builds(
    QueryRequest,
    source=st.just(""),
    since=st.none() | st.integers(-2, 2).map(lambda n: (MIDNIGHT + timedelta(microseconds=n)).timestamp()),
    where=st.sampled_from(FILTERS),
    scheme=st.sampled_from(SCHEMES),
    batching=QUERY_BATCHINGS,
)


@pytest.mark.stack
@pytest.mark.parametrize("layout", LAYOUTS)
@given(asked=requests, sizes=st.lists(st.integers(1, 200), min_size=1, max_size=4))
@settings(QUERY_PROFILE)
def test_pages_together_are_the_whole_answer(layout: str, asked: QueryRequest, sizes: list[int], store: Store) -> None:
    service = QueryService(store)
    since = None if asked.since is None else round(asked.since * 1_000_000)
    asked = replace(asked, source=source(layout, layout).name, since=since)
    whole, summary = rows(service, asked)
    assert summary["status"] == "complete" and "cursor" not in summary
    found: list[dict[str, Any]] = []
    cursor, pages = None, 0
    # Whatever the pages' sizes, few enough: the last one takes what is left.
    while pages < 12:
        limit = sizes[pages % len(sizes)] if pages < 11 else EVENTS + 1
        page, summary = rows(service, replace(asked, limit=limit, cursor=cursor))
        found, pages = found + page, pages + 1
        assert len(page) == summary["rows"] <= limit
        cursor = summary.get("cursor")
        if summary["status"] == "complete":
            break
        assert len(page) == limit and cursor is not None
    assert found == whole
    assert summary["status"] == "complete"


@pytest.mark.stack
@pytest.mark.parametrize("scheme", ["batched-scan", "batched-index"])
def test_every_size_of_page_in_the_midst_of_ties(layout: str, scheme: str, store: Store) -> None:
    """One microsecond with more events than blocks have, in pages of one to all."""
    service, name = QueryService(store), source(layout, layout).name
    micros = int(MIDNIGHT.timestamp()) * 1_000_000
    asked = QueryRequest(name, micros, micros + 1, where="who = a", scheme=scheme)
    whole, _ = rows(service, asked)
    assert len(whole) > 80
    for limit in (1, 2, 7, 19, 20, 21, len(whole) - 1, len(whole)):
        found: list[dict[str, Any]] = []
        cursor, summary = None, {"status": "limit"}
        while summary["status"] == "limit":
            page, summary = rows(service, replace(asked, limit=limit, cursor=cursor))
            found, cursor = found + page, summary.get("cursor")
            if len(found) >= 25 and limit == 1:
                break
        assert found == whole[: len(found)] and (limit == 1 or len(found) == len(whole))


@pytest.mark.stack
def test_columns_and_limit_may_change_from_page_to_page(layout: str, store: Store) -> None:
    service, name = QueryService(store), source(layout, layout).name
    whole, _ = rows(service, QueryRequest(name))
    cursor, at = None, 0
    for columns, limit in ((("tag",), 100), (None, 30), (("tag", "who"), 210), (("ts",), None)):
        page, summary = rows(service, QueryRequest(name, columns=columns, limit=limit, cursor=cursor))
        for row, same in zip(page, whole[at:], strict=False):
            assert row == {key: same[key] for key in row}
        at, cursor = at + len(page), summary.get("cursor")
    assert at == len(whole) and cursor is None


@pytest.mark.stack
def test_a_cursor_keeps_the_time_range_that_was_asked_for(layout: str, store: Store) -> None:
    service, name = QueryService(store), source(layout, layout).name
    since = int(MIDNIGHT.timestamp() * 1e6) - 60_000_000
    whole, _ = rows(service, QueryRequest(name, since))
    page, summary = rows(service, QueryRequest(name, since, limit=150))
    more, _ = rows(service, QueryRequest(name, cursor=summary["cursor"]))
    assert page + more == whole and 150 < len(whole) < EVENTS


@pytest.mark.stack
def test_a_result_that_is_left_says_where(layout: str, store: Store) -> None:
    service, name = QueryService(store), source(layout, layout).name
    whole, _ = rows(service, QueryRequest(name))
    result = service.run(QueryRequest(name))
    first = next(iter(result)).to_pylist()
    result.close()
    assert result.summary["status"] == "cancelled"
    more, _ = rows(service, QueryRequest(name, cursor=result.summary["cursor"]))
    assert first + more == whole


@pytest.mark.stack
def test_a_cursor_of_another_query_is_refused(layout: str, store: Store) -> None:
    service, name = QueryService(store), source(layout, layout).name
    cursor = rows(service, QueryRequest(name, where="who = a", limit=3))[1]["cursor"]
    others: tuple[dict[str, Any], ...] = (
        {"where": None}, {"where": "who = b"}, {"source": source(*(2 * [({*LAYOUTS} - {layout}).pop()])).name},
    )  # fmt: skip
    for other in others:
        with pytest.raises(UserError, match="of another query"):
            service.run(replace(QueryRequest(name, where="who = a", cursor=cursor), **other))
    with pytest.raises(UserError, match="damaged"):
        service.run(QueryRequest(name, where="who = a", cursor=cursor[:-1]))


@pytest.mark.stack
def test_who_may_not_see_where_events_come_from_gets_no_cursor(store: Store) -> None:
    """The label of the time lets it see that there are events, but what tells them apart has that of the source."""
    name = source("hidden", visibility="clock").name
    blind, seeing = (QueryService(store.with_authorizations(labels)) for labels in (("clock",), ("clock", "staff")))
    # It sees no counts either: only a scan of a range that it names has events for it.
    since = int(MIDNIGHT.timestamp()) * 1_000_000
    page, summary = rows(blind, QueryRequest(name, since, since + 1, limit=10, scheme="scan"))
    assert len(page) == 10 and summary["status"] == "limit"
    assert "cursor" not in summary and "may not see where events come from" in summary["no_cursor"]
    assert "cursor" in rows(seeing, QueryRequest(name, limit=10))[1]


# The text


KIND = source("text")
TREE = read_filter("who = a", KIND)
cursors = st.builds(
    lambda time, tie, back: Cursor((MAX_TIME - time).to_bytes(8, "big") + tie.to_bytes(8, "big"), max(0, time - back)),
    st.integers(0, 2**53),
    st.integers(1, 2**64 - 1),
    st.integers(0, 2**53),
)


@given(cursors)
def test_a_cursor_comes_back_from_its_text(cursor: Cursor) -> None:
    text = cursor.to_text(KIND.name, TREE)
    assert read_cursor(text, KIND.name, TREE) == cursor
    assert text.isascii() and text.replace("-", "").replace("_", "").isalnum()
    with pytest.raises(UserError, match="of another query"):
        read_cursor(text, KIND.name, None)


@given(cursors, st.data())
def test_a_damaged_cursor_is_refused(cursor: Cursor, data: st.DataObject) -> None:
    text = cursor.to_text(KIND.name, TREE)
    whole = bytearray(base64.urlsafe_b64decode(text + "=="))
    place = data.draw(st.integers(0, len(whole) - 1))
    whole[place] ^= data.draw(st.integers(1, 255))
    damaged = data.draw(
        st.sampled_from([base64.urlsafe_b64encode(whole).decode().rstrip("="), text[:place], "é" + text])
    )
    with pytest.raises(UserError, match="damaged"):
        read_cursor(damaged, KIND.name, TREE)


@given(
    time=st.sampled_from([-1, END_OF_TIME, MAX_TIME, MAX_TIME - 2**64 + 1, 5])
    | st.integers(MAX_TIME - 2**64 + 1, MAX_TIME),
    since=st.sampled_from([0, 6, END_OF_TIME, 2**64 - 1]) | st.integers(0, 2**64 - 1),
    tie=st.integers(0, 1),
)
def test_a_forged_cursor_is_refused_unless_it_could_be_real(time: int, since: int, tie: int) -> None:
    """Forged means: with the right digest and check sum."""
    key = (MAX_TIME - time).to_bytes(8, "big") + tie.to_bytes(8, "big")
    text = Cursor(key, since).to_text(KIND.name, TREE)
    if tie and 0 <= since <= time < END_OF_TIME:
        assert read_cursor(text, KIND.name, TREE) == Cursor(key, since)
    else:
        with pytest.raises(UserError, match="damaged"):
            read_cursor(text, KIND.name, TREE)


@pytest.mark.stack
def test_a_forged_cursor_that_could_be_real_is_a_place_like_any_other(layout: str, store: Store) -> None:
    service, name = QueryService(store), source(layout, layout).name
    whole, _ = rows(service, QueryRequest(name))
    for time in (0, int(MIDNIGHT.timestamp() * 1e6), END_OF_TIME - 1):
        cursor = Cursor((MAX_TIME - time).to_bytes(8, "big") + b"\xff" * 8, 0)
        page, summary = rows(service, QueryRequest(name, cursor=cursor.to_text(name, None)))
        assert page == [row for row in whole if to_micros(row["ts"]) < time] and summary["status"] == "complete"
