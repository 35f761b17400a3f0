"""Zones change no answer: filters on fields that are not indexed, on blocks however they came to be, on real servers.

In `make test`: it is short, on the stack of the run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pyarrow as pa
import pytest
from compact_support import BLOCK_ROWS, COLUMNS, END, EPOCH, FIRST_DAY, Event, Fed, make_source
from hypothesis import given, settings
from hypothesis import strategies as st
from ingest_support import RUN

from watchfloor.query.preparation.request import QueryRequest
from watchfloor.query.service import QueryService
from watchfloor.query.stats.request import StatsQuery
from watchfloor.schema.settings.settings import Settings
from watchfloor.store.admin import tables
from watchfloor.store.bridge.requests import EntryScan
from watchfloor.store.bulk.bulk_sink import BulkSink
from watchfloor.store.encoding.keys import event_table
from watchfloor.store.encoding.ranges import Ranges
from watchfloor.store.layouts.block.blocks.stored_blocks import remove_blocks
from watchfloor.store.layouts.block.compaction.compaction import compact_blocks
from watchfloor.store.layouts.block.compaction.merge_plan import list_blocks
from watchfloor.store.store import Store

pytestmark = pytest.mark.stack

GRACE = 2.0
"""Far more than a read of these few events takes; readers and compactions must agree on it."""


@dataclass(frozen=True)
class Asked:
    """A filter as it is written, and what it means."""

    text: str
    holds: Callable[[Event], bool]


@pytest.fixture(scope="module")
def store(store_settings: Settings) -> Iterator[Store]:
    # The labels of what is registered are known to stores that are opened from then on.
    with Store.open(store_settings) as opened:
        opened.catalog.register(make_source(f"zones{RUN}.labels"))
    with Store.open(store_settings) as opened:
        opened.grace = GRACE
        yield opened


@pytest.fixture(scope="module")
def reader(store_settings: Settings, store: Store) -> Iterator[Store]:
    with Store.open(store_settings, role="query") as opened:
        opened.grace = GRACE
        yield opened


def leaves(events: list[Event]) -> st.SearchStrategy[Asked]:
    texts = sorted({event[4] for event in events[:40]} | {"0.3", "0.99", "no number", ""})
    text = st.sampled_from(texts)
    ends = st.tuples(text, text)
    return st.one_of(
        st.sampled_from(["h0", "h3", "h7"]).map(lambda h: Asked(f"host = {h}", lambda e: e[1] == h)),
        st.integers(0, 4).map(lambda n: Asked(f"n = {n}", lambda e: e[2] == n)),
        st.integers(0, 4).map(lambda n: Asked(f"n > {n}", lambda e: e[2] is not None and e[2] > n)),
        st.just(Asked("exists n", lambda e: e[2] is not None)),
        st.sampled_from("xyzw").map(lambda t: Asked(f"tags = {t}", lambda e: t in (e[3] or ()))),
        text.map(lambda t: Asked(f'text = "{t}"', lambda e: e[4] == t)),
        text.map(lambda t: Asked(f'text >= "{t}"', lambda e: e[4] >= t)),
        text.map(lambda t: Asked(f'text startswith "{t[:4]}"', lambda e: e[4].startswith(t[:4]))),
        ends.map(lambda t: Asked(f'text in ("{t[0]}", "{t[1]}")', lambda e: e[4] in t)),
        ends.map(lambda t: Asked(f'text in "{min(t)}".."{max(t)}"', lambda e: min(t) <= e[4] <= max(t))),
    )


def trees(leaf: st.SearchStrategy[Asked]) -> st.SearchStrategy[Asked]:
    def join(pairs: st.SearchStrategy[Asked]) -> st.SearchStrategy[Asked]:
        two = st.tuples(pairs, pairs)
        return st.one_of(
            pairs.map(lambda a: Asked(f"not ({a.text})", lambda e: not a.holds(e))),
            two.map(lambda p: Asked(f"({p[0].text}) and ({p[1].text})", lambda e: p[0].holds(e) and p[1].holds(e))),
            two.map(lambda p: Asked(f"({p[0].text}) or ({p[1].text})", lambda e: p[0].holds(e) or p[1].holds(e))),
        )

    return st.recursive(leaf, join, max_leaves=4)


def ask(service: QueryService, fed: Fed, where: str) -> tuple[Counter[Any], int, list[Any]]:
    """What the store answers: the events that match, their number by stats, and the first by their texts."""
    name = fed.source.name
    request = QueryRequest(name, FIRST_DAY, END, where, COLUMNS, scheme="scan")
    rows = [tuple(row.values()) for batch in service.run(request) for row in batch.to_pylist()]
    stats = list(service.run_stats(StatsQuery(name, "count()", where, FIRST_DAY, END, "scan")))[-1].rows.to_pylist()
    ordered = QueryRequest(name, FIRST_DAY, END, where, ("text",), limit=3, sort="text")
    first = [row["text"] for batch in service.run(ordered) for row in batch.to_pylist()]
    found = Counter((*row[:3], None if row[3] is None else tuple(row[3]), row[4]) for row in rows)
    return found, sum(row["count"] for row in stats), first


def assert_right(reader: Store, fed: Fed, examples: int = 40) -> None:
    service = QueryService(reader)

    @given(trees(leaves(fed.events)))
    @settings(max_examples=examples)
    def check(asked: Asked) -> None:
        wanted = [event for event in fed.events if asked.holds(event)]
        rows = Counter((EPOCH + timedelta(microseconds=t), *rest) for t, *rest in wanted)
        assert ask(service, fed, asked.text) == (rows, len(wanted), sorted(event[4] for event in wanted)[:3])

    check()


def list_zones(store: Store, fed: Fed) -> dict[bytes, int]:
    """The number of zones by block."""
    found: Counter[bytes] = Counter()
    scan = EntryScan(event_table(fed.source), Ranges.everything(), family="zone")
    for batch in store.seeing_all_of(fed.source).scan(scan):
        found.update(batch.column("row").to_pylist())
    return found


def compact(store: Store, fed: Fed) -> None:
    compact_blocks(store, fed.source, lambda: set(fed.tags), END, BLOCK_ROWS)


def test_zones_change_no_answer(store: Store, reader: Store) -> None:
    fed = Fed(store.catalog.register(make_source(f"zones{RUN}.all", indexed=False)))
    table = event_table(fed.source)
    assert tables.have_zones(store.connection, table)
    fed.feed(store, 12, 1)
    assert_right(reader, fed)
    tables.flush_table(store.connection, table)
    with BulkSink(store, lambda: None) as sink:
        fed.feed_sink(sink, 12, 2)
        sink.flush()
    assert_right(reader, fed)
    compact(store, fed)
    rows = {row.tobytes() for row in list_blocks(store, fed.source).rows}
    assert set(list_zones(store, fed)) == rows, "what was merged has left no zone"
    assert_right(reader, fed)
    fed.feed(store, 3, 3)
    store.connection.client.tableOperations().removeProperty(table, tables.ZONES_PROPERTY)
    assert_right(reader, fed, 10)
    rows = {row.tobytes() for row in list_blocks(store, fed.source).rows}
    remove_blocks(store.seeing_all_of(fed.source), fed.source, sorted(rows))
    assert not list_zones(store, fed)


class WithoutZones:
    """Writes blocks as earlier versions did."""

    def __init__(self, store: Store) -> None:
        self._sink = store.sink()
        self.write_entries, self.flush = self._sink.write_entries, self._sink.flush

    def write_rows(self, table: str, batch: pa.RecordBatch) -> None:
        fields = enumerate(batch.schema)
        names = [n for n, field in fields if not field.metadata or field.metadata.get(b"family", b"") == b""]
        self._sink.write_rows(table, batch.select(names))

    def write_ahead(self, table: str, batch: pa.RecordBatch) -> None:
        self._sink.write_ahead(table, batch)


def test_blocks_of_earlier_versions_are_read(store: Store, reader: Store) -> None:
    source = make_source(f"zones{RUN}.old", indexed=False)
    store.make_tables(source, zones=False)
    fed = Fed(store.catalog.register(source))
    sink = WithoutZones(store)
    fed.feed_sink(sink, 8, 4)
    sink.flush()
    assert not list_zones(store, fed)
    assert_right(reader, fed, 10)
    fed.feed(store, 4, 5)
    compact(store, fed)
    assert_right(reader, fed, 10)


def test_labels_hide_zones_as_they_hide_vectors(store: Store, reader: Store) -> None:
    fed = Fed(store.catalog.register(make_source(f"zones{RUN}.labels", indexed=True)))
    fed.feed(store, 4, 6)
    every = Ranges.everything()
    for labels in ((), ("staff",), ("secret",), ("secret", "staff")):
        cells: dict[str, set[tuple[bytes, bytes, bytes]]] = {}
        for family in ("", "zone"):
            scan = EntryScan(event_table(fed.source), every, family=family)
            batches = reader.with_authorizations(labels).scan(scan)
            columns = ("row", "qualifier", "visibility")
            cells[family] = {tuple(row[c] for c in columns) for batch in batches for row in batch.to_pylist()}
        assert cells[""] == cells["zone"] and bool(labels) == bool(cells[""])
    seen = QueryService(reader.with_authorizations(("staff",)))
    request = QueryRequest(fed.source.name, FIRST_DAY, END, 'text >= "0.5"', ("text",), scheme="scan")
    texts = [row["text"] for batch in seen.run(request) for row in batch.to_pylist()]
    assert sorted(texts) == sorted(event[4] for event in fed.events if event[4] >= "0.5")
