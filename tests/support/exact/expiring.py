"""A source whose events expire one after the other, and what a removal must leave of it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from ingest_support import RUN
from loaded import batch_of, write

from watchfloor.query.preparation.request import QueryRequest
from watchfloor.query.service import QueryService
from watchfloor.schema.definition import parse_definition
from watchfloor.schema.source import Source
from watchfloor.schema.times import to_micros
from watchfloor.store.admin.tables import source_tables
from watchfloor.store.bridge.requests import EntryScan
from watchfloor.store.encoding.keys import HOUR, MAX_TIME, time_of_row
from watchfloor.store.encoding.ranges import Ranges
from watchfloor.store.retention.policy import read_policy
from watchfloor.store.store import Store

BEGAN = datetime.now(UTC)
EVENTS = [{"ts": BEGAN - timedelta(minutes=37 * n + 1), "n": n, "host": f"10.0.0.{n % 5}"} for n in range(600)]
KEEP = 100 * HOUR


def fill(store: Store, name: str, layout: str) -> Source:
    fields = [
        {"name": "ts", "type": "time"},
        {"name": "n", "type": "int"},
        {"name": "host", "type": "ip", "indexed": True, "ecs": "source.ip"},
    ]
    definition = {"name": f"{name}{RUN}.{layout}", "parser": {"format": "json"}, "timestamp": {"field": "ts"}}
    source = store.catalog.register(parse_definition({**definition, "fields": fields, "shards": 2, "layout": layout}))
    with store.sink() as sink:
        for item in range(3):
            write(sink, source, item, batch_of(source, EVENTS[item::3]), block_rows=25)
        sink.flush()
    return source


def list_numbers(store: Store, source: Source) -> list[int]:
    result = QueryService(store).run(QueryRequest(source.name, columns=("n",)))
    return [n for batch in result for n in batch.column("n").to_pylist()]


def list_kept(store: Store, source: Source) -> list[int]:
    kept_from = read_policy(store, source.name).removed_before
    return [event["n"] for event in EVENTS if to_micros(event["ts"]) >= kept_from]  # type: ignore[misc]


def list_rows(store: Store, table: str, column: str = "row") -> list[bytes]:
    everything = Ranges()
    everything.add_rows(b"", None)
    return [value for batch in store.scan(EntryScan(table, everything)) for value in batch.column(column).to_pylist()]


def check_removed(store: Store, source: Source) -> None:
    """Fails unless exactly what is expired is gone from all tables, but for a day of blocks that also hold others."""
    kept_from = read_policy(store, source.name).removed_before
    events, index, counts = source_tables(source)
    times = [time_of_row(row) for row in list_rows(store, events)]
    for table in (index, counts):
        times += [MAX_TIME - int.from_bytes(q[:8], "big") for q in list_rows(store, table, "qualifier")]
    assert times and min(times) > kept_from - 24 * HOUR
    assert min(time_of_row(row) for row in list_rows(store, events)) >= kept_from
    assert list_numbers(store, source) == list_kept(store, source)
