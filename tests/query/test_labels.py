"""Users see events and counts in both layouts on real servers as if the fields hidden from them did not exist.

In `make test`: it is short, on the stack of the run.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from ingest_support import RUN
from loaded import LAYOUTS, batch_of, write
from oracle import holds

from watchfloor.query.preparation.request import QueryRequest
from watchfloor.query.service import QueryService
from watchfloor.schema.choices import SCHEMES
from watchfloor.schema.definition import parse_definition
from watchfloor.schema.errors import UnknownFieldError, UnknownSourceError
from watchfloor.schema.filter.type_check import read_filter
from watchfloor.schema.settings.settings import Settings
from watchfloor.schema.source import Source
from watchfloor.store.layout import ReadRequest
from watchfloor.store.layouts.count_reader import CountReader
from watchfloor.store.layouts.registry import find_layout
from watchfloor.store.store import Store

pytestmark = pytest.mark.stack

START = datetime(2024, 2, 29, 22, tzinfo=UTC)
EVENTS = 900
FIELDS = [
    {"name": "ts", "type": "time"},
    {"name": "who", "type": "string", "indexed": True},
    {"name": "size", "type": "int", "indexed": True, "visibility": "staff&secret"},
    {"name": "tags", "type": "list", "items": "string", "indexed": True, "visibility": "audit|secret"},
    {"name": "note", "type": "string", "visibility": "secret"},
]
SEEN = {
    ("staff",): {"ts", "who"},
    ("staff", "audit"): {"ts", "who", "tags"},
    ("staff", "secret"): {"ts", "who", "size", "tags", "note"},
}
"""Fields by what a reader may see."""
FILTERS = (
    "who = b",
    "size = 3",
    "not size = 3",
    "tags = x",
    "who = a and size = 1",
    "size = 1 or tags = y",
    "not (tags = y or note = n1)",
    "exists note",
    "who = c and not exists size",
    "size + 1 > 3 or length(tags) = 0",
    "not lower(note) = n1",
    "who != field(note)",
    "any = x",
)


def source(name: str, layout: str, fields: list[dict[str, Any]]) -> Source:
    definition = {"parser": {"format": "json"}, "timestamp": {"field": "ts"}, "shards": 2, "visibility": "staff"}
    return parse_definition({**definition, "name": f"labels{RUN}.{name}", "layout": layout, "fields": fields})


@pytest.fixture(scope="module")
def events() -> list[dict[str, Any]]:
    """Four hours around midnight. Every field is missing here and there; some events have only hidden fields."""
    return [
        {
            "ts": START + timedelta(seconds=16 * n),
            "who": "abc"[n % 3] if n % 11 else None,
            "size": n % 5 if n % 7 else None,
            "tags": [["x"], ["x", "y"], [], None][n % 4],
            "note": f"n{n % 3}" if n % 2 else None,
        }
        for n in range(EVENTS)
    ]


@pytest.fixture(scope="module")
def store(store_settings: Settings, events: list[dict[str, Any]]) -> Iterator[Store]:
    """The analysts' store. Events lie in a source a layout; in ``clock`` the time has a label of its own."""
    clocked = [{**FIELDS[0], "visibility": "clock"}, *FIELDS[1:]]
    with Store.open(store_settings) as writer, writer.sink() as sink:
        sources = [source(layout, layout, FIELDS) for layout in LAYOUTS] + [source("clock", "block", clocked)]
        for kind in map(writer.catalog.register, sources):
            for item in range(2):
                write(sink, kind, item, batch_of(kind, events[item::2]))
        sink.flush()
    with Store.open(store_settings, role="query") as opened:
        yield opened


def rows_of(service: QueryService, request: QueryRequest) -> list[dict[str, Any]]:
    return [row for batch in service.run(request) for row in batch.to_pylist()]


@pytest.mark.parametrize("labels", SEEN, ids="+".join)
def test_a_reader_sees_what_is_left_without_the_hidden_fields(
    labels: tuple[str, ...], layout: str, store: Store, events: list[dict[str, Any]]
) -> None:
    kind = source(layout, layout, [field for field in FIELDS if field["name"] in SEEN[labels]])
    service = QueryService(store.with_authorizations(labels))
    shown = [{name: value for name, value in event.items() if name in SEEN[labels]} for event in events]
    for where in (None, *FILTERS):
        try:
            tree = read_filter(where, kind)
        except UnknownFieldError as error:
            with pytest.raises(UnknownFieldError, match=re.escape(error.message)):
                service.run(QueryRequest(kind.name, where=where))
            continue
        expected = [event for event in reversed(shown) if tree is None or holds(tree, event)]
        for scheme in SCHEMES:
            assert rows_of(service, QueryRequest(kind.name, where=where, scheme=scheme)) == expected, (where, scheme)


@pytest.mark.parametrize("labels", SEEN, ids="+".join)
def test_a_reader_counts_what_is_left_without_the_hidden_fields(
    labels: tuple[str, ...], layout: str, store: Store, events: list[dict[str, Any]]
) -> None:
    name = source(layout, layout, FIELDS).name
    service = QueryService(store.with_authorizations(labels))
    cut = START + timedelta(minutes=47)  # in the middle of an hour and of blocks
    since = (cut - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
    inside = [event for event in events if event["ts"] >= cut]
    assert service.count_events(name, since) == len(inside)
    for field, value in (("who", "a"), ("size", 1), ("tags", "x")):
        if field not in SEEN[labels]:
            with pytest.raises(UnknownFieldError):
                service.count_events(name, since, None, field, value)
            continue
        held = [set(v) if isinstance(v := event[field], list) else {v} - {None} for event in inside]
        counted = Counter(one for values in held for one in values)
        assert service.count_events(name, since, None, field, value) == counted[value]
        assert dict(service.rank_values(name, field, since)) == counted
        assert sum(n for _, n in service.count_over_time(name, since, None, "hour", field, value)) == counted[value]


@pytest.mark.parametrize("labels", [(), ("audit",)], ids=["none", "audit"])
def test_who_may_not_see_the_source_does_not_know_it(labels: tuple[str, ...], layout: str, store: Store) -> None:
    name = source(layout, layout, FIELDS).name
    restricted = store.with_authorizations(labels)
    assert name not in restricted.catalog.read_sources()
    for ask in (QueryService(restricted).count_events, lambda n: QueryService(restricted).run(QueryRequest(n))):
        with pytest.raises(UnknownSourceError) as told:
            ask(name)
        assert str(told.value).count(f"labels{RUN}") == 1, "only the name that was asked for"


@pytest.mark.parametrize("labels", [(), ("audit",)], ids=["none", "audit"])
def test_who_may_not_see_the_source_reads_no_block(labels: tuple[str, ...], store: Store) -> None:
    """The store itself shows nothing, to a reader who knows the source from elsewhere."""
    kind = source("block", "block", FIELDS)
    reader = store.with_authorizations(labels)
    assert CountReader(reader, kind).find_bounds() is None
    request = ReadRequest(0, 2**52, read_filter("tags = x", kind), ["who", "tags"], 1)
    assert list(find_layout(kind).scan_events(reader, kind, request)) == []


def test_an_event_whose_time_is_hidden_is_not_seen(store: Store, events: list[dict[str, Any]]) -> None:
    name = source("clock", "block", FIELDS).name
    hidden, shown = (QueryService(store.with_authorizations(labels)) for labels in (("staff",), ("staff", "clock")))
    for scheme in SCHEMES:
        request = QueryRequest(name, where="who = a", columns=("ts", "who"), scheme=scheme)
        with pytest.raises(UnknownSourceError):
            hidden.run(request)
        assert [row["ts"] for row in rows_of(shown, request)] == [e["ts"] for e in reversed(events) if e["who"] == "a"]
