"""Sightings of a value equal what a look at all events of all sources finds, in both layouts.

In `make test`: it is short, on the stack of the run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ingest_support import RUN
from loaded import batch_of, write
from query_strategies import QUERY_PROFILE

from watchfloor.api.answers import answer_find
from watchfloor.query.finding.sightings import NotLookedUp
from watchfloor.query.service import QueryService
from watchfloor.schema.definition import parse_definition
from watchfloor.schema.errors import TimeRangeError, UserError
from watchfloor.schema.meaning.forms import guess_kinds
from watchfloor.schema.settings.settings import Settings
from watchfloor.schema.source import Source
from watchfloor.schema.times import to_micros
from watchfloor.store.store import Store

START = datetime(2024, 3, 1, tzinfo=UTC)
PATTERN = f"seen{RUN}.*"
HOUR = 3_600_000_000
NAMES = ("flow", "proxy", "login")
ADDRESSES = [f"10.0.0.{n}" for n in range(6)] + ["2001:db8::1"]


def source(name: str) -> Source:
    fields: dict[str, list[dict[str, Any]]] = {
        "flow": [
            {"name": "from", "type": "ip", "indexed": True, "ecs": "source.ip"},
            {"name": "to", "type": "ip", "indexed": True, "ecs": "destination.ip"},
        ],
        "proxy": [
            {"name": "client", "type": "ip", "indexed": True, "ecs": "source.ip"},
            {"name": "site", "type": "string", "indexed": True, "ecs": "url.domain"},
        ],
        # Addresses in a list, and one field without an index.
        "login": [
            {"name": "hosts", "type": "list", "items": "ip", "indexed": True, "ecs": "related.ip"},
            {"name": "nat", "type": "ip", "ecs": "source.nat.ip"},
            {"name": "who", "type": "string", "indexed": True, "ecs": "user.name"},
        ],
    }
    return parse_definition(
        {
            "name": f"seen{RUN}.{name}",
            "parser": {"format": "json"},
            "timestamp": {"field": "ts"},
            "shards": 2,
            "layout": "cell" if name == "proxy" else "block",
            "fields": [{"name": "ts", "type": "time"}, *fields[name]],
        }
    )


def make_event(number: int) -> dict[str, Any]:
    pick = [ADDRESSES[(number * step + step) % len(ADDRESSES)] for step in (1, 3, 5)]
    return {
        "ts": START + timedelta(minutes=number * 13),
        "from": pick[0],
        "to": pick[1] if number % 3 else None,
        "client": pick[2],
        "site": f"www{number % 3}.example.com",
        "hosts": pick[:2],
        "nat": pick[0],
        "who": "admin" if number % 2 else f"user{number % 5}",
    }


EVENTS = [make_event(number) for number in range(240)]
END = to_micros(EVENTS[-1]["ts"]) // HOUR * HOUR + HOUR


@pytest.fixture(scope="module")
def service(store_settings: Settings) -> Iterator[QueryService]:
    with Store.open(store_settings) as writer, writer.sink() as sink:
        for name in NAMES:
            kind = writer.catalog.register(source(name))
            for file in range(2):
                write(sink, kind, file, batch_of(kind, EVENTS[file::2]), block_rows=20)
        sink.flush()
    with Store.open(store_settings, role="query") as opened:
        yield QueryService(opened)


def look_everywhere(value: str, kinds: tuple[str, ...], since: int, until: int) -> dict[tuple[str, str], Counter[int]]:
    """The events with a value in each hour, by source and field, from the events themselves."""
    found: dict[tuple[str, str], Counter[int]] = {}
    for name in NAMES:
        for field in source(name).indexed_fields:
            for event in EVENTS if field.kind in kinds else []:
                time, held = to_micros(event["ts"]), event[field.name]
                if since <= time < until and (value in held if isinstance(held, list) else value == held):
                    hours = found.setdefault((source(name).name, field.name), Counter())
                    hours[time // HOUR * HOUR] += 1
    return found


@settings(QUERY_PROFILE)
@given(
    st.sampled_from([*ADDRESSES, "10.9.9.9", "www1.example.com", "admin", "user4", "nobody"]),
    st.none() | st.integers(-5, 30),
    st.none() | st.integers(31, 60),
    st.sampled_from([0, 1, 1_800_000_000]),
)
def test_sightings_are_what_the_events_say(
    service: QueryService, value: str, begin: int | None, end: int | None, shift: int
) -> None:
    since = None if begin is None else to_micros(START) + begin * HOUR + shift
    until = None if end is None else to_micros(START) + end * HOUR + shift
    found = service.find_sightings(value, None, since, until, PATTERN)
    expected = look_everywhere(value, guess_kinds(value), since or 0, until or END)
    assert {(s.source, s.field): dict(s.hours) for s in found.found} == expected
    for sighting in found.found:
        assert sighting.first_hour == min(expected[sighting.source, sighting.field])
        assert sighting.last_hour_end == max(expected[sighting.source, sighting.field]) + HOUR
    assert [s.count for s in found.found] == sorted((s.count for s in found.found), reverse=True)
    assert found.not_looked_up == (
        (NotLookedUp(f"seen{RUN}.login", "nat", "it has no index"),) if "ip" in found.kinds else ()
    )


def test_the_kind_may_be_named(service: QueryService) -> None:
    assert service.find_sightings("admin", "user", sources=PATTERN).found[0].field == "who"
    assert not service.find_sightings("admin", "ip", sources=PATTERN).found
    with pytest.raises(UserError, match="unknown kind"):
        service.find_sightings("admin", "colour", sources=PATTERN)
    with pytest.raises(TimeRangeError):
        service.find_sightings("admin", None, 5, 5, PATTERN)


def test_the_answer_as_json(service: QueryService) -> None:
    answer = answer_find(service, {"value": "10.0.0.1", "sources": PATTERN})
    assert answer["kinds"] == ["ip"]
    missed = {"source": f"seen{RUN}.login", "field": "nat", "reason": "it has no index"}
    assert answer["not_looked_up"] == [missed]
    for row in answer["sightings"]:
        assert row["count"] == sum(hour["count"] for hour in row["hours"]) > 0
        assert row["first"] == row["hours"][0]["start"] < row["last"]


@pytest.mark.parametrize(
    ("value", "kinds"),
    [
        ("10.1.2.3", ("ip",)),
        ("2001:db8::1", ("ip",)),
        ("00:1b:44:11:3a:b7", ("mac",)),
        ("d41d8cd98f00b204e9800998ecf8427e", ("hash",)),
        ("https://example.com/x", ("url",)),
        ("a.b@example.com", ("email", "user")),
        ("example.com", ("domain", "host")),
        ("10.1.2", ("user", "host", "process", "file")),
        ("10.1.0.0/16", ("ip",)),
        ("2001:db8::/32", ("ip",)),
        ("10.1.2.3/8", ("ip",)),
        ("10.1.0.0/33", ("user", "host", "process", "file")),
        ("/usr/bin", ("user", "host", "process", "file")),
        ("*.example.com", ("domain", "host")),
        ("*.com", ("domain", "host")),
        ("*example.com", ("user", "host", "process", "file")),
        ("w*.example.com", ("user", "host", "process", "file")),
        ("root", ("user", "host", "process", "file")),
        ("", ("user", "host", "process", "file")),
    ],
)
def test_the_form_of_a_value_tells_its_kinds(value: str, kinds: tuple[str, ...]) -> None:
    assert guess_kinds(value) == kinds
