"""The index of reversed values stays right through loads, readings again, compactions and new definitions.

In `make soak`: one source after the other is loaded, read again and compacted, for a minute.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from block_store import hits_of_blocks
from ingest_support import START, load, own
from ingest_support import source as make_source
from reversed_values import ENDINGS, FIELDS, LONG, VALUES, Entry, Event, assert_mirrored, values_of

from watchfloor.ingest.maintenance.compact import compact_source
from watchfloor.query.service import QueryService
from watchfloor.schema.filter.tree import make_ends_with
from watchfloor.schema.settings.settings import Settings
from watchfloor.schema.source import Source
from watchfloor.store.admin import tables
from watchfloor.store.bridge.requests import EntryScan
from watchfloor.store.encoding.keys import index_table, shard_names
from watchfloor.store.encoding.ranges import Ranges
from watchfloor.store.index.index_rows import find_value_rows
from watchfloor.store.store import Store

pytestmark = [pytest.mark.stack, pytest.mark.soak]

GRACE = 1.0
"""Far more than a read of these few events takes."""


@pytest.fixture(scope="module")
def store(store_settings: Settings) -> Iterator[Store]:
    with Store.open(store_settings) as opened:
        opened.grace = GRACE
        yield opened


def write_log(path: Path, lines: int, seed: int) -> list[Event]:
    """Events over three days, out of order."""
    draw = random.Random(seed)
    events: list[Event] = []
    for number in range(lines):
        event: Event = {"ts": START + draw.randrange(3 * 86400), "host": f"h{number % 5}", "n": number % 3}
        if draw.random() < 0.8:
            event["domain"] = draw.choice(VALUES)
        if draw.random() < 0.5:
            event["names"] = [draw.choice(VALUES) for _ in range(draw.randrange(4))]
        events.append(event)
    path.write_text("".join(json.dumps(event) + "\n" for event in events))
    return events


def index_of(store: Store, kind: Source) -> list[Entry]:
    everything = Ranges()
    everything.add_rows(b"", None)
    names = ("row", "qualifier", "visibility", "value")
    batches = store.seeing_all_of(kind).scan(EntryScan(index_table(kind), everything))
    return [entry for b in batches for entry in zip(*(b.column(n).to_pylist() for n in names), strict=True)]


def check(store: Store, kind: Source, events: list[Event]) -> None:
    assert_mirrored(kind, index_of(store, kind), events)
    service = QueryService(store.seeing_all_of(kind))
    counted = Counter(value for event in events for value in values_of(event, "domain") if len(value.encode()) <= 1000)
    found = dict(service.rank_values(kind.name, "domain", limit=len(VALUES)))
    assert {value: count for value, count in found.items() if value in counted} == counted
    assert service.count_events(kind.name, field="domain", value=LONG) == sum(e.get("domain") == LONG for e in events)
    for ending in ENDINGS:
        ranges = Ranges()
        for shard in shard_names(kind.shards):
            ranges.add_prefix(shard + find_value_rows(make_ends_with("domain", ending), kind).start)
        batches = list(store.seeing_all_of(kind).scan(EntryScan(index_table(kind), ranges)))
        hits = sum(
            sum(hits_of_blocks(key, value).values()) if kind.layout == "block" else 1
            for batch in batches
            for key, value in zip(batch.column("qualifier").to_pylist(), batch.column("value").to_pylist(), strict=True)
        )
        having = sum(event.get("domain") is not None and event["domain"].endswith(ending) for event in events)
        assert hits == having or (len(ending.encode()) > 1000 and hits > having)


@pytest.mark.parametrize("mode", ["live", "bulk"])
def test_it_stays_right(layout: str, mode: str, store_settings: Settings, store: Store, tmp_path: Path) -> None:
    """Loaded, loaded again, compacted, loaded again after that, and read with another definition."""
    name = f"turned{mode}"
    settings = own(store_settings, name, ingest_mode=mode)
    kind = store.catalog.register(make_source(name, layout, FIELDS))
    paths = [tmp_path / f"{number}.log" for number in range(3)]
    logs = [write_log(path, 400, seed) for seed, path in enumerate(paths)]
    events = [event for log in logs for event in log]
    assert load(settings, *paths, feed=kind.name).quarantined == 0
    check(store, kind, events)
    if mode == "bulk":  # what differs is how it is written
        return
    assert load(settings, paths[0], feed=kind.name, again=True).events == 400
    check(store, kind, events)
    if layout == "block":
        before = len(index_of(store, kind))
        assert compact_source(store, kind.name, 0).events > 0
        assert len(index_of(store, kind)) < before
        check(store, kind, events)
        assert load(settings, paths[1], feed=kind.name, again=True).events == 400
        compact_source(store, kind.name, 0)  # deletes what that has replaced
        check(store, kind, events)
    tables.compact_source(store.connection, kind)
    check(store, kind, events)
    colour: dict[str, object] = {"name": "colour", "type": "string", "indexed": True}
    kind = store.catalog.register(make_source(name, layout, (*FIELDS, colour)))
    assert load(settings, *paths, feed=kind.name, again=True).events == 1200
    if layout == "block":
        compact_source(store, kind.name, 0)
    check(store, kind, events)
