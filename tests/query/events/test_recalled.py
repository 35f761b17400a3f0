"""Queries that recall counts find all events, also those that came since, and ask the servers for less.

In `make test`: it is short, on the stack of the run.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from ingest_support import RUN
from loaded import batch_of, write

from watchfloor.query.preparation.request import QueryRequest
from watchfloor.query.service import QueryService
from watchfloor.schema.definition import parse_definition
from watchfloor.schema.filter.tree import Compare, InList
from watchfloor.schema.settings.settings import Settings
from watchfloor.schema.source import Source
from watchfloor.store.bridge.requests import EntryScan
from watchfloor.store.layout import IndexCount
from watchfloor.store.layouts import count_memory
from watchfloor.store.layouts.count_memory import CountedRange, CountMemory
from watchfloor.store.store import Store

START = datetime(2024, 2, 29, 22, tzinfo=UTC)
EVENTS = 300
WHOLE = CountedRange("web.one", None, None)


def source(name: str, layout: str) -> Source:
    fields = [
        {"name": "ts", "type": "time"},
        {"name": "who", "type": "string", "indexed": True},
        {"name": "n", "type": "int"},
    ]
    definition = {"parser": {"format": "json"}, "timestamp": {"field": "ts"}, "shards": 2, "fields": fields}
    return parse_definition({**definition, "name": f"recalled{RUN}.{name}_{layout}", "layout": layout})


def made_up(first: int, begin: datetime, who: str | None = None, count: int = EVENTS) -> list[dict[str, Any]]:
    """Returns events of some minutes, numbered from ``first`` on; ``who`` None makes every second one's ``often``."""
    return [
        {"ts": begin + timedelta(seconds=n), "who": who or ("often", f"w{n}")[n % 2], "n": first + n}
        for n in range(count)
    ]


@pytest.fixture
def store(store_settings: Settings) -> Iterator[Store]:
    with Store.open(store_settings) as opened:
        yield opened


class Written:
    """A source to which events are written as the test goes on."""

    def __init__(self, store: Store, name: str, layout: str) -> None:
        self.store, self.events = store, list[dict[str, Any]]()
        self.source = store.catalog.register(source(name, layout))
        self.service, self._items = QueryService(store), 0

    def write(self, events: list[dict[str, Any]]) -> None:
        with self.store.sink() as sink:
            write(sink, self.source, self._items, batch_of(self.source, events), 64)
            sink.flush()
        self._items += 1
        self.events += events

    def numbers(self, **members: Any) -> list[int]:
        result = self.service.run(QueryRequest(self.source.name, **members))
        return [n for batch in result for n in batch.column("n").to_pylist()]

    def pages(self, where: str | None) -> list[int]:
        found: list[int] = []
        cursor = None
        while True:
            result = self.service.run(QueryRequest(self.source.name, where=where, limit=97, cursor=cursor))
            found += [n for batch in result for n in batch.column("n").to_pylist()]
            cursor = result.summary.get("cursor")
            if cursor is None:
                return found

    def expected(self, who: str | None = None) -> list[int]:
        fitting = [e for e in self.events if who in (None, e["who"])]
        return [e["n"] for e in sorted(fitting, key=lambda e: e["ts"], reverse=True)]


@pytest.mark.stack
def test_events_that_came_since_the_counts_are_found(store: Store, layout: str) -> None:
    one = Written(store, "since", layout)
    one.write(made_up(0, START))
    one.write(made_up(1000, START + timedelta(days=2)))
    for _ in range(2):
        assert one.numbers() == one.expected()
        assert one.numbers(where="who = often") == one.expected("often")
        assert one.numbers(where="who = late") == []
    one.write(made_up(2000, START - timedelta(days=30), "late"))  # before all hours that are known
    one.write(made_up(3000, START + timedelta(days=1)))  # between them
    one.write(made_up(4000, START + timedelta(days=90), "late"))  # after them
    one.write(made_up(5000, START + timedelta(days=90, hours=1)))
    for who in (None, "often", "late"):
        where = None if who is None else f"who = {who}"
        assert one.numbers(where=where) == one.expected(who)
        assert one.numbers(where=where, limit=450) == one.expected(who)[:450]
        assert one.pages(where) == one.expected(who)
    assert one.numbers(where="n >= 2000 and n < 2005") == [2004, 2003, 2002, 2001, 2000]
    middle = START + timedelta(days=1, minutes=1)
    since = int(middle.timestamp()) * 1_000_000
    assert one.numbers(since=since, until=since + 60_000_000) == list(range(3119, 3059, -1))
    assert one.service.explain(QueryRequest(one.source.name)).plan.total == len(one.events)


@pytest.mark.stack
def test_a_scan_that_is_asked_for_again_reads_no_counts(
    store: Store, layout: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = Written(store, "again", layout)
    one.write(made_up(0, START))
    scans: list[EntryScan] = []
    begin = Store.begin_scan

    def note_scan(self: Store, request: EntryScan) -> Any:
        scans.append(request)
        return begin(self, request)

    monkeypatch.setattr(Store, "begin_scan", note_scan)
    for where in (None, "n > 10", "who = often", "who = often and n > 10", "who = w1"):
        wanted = one.numbers(where=where, limit=20)
        scans.clear()
        assert one.numbers(where=where, limit=20) == wanted
        plan = one.service.run(QueryRequest(one.source.name, where=where, limit=20)).plan
        assert plan is not None
        if plan.uses_index:  # What the index leads to is read from the index each time.
            assert where is not None and "who" in where and scans
        else:
            assert not scans, where


@pytest.mark.stack
def test_the_hours_are_read_again_beside_the_query(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(count_memory, "FRESH_SECONDS", 0.0)
    one = Written(store, "beside", "block")
    one.write(made_up(0, START))
    one.numbers()
    one.write(made_up(1000, START + timedelta(days=1)))
    deadline = time.monotonic() + 30
    while True:
        result = one.service.run(QueryRequest(one.source.name, limit=1))
        list(result)
        if result.plan is not None and result.plan.total == len(one.events):
            break
        assert time.monotonic() < deadline, result.summary
        time.sleep(0.05)


def test_counts_are_recalled_for_their_range_alone_and_not_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    memory, now = CountMemory(), time.monotonic()
    often, rare = Compare("who", "=", "often"), Compare("who", "=", "rare")
    memory.put_counts(WHOLE, {often: IndexCount(100, 4, 4, 7), rare: None}, 200, now)
    assert memory.recall_counts(WHOLE, [often, rare], 400) == [IndexCount(200, 4, 4, 7), None]
    assert memory.recall_counts(WHOLE, [], 400) == []
    assert memory.recall_counts(WHOLE, [often, Compare("who", "=", "other")], 400) is None
    for other in (CountedRange("web.two", None, None), CountedRange("web.one", 0, None)):
        assert memory.recall_counts(other, [often], 400) is None
    monkeypatch.setattr(time, "monotonic", lambda: now + count_memory.USED_SECONDS + 1)
    assert memory.recall_counts(WHOLE, [often], 400) is None


def test_the_memory_of_counts_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(count_memory, "MOST_COUNTS", 3)
    memory, now = CountMemory(), time.monotonic()
    conditions = [Compare("n", "=", n) for n in range(5)]
    for condition in conditions:
        memory.put_counts(WHOLE, {condition: None, InList("who", "names"): None}, 1, now)
    known = [memory.recall_counts(WHOLE, [condition], 1) is not None for condition in conditions]
    assert known == [False, False, True, True, True]
    assert memory.recall_counts(WHOLE, [InList("who", "names")], 1) is None
