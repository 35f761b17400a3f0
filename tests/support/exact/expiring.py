"""A source whose events expire one after the other, and what a removal must leave of it."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

from ingest_support import RUN
from loaded import write_hosts

from watchfloor.query.preparation.request import QueryRequest
from watchfloor.query.service import QueryService
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
    return write_hosts(store, f"{name}{RUN}.{layout}", layout, EVENTS)


def list_numbers(store: Store, source: Source) -> list[int]:
    result = QueryService(store).run(QueryRequest(source.name, columns=("n",)))
    return [n for batch in result for n in batch.column("n").to_pylist()]


def check_shown(store: Store, source: Source) -> None:
    """Fails unless a query shows exactly what is kept. It asks again if an hour ends meanwhile: more expires then."""
    policy = read_policy(store, source.name)
    while True:
        kept_from = policy.kept_from(time.time_ns() // 1000)
        shown = list_numbers(store, source)
        if policy.kept_from(time.time_ns() // 1000) == kept_from:
            break
    assert shown == [event["n"] for event in EVENTS if to_micros(event["ts"]) >= kept_from]  # type: ignore[misc]


def list_rows(store: Store, table: str, column: str = "row") -> list[bytes]:
    batches = store.scan(EntryScan(table, Ranges.everything()))
    return [value for batch in batches for value in batch.column(column).to_pylist()]


def check_removed(store: Store, source: Source) -> None:
    """Fails unless exactly what is expired is gone from all tables, but for a day of blocks that also hold others."""
    kept_from = read_policy(store, source.name).removed_before
    events, index, counts = source_tables(source)
    times = [time_of_row(row) for row in list_rows(store, events)]
    for table in (index, counts):
        times += [MAX_TIME - int.from_bytes(q[:8], "big") for q in list_rows(store, table, "qualifier")]
    assert times and min(times) > kept_from - 24 * HOUR
    assert min(time_of_row(row) for row in list_rows(store, events)) >= kept_from
    check_shown(store, source)
