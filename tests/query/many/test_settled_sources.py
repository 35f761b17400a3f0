"""Queries of several sources leave out those that cannot match, and lose no event by that, whoever asks.

In `make test`: it is short, on the stack of the run.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from ingest_support import RUN
from loaded import batch_of, write
from oracle import holds
from query_strategies import QUERY_PROFILE

from watchfloor.api.cli.reading.summaries import format_summary
from watchfloor.query.preparation.request import QueryRequest
from watchfloor.query.service import QueryService
from watchfloor.schema.definition import parse_definition
from watchfloor.schema.field import IndexKind
from watchfloor.schema.filter.type_check import read_filter
from watchfloor.schema.settings.settings import Settings
from watchfloor.schema.source import Source
from watchfloor.schema.times import END_OF_TIME, to_micros
from watchfloor.store.admin.tables import SOURCES_TABLE
from watchfloor.store.layouts.item_writer import ItemWriter
from watchfloor.store.store import Store

pytestmark = pytest.mark.stack

START = datetime(2024, 3, 1, 22, tzinfo=UTC)
HOUR = 3_600_000_000
PREFIX = f"settled{RUN}"
SOURCES = tuple(f"{PREFIX}.s{n}_{layout}" for n in range(3) for layout in ("cell", "block"))
USERS = ((), ("staff",), ("staff", "secret"))
FILTERS = (
    "ip = 10.0.0.1",
    "ip = 10.0.2.1",
    "ip = 192.0.2.1",
    "ip in (10.0.1.1, 10.0.2.2)",
    "user = u0 and ip = 10.0.0.2",
    "user = u1 or ip = 10.0.2.1",
    "not ip = 10.0.0.1",
    "user = u2 and not ip = 10.0.1.1",
    "size = 3 and ip = 10.0.0.1",
    "size = 3 or ip = 10.0.0.1",
    "destination.ip = 10.0.1.2 and size > 1",
    "ip in 10.0.1.0/24",
)
FIELDS: list[dict[str, Any]] = [
    {"name": "from", "type": "ip", "indexed": True, "ecs": "source.ip"},
    {"name": "to", "type": "list", "items": "ip", "indexed": True, "ecs": "destination.ip", "visibility": "secret"},
    {"name": "who", "type": "string", "indexed": True, "ecs": "user.name"},
    {"name": "size", "type": "int", "indexed": True},
]


def source(name: str) -> Source:
    return parse_definition(
        {
            "name": name,
            "parser": {"format": "json"},
            "timestamp": {"field": "ts"},
            "shards": 2,
            "visibility": "" if "s0" in name else "staff",
            "layout": name.rpartition("_")[2],
            "fields": [{"name": "ts", "type": "time"}, *FIELDS],
        }
    )


def make_events(name: str) -> list[dict[str, Any]]:
    """Addresses of a source's own, but for those of ``to``, which are of the next source."""
    own = SOURCES.index(name) // 2
    return [
        {
            "ts": START + timedelta(minutes=number * 7 + own),
            "from": f"10.0.{own}.{number % 4}" if number % 5 else None,
            "to": [f"10.0.{(own + 1) % 3}.{number % 3}"] * (number % 3) or None,
            "who": f"u{(number + own) % 4}" if number % 7 else None,
            "size": number % 6,
        }
        for number in range(90)
    ]


EVENTS = {name: make_events(name) for name in SOURCES}


@pytest.fixture(scope="module")
def opened(store_settings: Settings) -> Iterator[Store]:
    with Store.open(store_settings) as writer, writer.sink() as sink:
        for name in SOURCES:
            kind = writer.catalog.register(source(name))
            for file in range(2):
                write(sink, kind, file, batch_of(kind, EVENTS[name][file::2]), block_rows=20)
        sink.flush()
    with Store.open(store_settings, role="query") as opened:
        yield opened


def show(event: dict[str, Any], labels: tuple[str, ...]) -> dict[str, Any]:
    return event if "secret" in labels else {**event, "to": None}


def expect(where: str, labels: tuple[str, ...], since: int, until: int) -> dict[str, Counter[int]]:
    """The times of the events that a user finds, by source; sources without any are left out."""
    found: dict[str, Counter[int]] = {}
    for name in SOURCES:
        kind = source(name)
        if kind.visibility and "staff" not in labels:
            continue
        fields = [field for field in kind.fields if "secret" in labels or field.name != "to"]
        try:
            tree = read_filter(where, kind.keep_fields(fields))
        except Exception:
            continue
        times = [to_micros(event["ts"]) for event in EVENTS[name] if holds(tree, show(event, labels), kind)]
        if mine := Counter(time for time in times if since <= time < until):
            found[name] = mine
    return found


@settings(QUERY_PROFILE)
@given(
    st.sampled_from(FILTERS),
    st.sampled_from(USERS),
    st.none() | st.integers(-2, 6),
    st.none() | st.integers(7, 14),
    st.sampled_from([0, 1, 1_800_000_000]),
    st.booleans(),
)
@example("ip = 10.0.2.1", USERS[2], None, None, 0, False)
@example("ip = 192.0.2.1", USERS[2], None, None, 0, True)
@example("destination.ip = 10.0.1.2 and size > 1", USERS[2], 1, 8, 1, False)
def test_no_event_is_lost(
    opened: Store, where: str, labels: tuple[str, ...], begin: int | None, end: int | None, shift: int, sort: bool
) -> None:
    since = None if begin is None else to_micros(START) + begin * HOUR + shift
    until = None if end is None else to_micros(START) + end * HOUR + shift
    expected = expect(where, labels, since or 0, until or END_OF_TIME)
    service = QueryService(opened.with_authorizations(labels))
    request = QueryRequest(
        f"{PREFIX}.*", since=since, until=until, where=where, limit=9999, sort="time" if sort else None
    )
    if labels != USERS[2] and "destination" in where:
        return  # The field is not there for these users.
    result = service.run(request)
    found: dict[str, Counter[int]] = {}
    for batch in result:
        for row in batch.to_pylist():
            found.setdefault(row["_source"], Counter())[to_micros(row["time"])] += 1
    assert found == expected
    summary = result.summary
    assert not set(summary["settled"]) & set(expected)
    if where.startswith("ip =") and begin is end is None:
        assert set(summary["sources"]) == set(expected), "no other source was planned"


def test_sources_that_a_full_page_does_not_need_are_not_read(opened: Store) -> None:
    """The events of a source lie a minute after those of the one before it; pages joined are all rows in order."""
    service = QueryService(opened.with_authorizations(USERS[2]))
    request = QueryRequest(
        f"{PREFIX}.*_block", where="ip in (10.0.0.1, 10.0.1.1, 10.0.2.1)", columns=("time", "_source")
    )
    whole = [row for batch in service.run(request) for row in batch.to_pylist()]
    first = service.run(replace(request, limit=1))
    rows = [row for batch in first for row in batch.to_pylist()]
    newest = whole[0]["_source"]
    assert rows == whole[:1] and set(first.summary["sources"]) == {newest}
    assert set(first.summary["not_reached"]) == {name for name in SOURCES if name.endswith("block")} - {newest}
    assert f"before it came to their events: {first.summary['not_reached'][0]}" in format_summary(first.summary)
    paged, cursor = [], None
    while len(paged) < len(whole):
        page = service.run(replace(request, limit=3, cursor=cursor))
        paged += [row for batch in page for row in batch.to_pylist()]
        cursor = page.summary.get("cursor")
    assert paged == whole
    assert set(service.explain(request).to_json()["sources"]) == {row["_source"] for row in whole}


def test_events_of_an_item_that_is_being_written_wait_for_its_end(store_settings: Settings) -> None:
    """They are newer than the sightings say, and would come after older rows."""
    name = f"open{RUN}.s0_cell"
    with Store.open(store_settings) as writer:
        kind = writer.catalog.register(source(name))
        with writer.sink() as sink:
            write(sink, kind, 0, batch_of(kind, EVENTS[SOURCES[1]]))
            newer = {**EVENTS[SOURCES[1]][1], "ts": EVENTS[SOURCES[1]][-1]["ts"] + timedelta(hours=3)}
            item = ItemWriter(sink, b"8 bytes!", b"16 bytes of file", False)
            item.write_events(kind, batch_of(kind, [newer]))
            sink.flush()
            service = QueryService(writer.seeing_all_of(kind))
            request = QueryRequest(f"{name}*", where=f"from = {newer['from']}", columns=("time",))
            expected = sum(event["from"] == newer["from"] for event in EVENTS[SOURCES[1]])
            assert sum(len(batch) for batch in service.run(request)) == expected
            item.put_writes(item.encode_rest())
            sink.flush()
            assert sum(len(batch) for batch in service.run(request)) == expected + 1


def test_a_query_that_settles_everything_has_no_rows(opened: Store) -> None:
    result = QueryService(opened.with_authorizations(USERS[2])).run(QueryRequest(f"{PREFIX}.*", where="ip = 192.0.2.1"))
    assert not [row for batch in result for row in batch.to_pylist()]
    assert result.summary["settled"] == sorted(SOURCES) and not result.summary["sources"]


def test_a_source_of_an_older_version_is_asked_itself(store_settings: Settings) -> None:
    """Its events have no sightings until it is registered anew; then those from now on have."""
    name = f"older{RUN}.s0_block"
    with Store.open(store_settings) as writer:
        kind = writer.catalog.register(source(name))
        form = {
            **kind.definition,
            "fields": [{k: v for k, v in f.items() if k != "sighted"} for f in kind.definition["fields"]],
        }
        writer.put(SOURCES_TABLE, [(name.encode(), b"", b"", json.dumps(form).encode())])
        old = writer.catalog.read_sources()[name]
        assert not any(field.is_sighted for field in old.fields)
        with writer.seeing_all_of(old).sink() as sink:
            write(sink, old, 0, batch_of(old, EVENTS[SOURCES[1]]), block_rows=20)
        service = QueryService(writer.seeing_all_of(old))

        def ask(since: int | None) -> tuple[int, int]:
            found = service.find_sightings("10.0.0.1", since=since, sources=name).found
            rows = service.run(QueryRequest(f"{name}*", where="ip = 10.0.0.1", since=since))
            return sum(s.count for s in found), sum(len(batch) for batch in rows)

        expected = sum(event["from"] == "10.0.0.1" for event in EVENTS[SOURCES[1]])
        assert ask(None) == (expected, expected)
        later = writer.catalog.register(source(name))
        covers_from = later.find_field("from").find_index(IndexKind.SIGHTINGS).covers_from  # type: ignore[union-attr]
        assert covers_from == to_micros(EVENTS[SOURCES[1]][-1]["ts"]) + 1
        assert ask(None) == (expected, expected)
        assert ask(covers_from) == (0, 0)
        new = {**EVENTS[SOURCES[1]][1], "ts": EVENTS[SOURCES[1]][-1]["ts"] + timedelta(hours=1)}
        with writer.seeing_all_of(old).sink() as sink:
            write(sink, later, 1, batch_of(later, [new]))
        assert ask(covers_from) == (1, 1)
        assert ask(None) == (expected + 1, expected + 1)
