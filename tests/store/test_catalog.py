"""The catalog reads again only what may have changed, and a snapshot keeps what it read: a store counts its scans.

In `make test`: it needs no servers.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pyarrow as pa
import pytest

from watchfloor.schema.definition import parse_definition
from watchfloor.schema.errors import UnknownSourceError
from watchfloor.schema.source import Source
from watchfloor.store.bridge.requests import EntryScan, EventScan
from watchfloor.store.catalog import Catalog
from watchfloor.store.encoding.ranges import Ranges
from watchfloor.store.index.range_cache import RangeCache
from watchfloor.store.layouts.block.epochs.block_view import find_view
from watchfloor.store.reader import CatalogRow, Slot
from watchfloor.store.snapshot import Snapshot

SOURCES = {
    name: parse_definition(
        {
            "name": name,
            "parser": {"format": "json"},
            "timestamp": {"field": "ts"},
            "fields": [{"name": "ts", "type": "time"}],
            "layout": "block",
            "shards": 1,
        }
    )
    for name in ("web.one", "web.two")
}


class CountingStore:
    """The part of a store that a catalog and a snapshot need; its table is the catalog's."""

    def __init__(self) -> None:
        self.scans = 0
        self.grace = 60.0
        self.authorizations: tuple[str, ...] = ()
        self.rows = {name.encode(): source.to_json().encode() for name, source in SOURCES.items()}
        self.catalog = Catalog(self)  # type: ignore[arg-type]

    def scan(self, request: EntryScan) -> Iterator[pa.RecordBatch]:
        self.scans += 1
        start, end = (request.ranges.to_batch().column(n)[0].as_py() for n in ("start_row", "end_row"))
        rows = {row: value for row, value in self.rows.items() if row >= start and (end is None or row < end)}
        columns = [list(rows), *([b""] * len(rows) for _ in range(3)), list(rows.values())]
        names = ["row", "family", "qualifier", "visibility", "value"]
        yield pa.RecordBatch.from_arrays([pa.array(column, pa.binary()) for column in columns], names=names)

    def read_catalog_row(self, source: str, max_age: float = 0.0) -> CatalogRow:
        return self.catalog.read_row(source, max_age)

    def begin_events(self, request: Any) -> Any:
        raise NotImplementedError

    def begin_scan(self, request: EntryScan) -> Any:
        return Batches(self.scan(request))


class ChangingStore(CountingStore):
    """A store whose catalog can be changed."""

    default_shards = 1

    def __init__(self) -> None:
        super().__init__()
        self.swaps = 0

    def make_tables(self, source: Source) -> None:
        pass

    def swap(self, table: str, cell: tuple[bytes, bytes, bytes], expected: bytes | None, value: bytes) -> bool:
        assert self.rows.get(cell[0]) == expected
        self.rows[cell[0]] = value
        self.swaps += 1
        return True


class Batches:
    """A scan that needs no closing."""

    def __init__(self, batches: Iterator[pa.RecordBatch]) -> None:
        self._batches = batches

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        return self._batches

    def close(self) -> None:
        pass


def test_the_catalog_is_read_again_for_a_name_that_is_new() -> None:
    store = CountingStore()
    assert store.catalog.find_source("web.one") == SOURCES["web.one"]
    assert store.catalog.find_source("web.two") == SOURCES["web.two"]
    assert store.scans == 1
    with pytest.raises(UnknownSourceError):
        store.catalog.find_source("web.three")
    assert store.scans == 2


def test_one_reading_of_the_catalog_serves_for_its_rows() -> None:
    store = CountingStore()
    store.catalog.read_sources()
    row = store.catalog.read_row("web.two", max_age=5)
    assert row.entries.column("row").to_pylist() == [b"web.two"]
    assert store.catalog.read_row("web.two", max_age=5) is row and store.scans == 1
    assert store.catalog.read_row("web.two").read_at > row.read_at and store.scans == 2
    time.sleep(0.02)
    store.catalog.read_row("web.two", max_age=0.01)
    assert store.scans == 3


def test_a_stored_source_takes_ecs_names_over() -> None:
    store = ChangingStore()
    definition = SOURCES["web.one"].definition

    def named(ecs: str | None) -> Source:
        fields = [*definition["fields"], {"name": "who", "type": "ip"} | ({"ecs": ecs} if ecs else {})]
        return parse_definition({**definition, "fields": fields})

    def stored_name() -> str:
        return Catalog(store).find_source("web.one").find_field("who").ecs  # type: ignore[arg-type]

    store.catalog.register(named(None))
    assert stored_name() == "" and store.swaps == 1
    for ecs in ("source.ip", "client.ip", None):
        assert store.catalog.register(named(ecs)).find_field("who").ecs == "source.ip"
        assert stored_name() == "source.ip" and store.swaps == 2, "a name is added once, and never replaced"
    assert store.catalog.register(named("client.ip"), is_redefined=True).find_field("who").ecs == "client.ip"
    assert stored_name() == "client.ip" and store.swaps == 3
    store.catalog.register(named(None), is_redefined=True)
    assert stored_name() == "client.ip" and store.swaps == 3


def test_a_source_that_is_redefined_is_read_by_other_rules() -> None:
    store = ChangingStore()
    known = SOURCES["web.one"]
    other = replace_members(known, title="Other", parser={"format": "zeek"}, unknown_fields="quarantine")
    store.catalog.register(known)
    assert store.catalog.register(other) == store.catalog.find_source(known.name) and store.swaps == 0
    stored = store.catalog.register(other, is_redefined=True)
    assert (stored.parser, stored.title, stored.fields) == ({"format": "zeek"}, "Other", known.fields)
    assert Catalog(store).find_source(known.name).to_json() == stored.to_json()  # type: ignore[arg-type]
    assert store.catalog.register(other, is_redefined=True) == stored and store.swaps == 1


def replace_members(source: Source, **members: Any) -> Source:
    return parse_definition({**source.definition, **members})


def test_a_snapshot_sees_the_blocks_that_it_saw_first() -> None:
    store = CountingStore()
    snapshot = Snapshot(store)
    first = find_view(snapshot, SOURCES["web.one"])
    store.catalog.read_sources()
    assert find_view(snapshot, SOURCES["web.one"]) is first
    assert find_view(Snapshot(store), SOURCES["web.one"]) is not first


def test_a_snapshot_is_replaced_when_it_is_not_fresh_any_more() -> None:
    store = CountingStore()
    snapshot = Snapshot(store)
    assert snapshot.snapshot() is snapshot
    store.grace = 0
    assert snapshot.snapshot() is not snapshot


def test_a_slot_belongs_to_its_snapshot() -> None:
    store = CountingStore()
    slot: Slot[dict[str, int]] = Slot(dict)
    one, two = Snapshot(store), Snapshot(store)
    one.get_slot(slot)["a"] = 1
    assert one.get_slot(slot) == {"a": 1} and two.get_slot(slot) == {}


def test_threads_of_one_query_share_what_is_in_a_slot() -> None:
    snapshot, both = Snapshot(CountingStore()), threading.Barrier(2)

    def make_slowly() -> object:
        both.wait()
        return object()

    slot: Slot[object] = Slot(make_slowly)
    with ThreadPoolExecutor(2) as pool:
        one, two = pool.map(snapshot.get_slot, [slot, slot])
    assert one is two is snapshot._slots[slot]


def test_a_scan_of_nothing_asks_nobody() -> None:
    snapshot = Snapshot(CountingStore())  # Its ``begin_events`` raises.
    with snapshot.begin_events(EventScan("Stream", "events", Ranges(), {}, 1, 1)) as batches:
        assert list(batches) == []
    assert list(snapshot.scan(EntryScan("index", Ranges()))) == []


def test_what_was_read_for_a_range_holds_inside_it() -> None:
    cache: RangeCache[str, int] = RangeCache()
    cache.put("a", 10, 20, 7)
    assert cache.find_missing(["a", "b", "b"], 10, 20) == ["b"]
    assert cache.find_missing(["a"], 12, 15) == []
    assert cache.find_missing(["a"], 9, 15) == ["a"] and cache.find_missing(["a"], 12, 21) == ["a"]
    assert cache["a"] == 7
