"""Sightings of networks and of endings of domains equal what a look at all events finds, in both layouts.

In `make test`: it is short, on the stack of the run.
"""

from __future__ import annotations

import csv
import io
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address, ip_network
from typing import Any

import pytest
from command_line import run_command
from hypothesis import example, given, settings
from hypothesis import strategies as st
from ingest_support import RUN
from loaded import LAYOUTS, batch_of, write
from query_strategies import QUERY_PROFILE

from watchfloor.query.finding.sightings import Sightings, find_sightings
from watchfloor.query.service import QueryService
from watchfloor.schema.definition import parse_definition
from watchfloor.schema.field import Index, IndexKind
from watchfloor.schema.settings.settings import Settings
from watchfloor.schema.source import Source
from watchfloor.schema.times import to_micros
from watchfloor.store.layouts.cell import cell_counts
from watchfloor.store.store import Store

START = datetime(2024, 3, 1, 21, tzinfo=UTC)
LATE = START + timedelta(hours=9)
HOUR = 3_600_000_000
PREFIX = f"pattern{RUN}"
ADDRESSES = [*(f"10.1.{n % 3}.{n}" for n in range(9)), "10.2.0.1", "11.0.0.1", "2001:db8::1", "2001:db8:1::1"]
NAMES = ["example.com", "www.example.com", "a.b.example.com", "badexample.com", "x.example.org", "*.example.com", "com"]
FIELDS: list[dict[str, Any]] = [
    {"name": "from", "type": "ip", "indexed": True, "ecs": "source.ip"},
    {"name": "hosts", "type": "list", "items": "ip", "indexed": True, "ecs": "related.ip"},
    {"name": "site", "type": "string", "indexed": True, "reversed": True, "ecs": "url.domain"},
    {"name": "names", "type": "list", "items": "string", "indexed": True, "reversed": True, "ecs": "related.hosts"},
    # Fields whose index does not answer all of what they are asked.
    {"name": "nat", "type": "ip", "ecs": "source.nat.ip"},
    {"name": "text", "type": "string", "indexed": True, "ecs": "client.ip"},
    {"name": "asked", "type": "string", "indexed": True, "ecs": "dns.question.name"},
]
COMPLETE = {"network": ("from", "hosts"), "ending": ("site", "names")}
REASONS = {
    "network": {"nat": "it has no index", "text": "its addresses are text, which does not sort by network"},
    "ending": {"asked": "it has no index of reversed values, which an ending needs"},
}


def source(layout: str) -> Source:
    return parse_definition(
        {
            "name": f"{PREFIX}.{layout}",
            "parser": {"format": "json"},
            "timestamp": {"field": "ts"},
            "shards": 2,
            "layout": layout,
            "fields": [{"name": "ts", "type": "time"}, *FIELDS],
        }
    )


def make_event(draw: random.Random, number: int) -> dict[str, Any]:
    def some(values: list[str]) -> list[str] | None:
        """A list that may hold a value twice, or be empty or missing."""
        return draw.choices(values, k=draw.randrange(4)) if draw.random() < 0.8 else None

    address, name = draw.choice(ADDRESSES), draw.choice(NAMES)
    return {
        # Some blocks lie within an hour, others cross its end.
        "ts": START + timedelta(minutes=number * 2 if number < 200 else number * 7),
        "from": address if draw.random() < 0.8 else None,
        "hosts": some(ADDRESSES),
        "site": name if draw.random() < 0.8 else None,
        "names": some(NAMES),
        "nat": address,
        "text": address,
        "asked": name,
    }


EVENTS = [make_event(random.Random(number), number) for number in range(300)]
LAST = to_micros(EVENTS[-1]["ts"]) // HOUR * HOUR + HOUR


@pytest.fixture(scope="module")
def opened(store_settings: Settings) -> Iterator[Store]:
    with Store.open(store_settings) as writer, writer.sink() as sink:
        for layout in LAYOUTS:
            kind = writer.catalog.register(source(layout))
            for file in range(2):
                write(sink, kind, file, batch_of(kind, EVENTS[file::2]), block_rows=10)
        sink.flush()
    with Store.open(store_settings, role="query") as opened:
        yield opened


@pytest.fixture
def service(opened: Store) -> QueryService:
    return QueryService(opened)


def fits(value: str, pattern: str) -> bool:
    if "/" in pattern:
        return ip_address(value) in ip_network(pattern)
    return value.endswith(pattern.removeprefix("*"))


def look_everywhere(pattern: str, fields: tuple[str, ...], since: int, until: int) -> dict[str, Counter[int]]:
    """The events with a value that fits in each hour, by field, from the events themselves."""
    found: dict[str, Counter[int]] = {}
    for name in fields:
        for event in EVENTS:
            held = event[name] if isinstance(event[name], list) else [event[name]] if event[name] is not None else []
            if since <= (time := to_micros(event["ts"])) < until and any(fits(value, pattern) for value in held or []):
                found.setdefault(name, Counter())[time // HOUR * HOUR] += 1
    return found


def list_reasons(found: Sightings, layout: str) -> dict[str, str]:
    return {missed.field: missed.reason for missed in found.not_looked_up if missed.source == f"{PREFIX}.{layout}"}


@settings(QUERY_PROFILE)
@given(
    st.sampled_from(
        [
            *("10.1.0.0/16", "10.1.1.0/24", "10.0.0.0/8", "0.0.0.0/0", "2001:db8::/32", "10.1.2.2/32", "172.16.0.0/12"),
            *("*.example.com", "*.com", "*.b.example.com", "*.org", "*.net"),
        ]
    ),
    st.none() | st.integers(-5, 20),
    st.none() | st.integers(21, 60),
    st.sampled_from([0, 1, 1_800_000_000]),
)
@example("10.1.0.0/16", None, None, 0)
@example("*.example.com", None, None, 0)
@example("10.1.0.0/16", 1, 5, 1)
@example("*.example.com", 1, 5, 1)
def test_sightings_are_what_the_events_say(
    service: QueryService, pattern: str, begin: int | None, end: int | None, shift: int
) -> None:
    since = None if begin is None else to_micros(START) + begin * HOUR + shift
    until = None if end is None else to_micros(START) + end * HOUR + shift
    found = service.find_sightings(pattern, None, since, until, f"{PREFIX}.*")
    form = "network" if "/" in pattern else "ending"
    expected = look_everywhere(pattern, COMPLETE[form], since or 0, until or LAST)
    for layout in LAYOUTS:
        assert {s.field: dict(s.hours) for s in found.found if s.source == f"{PREFIX}.{layout}"} == expected
        assert list_reasons(found, layout) == REASONS[form]


def test_lists_have_several_values_that_fit() -> None:
    for name, pattern in (("hosts", "10.1.0.0/16"), ("names", "*.example.com")):
        assert sum(sum(fits(value, pattern) for value in event[name] or []) > 1 for event in EVENTS) > 30


def test_an_index_that_begins_later_is_asked_for_later_events_alone(opened: Store) -> None:
    kind, since = source("block"), to_micros(LATE)
    late = {
        name: replace(kind.find_field(name), indexes=(Index(IndexKind.VALUES), Index(IndexKind.REVERSED, since)))
        for name in COMPLETE["ending"]
    }
    for start, complete in ((since - 1, False), (since, True)):
        found = find_sightings(opened.snapshot(), [kind.replace_fields(late)], "*.example.com", None, start, None)
        expected = look_everywhere("*.example.com", COMPLETE["ending"] if complete else (), start, LAST)
        assert {s.field: dict(s.hours) for s in found.found} == expected
        begins = {} if complete else dict.fromkeys(late, "its index begins at 2024-03-02T06:00:00.000000Z")
        assert list_reasons(found, "block") == REASONS["ending"] | begins


def test_a_named_kind_takes_patterns_too(service: QueryService) -> None:
    found = service.find_sightings("*.example.com", "host", sources=f"{PREFIX}.*")
    assert {s.field for s in found.found} == {"names"} and not found.not_looked_up
    assert not service.find_sightings("10.0.0.0/8", "domain", sources=f"{PREFIX}.*").found


def test_what_has_too_many_index_entries_is_left_out(service: QueryService, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cell_counts, "MAX_HITS", 20)
    for pattern, kept in (("10.0.0.0/8", ("from",)), ("*.example.com", ("site",))):
        found = service.find_sightings(pattern, sources=f"{PREFIX}.*")
        expected = look_everywhere(pattern, COMPLETE["network" if "/" in pattern else "ending"], 0, LAST)
        block = {s.field: dict(s.hours) for s in found.found if s.source == f"{PREFIX}.block"}
        cell = {s.field: dict(s.hours) for s in found.found if s.source == f"{PREFIX}.cell"}
        assert block == expected and cell == {name: expected[name] for name in kept}
        reasons = list_reasons(found, "cell")
        for name in set(expected) - set(kept):
            assert reasons[name] == "too many index entries fit in this time; ask for less of it"


def test_the_command_says_what_was_not_looked_up_and_why(service: QueryService, store_settings: Settings) -> None:
    status, out, said = run_command(
        store_settings, "find", "10.1.0.0/16", "--sources", f"{PREFIX}.*", "--format", "csv"
    )
    expected = look_everywhere("10.1.0.0/16", COMPLETE["network"], 0, LAST)
    counts = {(row["source"], row["field"]): int(row["count"]) for row in csv.DictReader(io.StringIO(out))}
    assert status == 0 and counts == {
        (f"{PREFIX}.{layout}", field): hours.total() for layout in LAYOUTS for field, hours in expected.items()
    }
    assert f"not looked up (it has no index): {PREFIX}.block nat, {PREFIX}.cell nat\n" in said
