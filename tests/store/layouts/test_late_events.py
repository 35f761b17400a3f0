"""Late events are found on real servers: days old, out of order, at midnight, at ends of a range, of several items.

Each example has twelve days of its own, so that all may lie in the same tables, and those before it are history.

In `make test`: it is short, on the stack of the run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, note, settings
from hypothesis import strategies as st
from ingest_support import RUN
from loaded import LAYOUTS, batch_of, write

from watchfloor.query.preparation.request import QueryRequest
from watchfloor.query.service import QueryService
from watchfloor.schema.definition import parse_definition
from watchfloor.schema.settings.settings import Settings
from watchfloor.schema.source import Source
from watchfloor.store.bridge.requests import EntryScan
from watchfloor.store.encoding.keys import DAY, HOUR, MINUTE, event_table
from watchfloor.store.encoding.ranges import Ranges
from watchfloor.store.layouts.block.vectors.vector import decode_vector
from watchfloor.store.store import Store

pytestmark = pytest.mark.stack

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
DAYS = 12
BLOCK_ROWS = 4
"""Events of a block, so few that a handful of events are many blocks."""
Event = tuple[int, str, int]
"""Time (µs), host and a number of its own."""

clocks = st.sampled_from([0, 1, DAY - 1, HOUR, HOUR - 1, 23 * HOUR]) | st.integers(0, DAY - 1)
times = st.tuples(st.integers(0, DAYS - 1), clocks).map(lambda t: t[0] * DAY + t[1])
items = st.lists(st.lists(st.tuples(times, st.sampled_from("ab")), min_size=1, max_size=20), min_size=1, max_size=4)


@dataclass(frozen=True)
class Tables:
    """A source in each layout with the same events, and what tells examples and items apart."""

    store: Store
    sources: dict[str, Source]
    window: Iterator[int]
    item: Iterator[int]


@pytest.fixture(scope="module")
def tables(store_settings: Settings) -> Iterator[Tables]:
    definition = {
        "parser": {"format": "json"},
        "timestamp": {"field": "ts"},
        "shards": 2,
        "fields": [
            {"name": "ts", "type": "time"},
            {"name": "host", "type": "string", "indexed": True},
            {"name": "n", "type": "int"},
        ],
    }
    with Store.open(store_settings) as store:
        sources = {
            layout: store.catalog.register(
                parse_definition({**definition, "name": f"late{RUN}.{layout}", "layout": layout})
            )
            for layout in LAYOUTS
        }
        yield Tables(store, sources, count(10_000 * DAY, DAYS * DAY), count())


def put(tables: Tables, found: list[list[Event]]) -> None:
    with tables.store.sink() as sink:
        for events in found:
            item = next(tables.item)
            rows = [{"ts": EPOCH + timedelta(microseconds=t), "host": h, "n": n} for t, h, n in events]
            for source in tables.sources.values():
                write(sink, source, item, batch_of(source, rows), BLOCK_ROWS)
        sink.flush()


def micros(moment: datetime) -> int:
    return (moment - EPOCH) // timedelta(microseconds=1)


@st.composite
def questions(draw: st.DrawFn, items: list[list[tuple[int, str]]]) -> tuple[int, int, str]:
    """A range, often with an end at an event or at midnight, and a host."""
    near = st.sampled_from([time for item in items for time, _ in item]).flatmap(lambda t: st.integers(t - 1, t + 1))
    midnight = st.integers(0, DAYS).map(lambda day: day * DAY)
    ends = st.one_of(near, midnight).map(lambda t: min(max(t, 0), DAYS * DAY))
    since, until = sorted(draw(st.tuples(ends, ends).filter(lambda pair: pair[0] != pair[1])))
    return since, until, draw(st.sampled_from("ab"))


@given(items=items, data=st.data())
@settings(
    max_examples=20,
    suppress_health_check=list(HealthCheck),
    phases=[p for p in Phase if p is not Phase.explain],
)
def test_every_range_finds_exactly_its_events(
    items: list[list[tuple[int, str]]], data: st.DataObject, tables: Tables
) -> None:
    asked = [data.draw(questions(items)) for _ in range(2)]
    base, numbers = next(tables.window), count()
    put(tables, found := [[(base + time, host, next(numbers)) for time, host in item] for item in items])
    events = [event for item in found for event in item]
    service = QueryService(tables.store)
    for since, until, host in ((base + low, base + high, host) for low, high, host in asked):
        inside = [event for event in events if since <= event[0] < until]
        matching = [event for event in inside if event[1] == host]
        for layout, source in tables.sources.items():
            name = source.name
            for where, scheme, expected in (
                (None, "scan", inside),
                *((f"host = {host}", scheme, matching) for scheme in ("scan", "index", "batched-index")),
            ):
                note(f"{layout}, {scheme}, {where}, from {since - base} to {until - base}")
                result = service.run(QueryRequest(name, since, until, where, scheme=scheme))
                rows = [(micros(r["ts"]), r["host"], r["n"]) for batch in result for r in batch.to_pylist()]
                assert Counter(rows) == Counter(expected)
                assert [row[0] for row in rows] == sorted((row[0] for row in rows), reverse=True)
            assert service.count_events(name, since, until) == len(inside)
            assert service.count_events(name, since, until, "host", host) == len(matching)
            assert dict(service.rank_values(name, "host", since, until)) == Counter(event[1] for event in inside)
            for bucket, width in (("minute", MINUTE), ("day", DAY)):
                buckets = Counter(event[0] // width * width for event in matching)
                assert dict(service.count_over_time(name, since, until, bucket, "host", host)) == buckets


def test_no_block_has_events_of_two_days(tables: Tables) -> None:
    """Of all that the examples have left, and of events on both sides of midnight."""
    base = next(tables.window)
    put(tables, [[(base + day * DAY + shift, "a", shift) for day in range(1, 5) for shift in (-1, 0, 1)]])
    source, everything = tables.sources["block"], Ranges()
    everything.add_rows(b"", None)
    blocks: list[Any] = []
    for batch in tables.store.scan(EntryScan(event_table(source), everything, family="")):
        for qualifier, value in zip(
            batch.column("qualifier").to_pylist(), batch.column("value").to_pylist(), strict=True
        ):
            if qualifier == b"ts":
                blocks.append([micros(time) for time in decode_vector(source.find_field("ts"), value).to_pylist()])
    assert len(blocks) >= 5
    for times in blocks:
        assert len({time // DAY for time in times}) == 1 and times == sorted(times, reverse=True)
