"""Named lists on real servers: versions, labels, expiry, cursors, several sources, counts, watches, and what matched.

In `make test`: it is short, on the stack of the run.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from ingest_support import RUN
from loaded import LAYOUTS, batch_of, write

from watchfloor.query.preparation.request import QueryRequest
from watchfloor.query.service import QueryService
from watchfloor.query.stats.request import StatsQuery
from watchfloor.query.stats.run import StatsResult
from watchfloor.schema.definition import parse_definition
from watchfloor.schema.errors import FilterError, ListError, UnknownListError, UserError
from watchfloor.schema.lists.list_file import ListFormat, ListValues, read_list
from watchfloor.schema.settings.settings import Settings
from watchfloor.store.admin.labels import read_user_labels
from watchfloor.store.put_list import KEPT_VERSIONS, put_list, remove_list
from watchfloor.store.store import Store
from watchfloor.store.value_lists import read_lists

pytestmark = pytest.mark.stack

EVENTS = 600
START = datetime(2026, 1, 8, 12, tzinfo=UTC)
FIELDS = [
    {"name": "ts", "type": "time"},
    {"name": "number", "type": "int"},
    {"name": "src", "type": "ip", "ecs": "source.ip", "indexed": True},
    {"name": "dst", "type": "ip", "ecs": "destination.ip"},
    {"name": "user", "type": "string", "indexed": True},
    {"name": "tags", "type": "list", "items": "string"},
]
NAMES = {layout: f"lists{RUN}.{layout}" for layout in LAYOUTS}


def events() -> list[dict[str, Any]]:
    return [
        {
            "ts": START - timedelta(seconds=n),
            "number": n,
            "src": f"10.0.{n % 7}.{n % 50}",
            "dst": f"192.168.0.{n % 20}",
            "user": f"u{n % 30}" if n % 4 else None,
            "tags": [f"t{n % 3}", f"t{n % 5}"],
        }
        for n in range(EVENTS)
    ]


@pytest.fixture(scope="module")
def writer(store_settings: Settings) -> Iterator[Store]:
    with Store.open(store_settings) as store:
        with store.sink() as sink:
            for layout, name in NAMES.items():
                source = parse_definition(
                    {
                        "name": name,
                        "parser": {"format": "json"},
                        "timestamp": {"field": "ts"},
                        "shards": 2,
                        "layout": layout,
                        "fields": FIELDS,
                    }
                )
                source = store.catalog.register(source)
                for item in range(2):
                    write(sink, source, item, batch_of(source, events()[item::2]))
            sink.flush()
        yield store


@pytest.fixture
def service(writer: Store, query_store: Store) -> QueryService:
    return QueryService(query_store)


def read(*lines: str, **form: Any) -> ListValues:
    return read_list("\n".join(lines).encode(), ListFormat(**form))


def numbers(service: QueryService, source: str, where: str, **members: Any) -> list[int]:
    result = service.run(QueryRequest(source, where=where, columns=("number",), **members))
    return [row["number"] for batch in result for row in batch.to_pylist()]


def matching(**values: set[str]) -> list[int]:
    ((field, wanted),) = values.items()
    held = [(e["number"], e[field] if isinstance(e[field], list) else [e[field]]) for e in events()]
    return [number for number, some in held if wanted & set(some)]


def test_a_query_keeps_the_version_that_it_began_with(layout: str, writer: Store, service: QueryService) -> None:
    name, source = f"kept{RUN}", NAMES[layout]
    put_list(writer, name, read("u1", "u2"))
    result = service.run(QueryRequest(source, where=f"user in @{name}", columns=("number",)))
    put_list(writer, name, read("u3"))
    found = [row["number"] for batch in result for row in batch.to_pylist()]
    assert found == matching(user={"u1", "u2"})
    assert numbers(service, source, f"user in @{name}") == matching(user={"u3"})


def test_pages_are_of_one_version(layout: str, writer: Store, service: QueryService) -> None:
    name, source = f"paged{RUN}", NAMES[layout]
    put_list(writer, name, read("u1", "u2"))
    request = QueryRequest(source, where=f"user in @{name}", columns=("number",), limit=4)
    first = service.run(request)
    found = [row["number"] for batch in first for row in batch.to_pylist()]
    cursor = first.summary["cursor"]
    put_list(writer, name, read("u3"))
    found += numbers(service, source, f"user in @{name}", cursor=cursor)
    assert found == matching(user={"u1", "u2"})
    for value in ("u4", "u5", "u6"):
        put_list(writer, name, read(value))
    with pytest.raises(UserError, match=r"is gone: it was replaced since.*ask again without the cursor"):
        numbers(service, source, f"user in @{name}", cursor=cursor)
    with pytest.raises(UserError, match="damaged"):
        numbers(service, source, f"user in @{name}", cursor=cursor[:-2])


def test_old_versions_are_removed(writer: Store) -> None:
    name = f"old{RUN}"
    stored = [put_list(writer, name, read(f"u{n}")) for n in range(KEPT_VERSIONS + 2)]
    kept = read_lists(writer, name)[name]
    assert [one.version for one in kept] == [one.version for one in reversed(stored[-KEPT_VERSIONS:])]
    remove_list(writer, name)
    assert read_lists(writer, name) == {}
    with pytest.raises(UnknownListError):
        remove_list(writer, name)


def test_whoever_lacks_the_label_does_not_learn_of_the_list(writer: Store, query_store: Store) -> None:
    name, open_name, label = f"secret{RUN}", f"secres{RUN}", f"amber{RUN}"
    put_list(writer, name, read("u1"), label)
    put_list(writer, open_name, read("u2"))
    source = NAMES["block"]
    seeing = QueryService(query_store.with_authorizations([label]))
    assert numbers(seeing, source, f"user in @{name}") == matching(user={"u1"})
    assert name in [one.name for one in seeing.outline_lists()]
    blind = QueryService(query_store.with_authorizations([]))
    with pytest.raises(ListError) as hidden:
        numbers(blind, source, f"user in @{name}")
    with pytest.raises(ListError) as unknown:
        numbers(blind, source, f"user in @{name[:-1]}x")
    assert str(hidden.value).replace(name, "N") == str(unknown.value).replace(f"{name[:-1]}x", "N")
    assert open_name in str(hidden.value)
    assert name not in [one.name for one in blind.outline_lists()]
    with pytest.raises(UnknownListError):
        blind.read_list(name)
    # A new version has the label too; one with another label leaves nothing to those of the first.
    put_list(writer, name, read("u3"))
    assert numbers(seeing, source, f"user in @{name}") == matching(user={"u3"})
    other = f"red{RUN}"
    put_list(writer, name, read("u4"), other)
    with pytest.raises(ListError):
        numbers(seeing, source, f"user in @{name}")
    assert {label, other} <= set(read_user_labels(writer.connection, query_store.user))


def test_an_expired_list_is_not_used(writer: Store, service: QueryService) -> None:
    name, source = f"ends{RUN}", NAMES["block"]
    put_list(writer, name, read("u1"), expires=time.time_ns() // 1000 - 1)
    with pytest.raises(ListError, match=f"the list {name} expired at .*put it again"):
        numbers(service, source, f"user in @{name}")
    put_list(writer, name, read("u1"), expires=time.time_ns() // 1000 + 60_000_000)
    assert numbers(service, source, f"user in @{name}") == matching(user={"u1"})


def test_the_explanation_names_the_list(layout: str, writer: Store, service: QueryService) -> None:
    name = f"told{RUN}"
    put_list(writer, name, read("10.0.1.0/24", "10.0.2.2"))
    text = service.explain(QueryRequest(NAMES[layout], where=f"src in @{name}")).to_text()
    assert f"@{name} is the list put at 20" in text and "with 2 values" in text
    assert (
        "by the list" in service.explain(QueryRequest(NAMES[layout], where=f"src in @{name}", scheme="index")).to_text()
    )


def test_a_list_on_what_is_computed(layout: str, writer: Store, service: QueryService) -> None:
    put_list(writer, f"lowered{RUN}", read("u1", "u22"))
    put_list(writer, f"lengths{RUN}", read("3", type="int"))
    for where, wanted in {
        f"lower(user) in @lowered{RUN}": lambda event: event["user"] in ("u1", "u22"),
        f"length(user) not in @lengths{RUN}": lambda event: event["user"] is None or len(event["user"]) != 3,
        f"lower(user) in @lowered{RUN} or length(tags) + 1 in @lengths{RUN}": lambda event: True,
    }.items():
        expected = [event["number"] for event in events() if wanted(event)]
        assert numbers(service, NAMES[layout], where) == expected
        *_, answer = service.run_stats(StatsQuery(NAMES[layout], "count()", where))
        assert answer.rows.to_pylist() == [{"count": len(expected)}]
    with pytest.raises(ListError, match="nosuchlist"):
        numbers(service, NAMES[layout], "lower(user) in @nosuchlist")
    with pytest.raises(FilterError, match=r"length\(user\) is an int: the list @lowered\w+ is of the type string"):
        numbers(service, NAMES[layout], f"length(user) in @lowered{RUN}")
    with pytest.raises(FilterError, match="a query within a filter goes with a field, not with an expression"):
        numbers(service, NAMES[layout], f"lower(user) in ({NAMES[layout]} | user)")


def test_a_list_of_another_type_is_refused(writer: Store, service: QueryService) -> None:
    name = f"typed{RUN}"
    put_list(writer, name, read("10.0.0.1"))
    with pytest.raises(FilterError, match=f"field user is a string: the list @{name} is of the type ip"):
        numbers(service, NAMES["block"], f"user in @{name}")


def test_several_sources(writer: Store, service: QueryService) -> None:
    name = f"many{RUN}"
    put_list(writer, name, read("10.0.1.1 # first", "192.168.0.0/31"))
    wanted = sorted({*matching(src={"10.0.1.1"}), *matching(dst={"192.168.0.0", "192.168.0.1"})})
    request = QueryRequest(f"lists{RUN}.*", where=f"ip in @{name}", columns=("number", "_source", "_matched"))
    rows = [row for batch in service.run(request) for row in batch.to_pylist()]
    for source in NAMES.values():
        assert [row["number"] for row in rows if row["_source"] == source] == wanted
    assert {row["_matched"] for row in rows if row["number"] == 1} == {
        f"src in @{name}: 10.0.1.1 (first); dst in @{name}: 192.168.0.0/31"
    }
    with pytest.raises(ListError, match="unknown list"):
        service.run(QueryRequest("*", where=f"ip in @{name}_not"))
    pages, cursor = [], None
    while cursor is not None or not pages:
        page = service.run(
            QueryRequest(f"lists{RUN}.*", where=f"ip in @{name}", columns=("number",), limit=7, cursor=cursor)
        )
        pages += [row["number"] for batch in page for row in batch.to_pylist()]
        cursor = page.summary.get("cursor")
    assert sorted(pages) == sorted([*wanted, *wanted])


def test_what_matched_is_told(layout: str, writer: Store, service: QueryService) -> None:
    name, other, source = f"hits{RUN}", f"tags{RUN}", NAMES[layout]
    put_list(writer, name, read("10.0.0.0/8 # all", "10.0.3.0/24", "10.0.3.3 # a host"))
    put_list(writer, other, read("t1", "t2"))
    where = f"src in @{name} and tags in @{other}"
    request = QueryRequest(source, where=where, columns=("_matched", "number"))
    result = service.run(request)
    assert result.schema.names == ["_matched", "number"]
    rows = {row["number"]: row["_matched"] for batch in result for row in batch.to_pylist()}
    assert rows[3 + 350] == f"src in @{name}: 10.0.3.3 (a host); src in @{name}: 10.0.0.0/8 (all); " + (
        f"src in @{name}: 10.0.3.0/24; tags in @{other}: t2"
    )
    assert set(rows) == set(matching(tags={"t1", "t2"}))
    only = service.run(QueryRequest(source, where=where, columns=("_matched",), limit=1))
    assert [batch.schema.names for batch in only] == [["_matched"]]
    highest = service.run(replace(request, sort="-number", limit=5))
    assert [(row["number"], row["_matched"]) for batch in highest for row in batch.to_pylist()] == sorted(
        rows.items(), reverse=True
    )[:5]
    with pytest.raises(UserError, match="the filter has none"):
        service.run(QueryRequest(source, where="user = u1", columns=("_matched",)))


def test_counts_and_groups(layout: str, writer: Store, service: QueryService) -> None:
    name, source = f"grouped{RUN}", NAMES[layout]
    put_list(writer, name, read("u1", "u2"))
    query = StatsQuery(source, f"count(), count_if(user in @{name}) as bad", where=f"user in @{name} or number < 100")
    (row,) = service.aggregate(query).to_pylist()
    users = set(matching(user={"u1", "u2"}))
    assert row == {"count": len(users | set(range(100))), "bad": len(users)}


def test_a_query_within_a_filter(layout: str, writer: Store, service: QueryService) -> None:
    source, other = NAMES[layout], NAMES[LAYOUTS[layout == LAYOUTS[0]]]
    where = f"user in ({other} where number < 10 | user)"
    wanted = matching(user={e["user"] for e in events()[:10]} - {None})
    assert numbers(service, source, where) == wanted
    assert numbers(service, source, f"not ({where})") == [n for n in range(EVENTS) if n not in wanted]
    explained = service.explain(QueryRequest(source, where=where))
    assert f"within    ({other} where number < 10 | user): 7 values, found in" in explained.to_text()
    assert "rule " in explained.to_text() and explained.to_json()["within"][0]["values"] == 7
    # The range is that of the query around it.
    since = int((START - timedelta(seconds=4)).timestamp() * 1e6)
    assert numbers(service, source, where, since=since) == [n for n in matching(user={"u1", "u2", "u3"}) if n <= 4]
    stats = service.aggregate(StatsQuery(source, "count()", where=where))
    assert stats.column(0).to_pylist() == [len(wanted)]
    assert "within    (" in service.explain_stats(StatsQuery(source, "count()", where=where))["text"]


def test_pages_of_a_query_within_a_filter(layout: str, writer: Store, service: QueryService) -> None:
    source = NAMES[layout]
    where = f"user in ({source} where number in 100..104 | user)"
    request = QueryRequest(source, where=where, columns=("number",), limit=9)
    pages, cursor = [], None
    while cursor is not None or not pages:
        page = service.run(QueryRequest(source, where=where, columns=("number",), limit=9, cursor=cursor))
        pages += [row["number"] for batch in page for row in batch.to_pylist()]
        cursor = page.summary.get("cursor")
    assert pages == numbers(service, source, where) and len(pages) > 9
    assert request.limit == 9


def test_a_page_is_refused_if_what_the_query_within_finds_has_changed(writer: Store, service: QueryService) -> None:
    name, source = f"within{RUN}", NAMES["block"]
    put_list(writer, name, read("10.0.1.1"))
    where = f"user in ({source} where src in @{name} | user)"
    first = service.run(QueryRequest(source, where=where, columns=("number",), limit=3))
    assert len([row for batch in first for row in batch.to_pylist()]) == 3
    put_list(writer, name, read("10.0.2.2"))
    with pytest.raises(UserError, match="has changed since the first page; ask again without the cursor"):
        numbers(service, source, where, cursor=first.summary["cursor"])


def test_a_query_that_finds_too_much_is_refused(
    writer: Store, service: QueryService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("watchfloor.query.subqueries.MAX_FOUND", 5)
    for column in ("user", "src"):
        with pytest.raises(UserError, match="finds more than 5 values; narrow its filter"):
            numbers(service, NAMES["block"], f"{column} in ({NAMES['block']} where number > 3 | {column})")


def test_a_deadline_covers_the_query_within(writer: Store, service: QueryService) -> None:
    where = f"user in ({NAMES['cell']} where number > 3 | user)"
    result = service.run(QueryRequest(NAMES["cell"], where=where, deadline=1e-4))
    assert list(result) == [] and result.summary["status"] == "deadline"


def test_a_query_within_may_be_cancelled(writer: Store, service: QueryService, monkeypatch: pytest.MonkeyPatch) -> None:
    request = QueryRequest(NAMES["block"], where=f"user in ({NAMES['cell']} where number > 3 | user)")
    result = service.run(request)
    run = StatsResult._run

    def close_first(within: StatsResult) -> Any:
        result.close()
        return run(within)

    monkeypatch.setattr(StatsResult, "_run", close_first)
    assert list(result) == [] and result.summary["status"] == "cancelled"


def test_a_watch_takes_the_newest_version(writer: Store, service: QueryService) -> None:
    name, source = f"watched{RUN}", NAMES["block"]
    put_list(writer, name, read("nobody"))
    since = int((START - timedelta(seconds=EVENTS)).timestamp() * 1e6)
    watch = service.watch(QueryRequest(source, since=since, where=f"user in @{name}", columns=("number",), deadline=30))
    found: list[int] = []
    for batch in watch:
        found += [row["number"] for row in batch.to_pylist()]
        if found:
            break
        put_list(writer, name, read("u1"))
    watch.close()
    assert found and set(found) <= set(matching(user={"u1"}))
