"""Conditions of many values through the index give what brute force finds, on real servers in both layouts.

In `make soak`: each question is compared with brute force, for most of a minute.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address, ip_network
from typing import Any

import pytest
from ingest_support import RUN
from loaded import LAYOUTS, batch_of, write
from oracle import holds

from watchfloor.query.preparation.request import QueryRequest
from watchfloor.query.service import QueryService
from watchfloor.schema.definition import parse_definition
from watchfloor.schema.filter.tree import (
    Between,
    Cidr,
    Compare,
    Condition,
    Exists,
    Matches,
    Prefix,
    Wildcard,
    make_ends_with,
)
from watchfloor.schema.settings.settings import Settings
from watchfloor.schema.source import Source
from watchfloor.store.encoding.keys import DAY, HOUR
from watchfloor.store.layout import ReadRequest
from watchfloor.store.layouts.block.blocks.hit_entries import ENTRY_BLOCKS
from watchfloor.store.layouts.count_reader import CountReader
from watchfloor.store.layouts.registry import find_layout
from watchfloor.store.store import Store

pytestmark = [pytest.mark.stack, pytest.mark.soak]

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
EVENTS, ITEMS = 400, 3
LONG = "a" * 1500
NAMES = (
    "", "a", "aa", "ab", "a*b", "a?b", "a.b", "b", "ba", "nul\0b", "ä", "ö", "日本", "日本語",
    "\U0001f600", "\U0010ffff",
    LONG, LONG + "b", LONG + "c", "a" * 999 + "z", "a" * 1016, "a" * 1000, "www.example.com", "mail.example.com",
)  # fmt: skip
NUMBERS = (-(2**63), -5, -1, 0, 1, 2, 200, 404, 500, 503, 2**63 - 1)
FLOATS = (float("-inf"), -1.5, 0.0, 1e-300, 0.25, 1.0, 1e300, float("inf"))
ADDRESSES = ("0.0.0.0", "10.0.0.1", "10.0.0.255", "10.0.1.0", "10.255.255.255", "192.0.2.1", "255.255.255.255", "::",
             "::1", "2001:db8::1", "2001:db8:ffff::1", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff")  # fmt: skip


@dataclass(frozen=True)
class Tables:
    store: Store
    sources: Mapping[str, Source]
    events: list[dict[str, Any]]


@pytest.fixture(scope="module")
def tables(store_settings: Settings) -> Iterator[Tables]:
    definition = {
        "parser": {"format": "json"},
        "timestamp": {"field": "ts"},
        "shards": 2,
        "fields": [
            {"name": "ts", "type": "time"},
            {"name": "name", "type": "string", "indexed": True, "reversed": True},
            {"name": "nam", "type": "string", "indexed": True},
            {"name": "size", "type": "int", "indexed": True},
            {"name": "port", "type": "port", "indexed": True},
            {"name": "ratio", "type": "float", "indexed": True},
            {"name": "src", "type": "ip", "indexed": True},
            {"name": "seen", "type": "time", "indexed": True},
            {"name": "tags", "type": "list", "items": "string", "indexed": True},
            {"name": "n", "type": "int"},
        ],
    }
    events = list(made_up())
    with Store.open(store_settings) as store:
        sources = {
            layout: store.catalog.register(
                parse_definition({**definition, "name": f"ranges{RUN}.{layout}", "layout": layout})
            )
            for layout in LAYOUTS
        }
        with store.sink() as sink:
            for item in range(ITEMS):
                for source in sources.values():
                    write(sink, source, item, batch_of(source, events[item::ITEMS]), 16)
            sink.flush()
        yield Tables(store, sources, events)


def made_up() -> Iterator[dict[str, Any]]:
    chance = random.Random(5)
    for n in range(EVENTS):
        tags = chance.choice([None, [], ["x"], ["x", "xy"], ["y", None], ["xx", "zz", "x"]])
        yield {
            "ts": EPOCH + timedelta(microseconds=chance.randrange(3 * DAY)),
            "name": chance.choice((*NAMES, None)),
            "nam": chance.choice(("e", "ee", None)),
            "size": chance.choice((*NUMBERS, None)),
            "port": chance.choice((0, 53, 80, 65_535, None)),
            "ratio": chance.choice((*FLOATS, None)),
            "src": chance.choice((*ADDRESSES, None)),
            "seen": chance.choice((EPOCH, EPOCH + timedelta(days=365), None)),
            "tags": tags,
            "n": n,
        }


def conditions() -> Iterator[Condition]:
    for op in ("<", "<=", ">", ">="):
        for field, values in (("name", NAMES), ("size", NUMBERS), ("ratio", FLOATS), ("port", (0, 80, 65_535))):
            for value in values:
                yield Compare(field, op, value)
        yield Compare("src", op, ip_address("10.0.0.255"))
        yield Compare("seen", op, EPOCH + timedelta(days=1))
        yield Compare("tags", op, "xx")
    yield Between("size", -5, 404)
    yield Between("name", "a", "b")
    yield Between("name", LONG, LONG + "b")
    yield Between("ratio", -1.5, 0.25)
    yield Between("tags", "x", "xx")
    for network in ("10.0.0.0/8", "10.0.0.0/24", "0.0.0.0/0", "::/0", "2001:db8::/32", "10.0.0.1/32"):
        yield Cidr("src", ip_network(network))
    for text in ("", "a", "aa", LONG, LONG + "b", LONG + "x", "日", "\U0010ffff", "a*", "nope"):
        yield Prefix("name", text)
    yield Prefix("tags", "x")
    for pattern in ("*", "a*", "a\\*b", "a?b", "*b", "*.example.com", "www.*", "w*m", "日*", "*語", "a*c", "nope*x"):
        yield Wildcard("name", pattern)
    yield Wildcard("tags", "x?")
    yield make_ends_with("tags", "x")
    for pattern in ("b", "^a", "^a+$", "^www\\.", "^a|b$", "^(a|b)$", "^aa*b", "日.", "c$", "^$", "nope", "^nul\\x00"):
        yield Matches("name", pattern)
        yield Matches("name", pattern.upper() if "x" not in pattern else pattern, ignore_case=True)
    yield Matches("tags", "^x.")
    for field in ("name", "size", "src", "seen"):
        yield Exists(field)


CONDITIONS = list(dict.fromkeys(conditions()))
SPANS = ((0, 3 * DAY), (7 * HOUR, 31 * HOUR + 12345), (DAY, DAY + 1), (5 * DAY, 6 * DAY), (0, 0))


def micros(event: Mapping[str, Any]) -> int:
    return int((event["ts"] - EPOCH) / timedelta(microseconds=1))


def matching(events: list[dict[str, Any]], condition: Condition, since: int, until: int) -> set[int]:
    return {e["n"] for e in events if since <= micros(e) < until and holds(condition, e)}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_what_the_index_leads_to(tables: Tables, layout: str) -> None:
    """All conditions at once, so that a mix-up between them would show."""
    source, seen = tables.sources[layout], find_layout(tables.sources[layout])
    found_any = 0
    for since, until in SPANS:
        store = tables.store.snapshot()
        hits = seen.find_hits(store, source, CONDITIONS, since, until)
        for condition, ids in zip(CONDITIONS, hits, strict=True):
            assert ids.to_pylist() == sorted(set(ids.to_pylist()))
            batches = seen.fetch_events(store, source, ids, ReadRequest(since, until, condition, ["n"], 20))
            found = [n for batch in batches for n in batch.column("n").to_pylist()]
            assert len(found) == len(set(found))
            assert set(found) == matching(tables.events, condition, since, until), f"{condition} in {since}..{until}"
            found_any += bool(found)
    assert found_any > len(CONDITIONS)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_what_it_counts(tables: Tables, layout: str) -> None:
    whole = [c for c in CONDITIONS if c.field != "tags"]  # an event counts once for each of its list's values
    survey = CountReader(tables.store, tables.sources[layout]).read_survey(whole, 0, 3 * DAY)
    for condition, count in zip(whole, survey.counts, strict=True):
        assert count is not None
        expected = len(matching(tables.events, condition, 0, 3 * DAY))
        long = {e["n"] for e in tables.events if e["name"] is not None and len(e["name"]) > 900}
        if condition.field == "name" and long:  # what is cut is found whether it satisfies the condition or not
            assert expected <= count.events <= expected + len(long), condition
        else:
            assert count.events == expected, condition
        assert count.entries >= (count.places if layout == "cell" else count.places / ENTRY_BLOCKS)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_too_many_entries_are_not_read_to_the_end(tables: Tables, layout: str, monkeypatch: pytest.MonkeyPatch) -> None:
    source = tables.sources[layout]
    few, many = Compare("name", ">", "日本"), Exists("name")
    monkeypatch.setattr(find_layout(source), "max_entries", 40)
    reader = CountReader(tables.store, source)
    counts = reader.read_survey([few, many, Compare("size", "=", 404)], 0, 3 * DAY).counts
    assert counts[1] is None and counts[2] is not None
    assert all(reader.read_survey([few, many], 0, 3 * DAY, thorough=True).counts)
    service = QueryService(tables.store)
    plan = service.explain(QueryRequest(source.name, where="exists name")).plan
    assert not plan.uses_index and "more entries in the index than are worth reading" in plan.to_text()
    assert service.explain(QueryRequest(source.name, where="exists name", scheme="index")).plan.uses_index


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(
    ("where", "rule"),
    [
        ("size in -5..1", "range"),
        ("src in 10.0.0.0/24", "range"),
        ('name startswith "www"', "range"),
        ('name = "*.example.com"', "suffix"),
        ('name = "*example*"', "values"),
        ("tags endswith x", "values"),
        ("name ~ /^mail/", "values"),
        ('(size = 404 or size = 503) and (src in 10.0.0.0/8 or name = "b")', "nested"),
        ('size = 404 and not name startswith "a"', "intersection"),
        ('(name = "b" and port = 80) or tags = "zz"', "nested"),
    ],
)
def test_whole_queries(tables: Tables, layout: str, where: str, rule: str) -> None:
    from watchfloor.schema.filter.type_check import read_filter

    source = tables.sources[layout]
    tree = read_filter(where, source)
    assert tree is not None
    expected = {e["n"] for e in tables.events if holds(tree, e)}
    assert expected
    for scheme in ("index", "batched-index", "auto", "scan"):
        result = QueryService(tables.store).run(QueryRequest(source.name, where=where, scheme=scheme, columns=("n",)))
        assert sorted(n for b in result for n in b.column("n").to_pylist()) == sorted(expected), scheme
        if "index" in scheme:
            assert rule in (result.plan.rule, *(way.rule for way in result.plan.weighed)), result.plan.to_text()
            assert result.plan.uses_index
