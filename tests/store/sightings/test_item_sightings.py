"""The table of sightings has what the last reading of each item says, in both layouts, whatever was read before.

In `make test`: it is short, on the stack of the run.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from typing import Any

import pyarrow as pa
import pytest
from ingest_support import RUN
from loaded import batch_of

from watchfloor.schema.coverage import add_sightings
from watchfloor.schema.definition import parse_definition
from watchfloor.schema.settings.settings import Settings
from watchfloor.schema.source import Source
from watchfloor.schema.times import to_micros
from watchfloor.store.admin.tables import SIGHTINGS_TABLE, drop_source
from watchfloor.store.bridge.requests import EntryScan
from watchfloor.store.encoding.keys import HOUR
from watchfloor.store.encoding.ranges import Ranges
from watchfloor.store.layout import UNGUARDED, GoneLines
from watchfloor.store.layouts.item_writer import ItemWriter
from watchfloor.store.sightings import item_records
from watchfloor.store.sightings.read_sightings import read_sightings
from watchfloor.store.sightings.sighted_rows import SightedRange
from watchfloor.store.store import Store

pytestmark = pytest.mark.stack

START = datetime(2024, 3, 1, 21, tzinfo=UTC)
EVERYTHING = SightedRange(b"", b"\xff")
FIELDS: list[dict[str, Any]] = [
    {"name": "from", "type": "ip", "indexed": True, "ecs": "source.ip"},
    {"name": "hosts", "type": "list", "items": "string", "indexed": True, "ecs": "related.hosts"},
    {"name": "site", "type": "string", "indexed": True, "ecs": "url.domain", "visibility": "secret"},
    {"name": "path", "type": "string", "ecs": "file.path"},
    {"name": "colour", "type": "string", "indexed": True},
]
SIGHTED = ("from", "hosts", "site")


def definition(name: str, layout: str, fields: list[dict[str, Any]] = FIELDS, visibility: str = "staff") -> Source:
    form = {"parser": {"format": "json"}, "timestamp": {"field": "ts"}, "shards": 2, "layout": layout}
    all_fields = [{"name": "ts", "type": "time"}, *fields]
    name = f"sighted{RUN}.{name}_{layout}"
    return parse_definition({**form, "name": name, "visibility": visibility, "fields": all_fields})


def make_events(seed: int, number: int = 120) -> list[dict[str, Any]]:
    """Events of three days, some of whose values are missing, repeated in a list, or too long for a row."""
    draw = random.Random(seed)
    sites = ["a.example.com", "b.example.com", "x" * 2000 + ".com", f"only{seed}.org"]
    return [
        {
            "ts": START + timedelta(minutes=draw.randrange(2880)),
            "from": draw.choice([f"10.0.{draw.randrange(3)}.{draw.randrange(9)}", "2001:db8::1", None]),
            "hosts": draw.choice([None, [], ["h1"], ["h1", "h1", "h2"], [f"h{draw.randrange(50)}"]]),
            "site": draw.choice([*sites, None]),
            "path": "p",
            "colour": "red",
        }
        for _ in range(number)
    ]


def read_item(store: Store, kind: Source, item: int, events: list[dict[str, Any]], again: bool) -> None:
    """Reads an item as a worker does; the lines of events that are gone now are none."""
    file_id, item_id = (blake2b(b"%d" % item, digest_size=size).digest() for size in (16, 8))
    with store.sink() as sink:
        writer = ItemWriter(sink, item_id, file_id, again)
        for start in range(0, len(events), 50):
            writer.write_events(kind, batch_of(kind, events[start : start + 50]))
        writer.put_writes(writer.encode_rest())
        if again:
            writer.replace_earlier(store)
        sink.flush()
        if again:
            writer.sweep_earlier(store, GoneLines(), [kind], UNGUARDED)


def count_values(events: list[dict[str, Any]]) -> dict[str, Counter[int]]:
    """The number of values in each hour, by field; an event's list has each of its values once."""
    counts: dict[str, Counter[int]] = {}
    for event in events:
        for name in SIGHTED:
            held = event[name] if isinstance(event[name], list) else [event[name]]
            number = len({value for value in held or [] if value is not None})
            if number:
                counts.setdefault(name, Counter())[to_micros(event["ts"]) // HOUR * HOUR] += number
    return counts


def stored_counts(store: Store, kind: Source) -> Mapping[str, Counter[int]]:
    found = read_sightings(store, [EVERYTHING], None, None)[EVERYTHING]
    return {field: sighted.hours for (source, field), sighted in found.items() if source == kind.name}


def list_entries(store: Store, kind: Source) -> set[tuple[bytes, ...]]:
    """All entries of a source in the table, sightings and records."""
    everything = Ranges()
    everything.add_rows(b"", None)
    found: set[tuple[bytes, ...]] = set()
    for batch in store.scan(EntryScan(SIGHTINGS_TABLE, everything)):
        columns = (batch.column(name).to_pylist() for name in ("row", "qualifier", "visibility", "value"))
        found.update(row for row in zip(*columns, strict=True) if row[1][8:].startswith(kind.name.encode() + b"\x00"))
    return found


@pytest.fixture
def store(store_settings: Settings) -> Iterator[Store]:
    with Store.open(store_settings) as opened:
        yield opened


@pytest.fixture(params=["cell", "block"])
def layout(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


def test_items_are_read_again(store: Store, layout: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the same events, with others, with fewer, and with none."""
    monkeypatch.setattr(item_records, "_RECORD_KEYS", 7)  # A field has several records.
    kind = store.catalog.register(definition("again", layout))
    store = store.seeing_all_of(kind)
    first, second = make_events(1), make_events(2)
    read_item(store, kind, 1, first, again=False)
    read_item(store, kind, 2, second, again=False)
    assert stored_counts(store, kind) == count_values(first + second)
    before = list_entries(store, kind)
    read_item(store, kind, 1, first, again=True)
    assert list_entries(store, kind) == before, "the same entries with the same bytes"
    third = make_events(3)
    read_item(store, kind, 1, third, again=True)
    assert stored_counts(store, kind) == count_values(third + second)
    fewer = [
        {**event, "from": None, "hosts": event["hosts"] if number % 2 else None} for number, event in enumerate(third)
    ]
    read_item(store, kind, 1, fewer, again=True)
    assert stored_counts(store, kind) == count_values(fewer + second)
    read_item(store, kind, 1, first, again=True)
    read_item(store, kind, 1, [], again=True)
    read_item(store, kind, 2, [], again=True)
    assert not list_entries(store, kind)
    drop_source(store.connection, kind)


def test_a_reading_that_broke_off_leaves_nothing(store: Store, layout: str) -> None:
    """Its records are there, but only some of its sightings; the next reading is by another definition."""
    kind = store.catalog.register(definition("broken", layout))
    store = store.seeing_all_of(kind)
    events = make_events(4)
    file_id, item_id = (blake2b(b"1", digest_size=size).digest() for size in (16, 8))
    with store.sink() as sink:
        writer = ItemWriter(sink, item_id, file_id)
        writes = [*writer.encode(kind, batch_of(kind, events)), *writer.encode_rest()]
        writer.put_writes(writes[:-1])
    fewer = [{**event, "site": None, "from": "10.9.9.9"} for event in events]
    read_item(store, kind, 1, fewer, again=True)
    assert stored_counts(store, kind) == count_values(fewer)
    drop_source(store.connection, kind)


def test_a_field_with_another_label_counts_once(store: Store, layout: str) -> None:
    kind = store.catalog.register(definition("label", layout))
    relabelled = add_sightings(definition("label", layout, [{**field, "visibility": "other"} for field in FIELDS]))
    store.make_tables(relabelled)
    events = make_events(5)
    store = store.with_authorizations(["staff", "secret", "other"])
    read_item(store, kind, 1, events, again=False)
    file_id, item_id = (blake2b(b"1", digest_size=size).digest() for size in (16, 8))
    records = item_records.read_item_records(store, kind, item_id)
    with store.sink() as sink:
        writer = ItemWriter(sink, item_id, file_id)
        writer.encode(relabelled, batch_of(relabelled, events))
        written = [write for write in writer.encode_rest() if write.table == SIGHTINGS_TABLE]
        writer.put_writes(written)
    item_records.remove_stale_sightings(store, item_id, records, written)
    assert stored_counts(store, kind) == count_values(events)
    assert {entry[2] for entry in list_entries(store, kind)} == {b"other"}
    drop_source(store.connection, relabelled)
    drop_source(store.connection, kind)


def test_readers_see_the_sightings_of_their_labels(store: Store, layout: str) -> None:
    kind = store.catalog.register(definition("labels", layout))
    events = make_events(6)
    read_item(store.seeing_all_of(kind), kind, 1, events, again=False)
    everything = count_values(events)
    for labels, seen in (
        ((), ()),
        (("staff",), ("from", "hosts")),
        (("secret",), ("site",)),
        (("staff", "secret"), SIGHTED),
    ):
        found = stored_counts(store.with_authorizations(labels), kind)
        assert found == {name: everything[name] for name in seen}, labels
    drop_source(store.connection, kind)


def test_a_dropped_source_takes_its_sightings_along(store: Store, layout: str) -> None:
    kept, dropped = (store.catalog.register(definition(name, layout)) for name in ("drop", "dropped"))
    for kind in (kept, dropped):
        read_item(store.seeing_all_of(kind), kind, 1, make_events(7), again=False)
    drop_source(store.connection, kept)
    store = store.seeing_all_of(dropped)
    assert not list_entries(store, kept)
    assert stored_counts(store, dropped) == count_values(make_events(7))
    drop_source(store.connection, dropped)


def test_entries_do_not_depend_on_the_batches(store: Store, layout: str) -> None:
    kind = store.catalog.register(definition("batches", layout))
    events = batch_of(kind, make_events(8, 300))
    file_id, item_id = (blake2b(b"1", digest_size=size).digest() for size in (16, 8))
    found = []
    for rows in (300, 17, 1):
        with store.sink() as sink:
            writer = ItemWriter(sink, item_id, file_id)
            for start in range(0, len(events), rows):
                writer.encode(kind, events.slice(start, rows))
            writes = [write.batch for write in writer.encode_rest() if write.table == SIGHTINGS_TABLE]
        found.append({tuple(row.values()) for batch in writes for row in pa.Table.from_batches([batch]).to_pylist()})
    assert found[0] == found[1] == found[2]
    drop_source(store.connection, kind)
