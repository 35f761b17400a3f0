"""A sort over labels, ties, slices of the time range, a deadline, and several sources, on real servers.

In `make test`: it is short, on the stack of the run.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from ingest_support import RUN
from loaded import LAYOUTS, batch_of, write

from watchfloor.query.batches import slices
from watchfloor.query.preparation.request import QueryRequest
from watchfloor.query.service import QueryService
from watchfloor.query.sorting import run as sorted_run
from watchfloor.query.sorting.found_rows import FoundRows
from watchfloor.schema.choices import SCHEMES
from watchfloor.schema.definition import parse_definition
from watchfloor.schema.errors import FilterError, UnknownFieldError, UserError
from watchfloor.schema.settings.settings import Settings
from watchfloor.schema.source import Source
from watchfloor.schema.stats.tree import Order
from watchfloor.store.encoding.keys import KEY_BYTES
from watchfloor.store.layout import TopRequest
from watchfloor.store.layouts.registry import find_layout
from watchfloor.store.sorting.keys import compile_sort
from watchfloor.store.store import Store

pytestmark = pytest.mark.stack

START = datetime(2024, 2, 29, 20, tzinfo=UTC)
EVENTS = 900
FIELDS = [
    {"name": "ts", "type": "time"},
    {"name": "who", "type": "string", "indexed": True},
    {"name": "rate", "type": "float"},
    {"name": "tags", "type": "list", "items": "string"},
    {"name": "number", "type": "int"},
]


def source(layout: str, kind: str = "events", size: str = "int") -> Source:
    """A source whose field ``size`` is of a type; it has none if that is empty."""
    fields = [*FIELDS, *([{"name": "size", "type": size, "visibility": "secret"}] if size else [])]
    definition = {"parser": {"format": "json"}, "timestamp": {"field": "ts"}, "shards": 3, "visibility": "staff"}
    return parse_definition({**definition, "name": f"{layout}{RUN}.{kind}", "layout": layout, "fields": fields})


@pytest.fixture(scope="module")
def events() -> list[dict[str, Any]]:
    """Eight hours around midnight; every tenth microsecond has ten events, and most values come several times."""
    return [
        {
            "ts": START + timedelta(seconds=32 * (n // 10 * 10 if n % 100 < 10 else n)),
            "who": "abc"[n % 3] if n % 11 else None,
            "size": n * 7919 % 101 if n % 7 else None,
            "rate": n % 13 / 4 if n % 5 else None,
            "tags": ["x"],
            "number": n,
        }
        for n in range(EVENTS)
    ]


@pytest.fixture(scope="module")
def store(store_settings: Settings, events: list[dict[str, Any]]) -> Iterator[Store]:
    with Store.open(store_settings) as writer, writer.sink() as sink:
        sources = [source(layout) for layout in LAYOUTS]
        others = [source(layout, "others") for layout in LAYOUTS]
        odd = [source("block", "texts", size="string"), source("block", "without", size="")]
        for kind in map(writer.catalog.register, [*sources, *others, *odd]):
            texts = [{**e, "size": None if e["size"] is None else str(e["size"])} for e in events]
            for item in range(3):
                mine = (texts if kind.name.endswith("texts") else events)[item::3]
                write(sink, kind, item, batch_of(kind, mine), block_rows=50)
        sink.flush()
    with Store.open(store_settings, role="query") as opened:
        yield opened


def ask(store: Store, request: QueryRequest, *labels: str) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    result = QueryService(store.with_authorizations(("staff", *labels))).run(request)
    return [row for batch in result for row in batch.to_pylist()], result.summary


@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_rows_come_in_the_order(layout: str, scheme: str, store: Store, events: list[dict[str, Any]]) -> None:
    request = QueryRequest(source(layout).name, where="who = a", sort="-size, ts", limit=20, scheme=scheme)
    found, summary = ask(store, request, "secret")
    wanted = [e for e in events if e["who"] == "a" and e["size"] is not None]
    wanted.sort(key=lambda e: (-e["size"], e["ts"]))
    assert [(row["size"], row["ts"]) for row in found] == [(e["size"], e["ts"]) for e in wanted[:20]]
    assert summary["status"] == "limit"
    assert "order: top 20 by -size, ts on the tablet servers" in summary["plan"]["notes"]
    explained = QueryService(store.with_authorizations(("staff", "secret"))).explain(request).to_text()
    assert "top 20 by -size, ts on the tablet servers" in explained and "slice 1 of 1" in explained


def test_hidden_fields_have_no_order(layout: str, store: Store) -> None:
    """A field that the reader may not see is none, so neither its values nor their order show."""
    request = QueryRequest(source(layout).name, sort="-size", limit=5)
    assert len(ask(store, request, "secret")[0]) == 5
    with pytest.raises(UnknownFieldError, match="has no field 'size'"):
        ask(store, request)
    _, summary = ask(store, request, "secret")
    with pytest.raises(UnknownFieldError, match="has no field 'size'"):
        ask(store, replace(request, cursor=summary["cursor"]))


def test_labels_changed_after_the_definition_was_read_show_nothing(
    layout: str, store: Store, events: list[dict[str, Any]]
) -> None:
    """Whoever knows the field from elsewhere finds only nulls in it, in the order of the keys."""
    kind = source(layout)
    request = TopRequest(0, 2**52, None, compile_sort([Order("size", True)], kind), 10_000)
    reader = store.with_authorizations(("staff",)).snapshot()
    keys = [
        key for batch in find_layout(kind).find_top(reader, kind, request) for key in batch.column("key").to_pylist()
    ]
    assert len(keys) == EVENTS
    assert {key[:-KEY_BYTES] for key in keys} == {b"\x02"}


def test_pages_join_to_the_whole(layout: str, store: Store) -> None:
    """Ten values over 900 events: nearly all pages end within ties."""
    for sort in ("rate", "-rate, who", "ts", "-ts", "who, -rate"):
        request = QueryRequest(source(layout).name, sort=sort, limit=2_000, columns=("number",))
        whole = [row["number"] for row in ask(store, request)[0]]
        assert sorted(whole) == list(range(EVENTS))
        joined: list[int] = []
        cursor = None
        while True:
            page, summary = ask(store, replace(request, limit=170, cursor=cursor))
            joined += [row["number"] for row in page]
            if summary["status"] == "complete":
                break
            cursor = summary["cursor"]
        assert joined == whole, sort


def test_newest_first_is_the_order_without_a_sort(layout: str, store: Store) -> None:
    name = source(layout).name
    plain, _ = ask(store, QueryRequest(name, limit=200))
    assert ask(store, QueryRequest(name, sort="-ts", limit=200))[0] == plain


@pytest.mark.parametrize("sort", ["-rate, who", "ts", "-ts"])
def test_slices_of_the_range_make_no_difference(
    layout: str, sort: str, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = QueryRequest(source(layout).name, sort=sort, limit=150)
    whole, summary = ask(store, request)
    assert summary["batches"] == 1
    monkeypatch.setattr(slices, "FIRST_EVENTS", 40)
    monkeypatch.setattr(sorted_run, "FETCH_SECONDS", 0.0)
    rows, summary = ask(store, request)
    assert rows == whole
    # In the order of time the first slices have all rows.
    assert 2 <= summary["batches"] <= (3 if "ts" in sort else 9)


def test_a_deadline_leaves_a_part_without_a_cursor(layout: str, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slices, "FIRST_EVENTS", 40)
    monkeypatch.setattr(sorted_run, "FETCH_SECONDS", 0.0)
    fetch = FoundRows.fetch_rows
    service = QueryService(store.with_authorizations(("staff",)))
    result = service.run(QueryRequest(source(layout).name, sort="-rate", limit=10, deadline=600))
    fetched: list[int] = []

    def fetch_and_end(found: FoundRows, reader: Any) -> None:
        fetch(found, reader)
        fetched.append(1)
        if len(fetched) == 2:
            result._stop.end_query("deadline")

    monkeypatch.setattr(FoundRows, "fetch_rows", fetch_and_end)
    rows = [row for batch in result for row in batch.to_pylist()]
    assert len(rows) == 10 and [row["rate"] for row in rows] == sorted((r["rate"] for r in rows), reverse=True)
    assert result.summary["status"] == "deadline" and result.summary["batches"] == 3
    assert "cursor" not in result.summary and "more time" in result.summary["no_cursor"]


def test_a_cancelled_query_has_no_rows(layout: str, store: Store) -> None:
    result = QueryService(store.with_authorizations(("staff",))).run(
        QueryRequest(source(layout).name, sort="-rate", limit=10)
    )
    result.close()
    assert list(result) == [] and result.summary["status"] == "cancelled"


@pytest.mark.parametrize("own", [False, True])
def test_several_sources_are_sorted_together(own: bool, store: Store, events: list[dict[str, Any]]) -> None:
    request = QueryRequest(
        f"block{RUN}.events,cell{RUN}.*", where="who = a", sort="-size, time", limit=50, own_columns=own
    )
    whole, summary = ask(store, replace(request, limit=5_000), "secret")
    assert summary["status"] == "complete" and len(summary["sources"]) == 3
    times = {(e["size"], e["ts"]) for e in events if e["who"] == "a"}
    wanted = sorted((pair for pair in times if pair[0] is not None), key=lambda pair: (-pair[0], pair[1]))
    if not own:
        pairs = [(row["size"], row["time"]) for row in whole if row["size"] is not None]
        assert list(dict.fromkeys(pairs)) == wanted
        assert [row["size"] for row in whole].count(None) == 3 * sum(
            e["size"] is None for e in events if e["who"] == "a"
        )
    joined: list[Any] = []
    cursor = None
    while True:
        page, summary = ask(store, replace(request, cursor=cursor), "secret")
        joined += page
        if summary["status"] == "complete":
            break
        cursor = summary["cursor"]
    assert joined == whole


def test_sources_whose_fields_have_no_common_order(store: Store) -> None:
    request = QueryRequest(f"block{RUN}.*", sort="size", limit=5)
    with pytest.raises(UserError, match=r"of the type int and size of .* of the type string; values of two types"):
        ask(store, request, "secret")
    # A source without the field is left out, with the reason.
    rows, summary = ask(store, replace(request, source=f"block{RUN}.events,block{RUN}.without"), "secret")
    assert {row["_source"] for row in rows} == {f"block{RUN}.events"}
    assert "it has no field 'size'" in summary["left_out"][f"block{RUN}.without"]


ERRORS = [
    ("tags", 5, FilterError, "tags is a list, and lists have no order"),
    ("wo", 5, UnknownFieldError, "did you mean"),
    ("who, -who", 5, FilterError, "who comes twice in the sort"),
    ("-", 5, FilterError, "expected"),
    ("count()", 5, FilterError, "events are sorted by fields"),
    ("who desc", 5, FilterError, "descending order is written -FIELD"),
    ("", 5, FilterError, "the sort is empty"),
    (", ".join(f"f{n}" for n in range(9)), 5, FilterError, "at most 8"),
    ([], 5, FilterError, "a list of one or more columns was expected"),
    (["-"], 5, FilterError, r"sort\[0\]: a column was expected"),
    ([3], 5, FilterError, r"sort\[0\]: a column was expected, found a number"),
    ("who", None, UserError, "takes a limit of at most 10,000"),
    ("who", 10_001, UserError, "it has 10,001. Give a limit"),
]


@pytest.mark.parametrize(("sort", "limit", "kind", "message"), ERRORS)
def test_bad_sorts_are_refused(sort: Any, limit: int | None, kind: type[UserError], message: str, store: Store) -> None:
    with pytest.raises(kind, match=message):
        ask(store, QueryRequest(source("block").name, sort=sort, limit=limit))


def test_a_cursor_is_of_its_order(layout: str, store: Store) -> None:
    request = QueryRequest(source(layout).name, sort="-rate", limit=5)
    cursor = ask(store, request)[1]["cursor"]
    for sort in ("rate", "-rate, ts", None):
        with pytest.raises(UserError, match="the cursor is of another query; source, filter and sort"):
            ask(store, replace(request, sort=sort, cursor=cursor))
    plain = ask(store, replace(request, sort=None))[1]["cursor"]
    with pytest.raises(UserError, match="the cursor is of another query"):
        ask(store, replace(request, cursor=plain))
    with pytest.raises(UserError, match="the cursor is damaged"):
        ask(store, replace(request, cursor=cursor[:-1]))


def test_a_watch_has_no_sort(store: Store) -> None:
    with pytest.raises(UserError, match="sort does not go with watch"):
        QueryService(store).watch(QueryRequest(source("block").name, sort="ts", limit=5))


def test_a_sort_goes_with_queries_within_the_filter(layout: str, store: Store, events: list[dict[str, Any]]) -> None:
    name = source(layout).name
    request = QueryRequest(
        name, where=f"number in ({name} where rate > 2 | number)", sort="-rate, ts", limit=60, columns=("rate", "ts")
    )
    wanted = [e for e in events if e["rate"] is not None and e["rate"] > 2]
    wanted.sort(key=lambda e: (-e["rate"], e["ts"]))
    found, summary = ask(store, request)
    assert summary["status"] == "limit"
    found += ask(store, replace(request, limit=1_000, cursor=summary["cursor"]))[0]
    assert found == [{"rate": e["rate"], "ts": e["ts"]} for e in wanted]
    assert "top 60 by" in QueryService(store.with_authorizations(("staff",))).explain(request).to_text()
