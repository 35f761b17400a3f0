"""Events of many addresses and a long list of them, of which plain Python tells what matches."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from typing import Any

import pyarrow as pa
from ingest_support import RUN
from loaded import batch_of, write

from watchfloor.query.preparation.request import QueryRequest
from watchfloor.query.service import QueryService
from watchfloor.schema.choices import SCHEMES
from watchfloor.schema.definition import parse_definition
from watchfloor.schema.lists.list_file import ListFormat, read_list
from watchfloor.schema.settings.settings import Settings
from watchfloor.store.put_list import put_list
from watchfloor.store.store import Store

START = datetime(2026, 1, 8, 12, tzinfo=UTC)
Rows = list[dict[str, Any]]


def draw_events(count: int, seed: int = 3) -> Rows:
    """``count`` events, newest first; most addresses occur once, those of 10.0.0.0/22 often."""
    drawn = random.Random(seed)
    return [
        {
            "ts": START - timedelta(milliseconds=n),
            "number": n,
            "src": str(ip_address(drawn.getrandbits(32) if n % 3 else 0x0A000000 + drawn.getrandbits(10))),
        }
        for n in range(count)
    ]


def load_events(settings: Settings, events: Rows, layout: str) -> str:
    """Writes the events into a source of their own, and returns its name."""
    fields = [
        {"name": "ts", "type": "time"},
        {"name": "number", "type": "int"},
        {"name": "src", "type": "ip", "indexed": True},
    ]
    parser = {"parser": {"format": "json"}, "timestamp": {"field": "ts"}, "shards": 2}
    definition = {"name": f"traffic{RUN}.{layout}{len(events)}", **parser, "layout": layout, "fields": fields}
    with Store.open(settings) as store, store.sink() as sink:
        source = store.catalog.register(parse_definition(definition))
        write(sink, source, 0, batch_of(source, events), 4_096)
        sink.flush()
    return source.name


def draw_list(events: Rows, count: int, hits: int, seed: int = 5) -> list[str]:
    """``count`` distinct addresses, ``hits`` of them addresses of events, in no order."""
    drawn = random.Random(seed)
    listed = dict.fromkeys(drawn.sample([event["src"] for event in events], hits))
    while len(listed) < count:
        listed[str(ip_address(drawn.getrandbits(32)))] = None
    some = list(listed)
    drawn.shuffle(some)
    return some


def check_long_list(settings: Settings, service: QueryService, source: str, events: Rows, listed: list[str]) -> None:
    """Puts a list, and asks for it and for all else in every scheme."""
    name = f"long{RUN}_{len(listed)}"
    with Store.open(settings) as store:
        put_list(store, name, read_list("\n".join(listed).encode(), ListFormat()))
    members = set(listed)
    wanted = [event["number"] for event in events if event["src"] in members]
    assert wanted
    for scheme in SCHEMES:
        for where, expected in ((f"src in @{name}", wanted), (f"src not in @{name} and number < 50", None)):
            result = service.run(QueryRequest(source, where=where, columns=("number",), scheme=scheme))
            found = pa.Table.from_batches(result, result.schema).column("number").to_pylist()
            rest = [event["number"] for event in events[:50] if event["src"] not in members]
            assert found == (rest if expected is None else expected), (scheme, where)
