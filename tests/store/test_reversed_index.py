"""The index of reversed values agrees with plain Python, with and without servers, in both layouts."""

from __future__ import annotations

import json
import random
from collections import Counter, defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ingest_support import START, load, own
from ingest_support import source as make_source
from loaded import LAYOUTS, batch_of

from watchfloor.ingest.maintenance.compact import compact_source
from watchfloor.query.service import QueryService
from watchfloor.schema.definition import add_fields, parse_definition
from watchfloor.schema.errors import DefinitionError
from watchfloor.schema.filter.tree import make_ends_with
from watchfloor.schema.settings.settings import Settings
from watchfloor.schema.source import Source
from watchfloor.store.admin import tables
from watchfloor.store.bridge.requests import EntryScan
from watchfloor.store.encoding.keys import index_table, shard_names
from watchfloor.store.encoding.ranges import Ranges
from watchfloor.store.index.index_rows import value_rows
from watchfloor.store.layouts.registry import layout_of
from watchfloor.store.store import Store

FIELDS: tuple[dict[str, object], ...] = (
    {"name": "domain", "type": "string", "indexed": True, "reversed": True, "visibility": "secret"},
    {"name": "names", "type": "list", "items": "string", "indexed": True, "reversed": True},
)
GRACE = 1.0
"""Far more than a read of these few events takes."""
REVERSED = tuple(str(field["name"]) for field in FIELDS)
LONG = "x" * 1500
VALUES = (
    "", "a", "www.example.com", "mail.example.com", "example.com", "EXAMPLE.com", "com.example", "\x00", "a\x00b",
    "a\x01", "\x01a", "é", "e\u0301", "\u0301e", "👩\u200d👩\u200d👧", "\u202eabc", "ﬃ", "\U0010ffff",
    LONG, f"{LONG}.example.com", f"{LONG}.example.org", f"a{LONG}", f"b{LONG}",
    "y" * 1024, "y" * 1025, "é" * 512, "é" * 513,
)  # fmt: skip
ENDINGS = ("m", ".com", ".example.com", "\x00", "b", "\u0301", "👧", "é", "x" * 1000, LONG, "y" * 1024)
Event = dict[str, Any]
Entry = tuple[bytes, bytes, bytes, bytes]
"""Row, qualifier, visibility, value."""


def as_written(value: str) -> bytes:
    """A value as it stands in the rows of reversed ones."""
    turned = bytes(reversed(value.encode()))
    return turned if len(turned) <= 1024 else turned[:1000] + blake2b(turned, digest_size=16).digest()


def values_of(event: Event, name: str) -> set[str]:
    value = event.get(name)
    return {v for v in (value if isinstance(value, list) else [value]) if v is not None}


def split(row: bytes) -> tuple[bytes, str, bool, bytes]:
    """An index row's shard, field, whether its value is reversed, and that value."""
    end = next(place for place, byte in enumerate(row) if place >= 4 and byte < 2)
    return row[:4], row[4:end].decode(), row[end] == 1, row[end + 1 :]


def assert_mirrored(kind: Source, entries: list[Entry], events: list[Event]) -> None:
    """The index has for each value of a reversed field what it has for the value itself, and that is right."""
    forward: dict[str, Counter[bytes]] = defaultdict(Counter)
    backward: dict[str, Counter[bytes]] = defaultdict(Counter)
    where: dict[bool, Counter[Any]] = {False: Counter(), True: Counter()}
    for row, qualifier, visibility, value in entries:
        shard, field, turned, written = split(row)
        hits = int.from_bytes(value, "big") if kind.layout == "block" else 1
        (backward if turned else forward)[field][written] += hits
        if field in REVERSED:
            assert visibility.decode() == kind.visibility_of(kind.find_field(field))
            where[turned][shard, field, qualifier, visibility, value] += 1
    assert set(backward) <= set(REVERSED)
    assert where[False] == where[True], "the same entries but for the value"
    for name in REVERSED:
        expected = Counter(value for event in events for value in values_of(event, name))
        assert backward[name] == Counter({as_written(value): count for value, count in expected.items()})
        assert forward[name].total() == expected.total()


def definition(layout: str) -> Source:
    fields = [{"name": "ts", "type": "time"}, {"name": "a", "type": "string", "indexed": True}, *FIELDS]
    shared = {"parser": {"format": "json"}, "timestamp": {"field": "ts"}, "shards": 3, "visibility": "staff"}
    return parse_definition({"name": f"test.turned_{layout}", "layout": layout, "fields": fields, **shared})


texts = st.none() | st.sampled_from(VALUES) | st.text(max_size=5)
events_of = st.lists(
    st.fixed_dictionaries(
        {
            "ts": st.integers(0, 3 * 86400).map(lambda s: datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=s)),
            "a": st.none() | st.sampled_from(["", "domain", "\x01"]),
            "domain": texts,
            "names": st.none() | st.lists(texts, max_size=3),
        }
    ),
    min_size=1,
    max_size=40,
)


@pytest.mark.parametrize("layout", LAYOUTS)
@given(events=events_of)
def test_what_is_written(layout: str, events: list[Event]) -> None:
    kind = definition(layout)
    encoder = layout_of(kind).make_encoder(kind, b"f" * 16, b"i" * 8)
    entries: list[Entry] = []
    for write in encoder.encode(batch_of(kind, events)) + encoder.finish():
        if write.table == index_table(kind):
            names = ("row", "qualifier", "visibility", "value")
            entries += zip(*(write.batch.column(name).to_pylist() for name in names), strict=True)
            assert write.entries == len(write.batch)
    assert_mirrored(kind, entries, events)
    for ending in ENDINGS:
        start = value_rows(make_ends_with("domain", ending), kind).start
        prefixes = {shard + start for shard in shard_names(kind.shards)}
        found = {row for row, *_ in entries if any(row.startswith(prefix) for prefix in prefixes)}
        having = {v for event in events for v in values_of(event, "domain") if v.endswith(ending)}
        assert all(split(row)[1:3] == ("domain", True) for row in found)
        written = {split(row)[3] for row in found}
        assert written >= set(map(as_written, having))
        assert len(ending.encode()) > 1000 or written == set(map(as_written, having))


@pytest.mark.parametrize(
    ("field", "message"),
    [
        ({"name": "x", "type": "string", "reversed": True}, r"fields\[1\]\.reversed: 'x' is not indexed; add"),
        ({"name": "x", "type": "int", "indexed": True, "reversed": True}, "'x' is int; only strings and lists of"),
        ({"name": "x", "type": "ip", "indexed": True, "reversed": True}, "'x' is ip; only strings"),
        (
            {"name": "x", "type": "list", "items": "port", "indexed": True, "reversed": True},
            "'x' is list of port; only strings",
        ),
        ({"name": "x", "type": "string", "indexed": True, "reversed": "yes"}, r"fields\[1\]\.reversed"),
        ({"name": "x\x01", "type": "string"}, r"fields\[1\]\.name"),
        ({"name": "x\x01y", "type": "string"}, r"fields\[1\]\.name"),
        ({"name": "x\n", "type": "string"}, r"fields\[1\]\.name"),
    ],
)
def test_definitions_that_are_refused(field: dict[str, Any], message: str) -> None:
    fields = [{"name": "ts", "type": "time"}, field]
    with pytest.raises(DefinitionError, match=message):
        parse_definition({"name": "a.b", "parser": {"format": "json"}, "timestamp": {"field": "ts"}, "fields": fields})


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_definition_keeps_what_it_says(layout: str) -> None:
    kind = definition(layout)
    assert [f.name for f in kind.fields if f.is_reversed] == list(REVERSED)
    assert parse_definition(kind.to_json()) == kind
    bare = parse_definition({**kind.definition, "fields": kind.definition["fields"][:2]})
    assert add_fields(bare, kind.fields) == kind


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
            ranges.add_prefix(shard + value_rows(make_ends_with("domain", ending), kind).start)
        batches = list(store.seeing_all_of(kind).scan(EntryScan(index_table(kind), ranges)))
        hits = sum(
            int.from_bytes(value, "big") if kind.layout == "block" else 1
            for batch in batches
            for value in batch.column("value").to_pylist()
        )
        having = sum(event.get("domain") is not None and event["domain"].endswith(ending) for event in events)
        assert hits == having or (len(ending.encode()) > 1000 and hits > having)


@pytest.mark.stack
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
