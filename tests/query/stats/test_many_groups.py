"""More groups than an answer may have end the query with a remedy, and leave the tablet servers as they were.

In `make soak`: it writes more than a million events.
"""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime

import numpy as np
import psutil
import pyarrow as pa
import pytest
from ingest_support import RUN
from loaded import write

from watchfloor.query.service import QueryService
from watchfloor.query.stats.request import MAX_GROUPS, StatsQuery
from watchfloor.schema.definition import parse_definition
from watchfloor.schema.errors import UserError
from watchfloor.schema.settings.settings import Settings
from watchfloor.schema.source import Source
from watchfloor.store.store import Store

pytestmark = [pytest.mark.stack, pytest.mark.soak]
EVENTS = MAX_GROUPS + 200_000
START = int(datetime(2024, 3, 1, tzinfo=UTC).timestamp()) * 1_000_000


@pytest.fixture(scope="module")
def kind(store_settings: Settings) -> Source:
    made = parse_definition(
        {
            "name": f"groups{RUN}.events",
            "parser": {"format": "json"},
            "timestamp": {"field": "ts"},
            "shards": 4,
            "fields": [{"name": "ts", "type": "time"}, {"name": "user", "type": "string"}],
        }
    )
    with Store.open(store_settings) as store:
        store.catalog.register(made)
        with store.sink() as sink:
            for item, numbers in enumerate(np.array_split(np.arange(EVENTS), 12)):
                times = pa.array(START + numbers * 50_000).cast(pa.timestamp("us", "UTC"))
                users = pa.array([f"user-{number:012d}" for number in numbers.tolist()])
                offsets = pa.array(np.arange(len(numbers)) * 10)
                write(sink, made, item, pa.record_batch([times, users, offsets], ["ts", "user", "(offset)"]), 16_384)
            sink.flush()
    return made


def list_tablet_servers(settings: Settings) -> list[psutil.Process]:
    paths = sorted((settings.home / "run").glob("tserver*.json"))
    return [psutil.Process(json.loads(path.read_text())["pid"]) for path in paths]


def test_a_group_for_each_event_ends_with_a_remedy(kind: Source, store_settings: Settings, query_store: Store) -> None:
    service, servers = QueryService(query_store), list_tablet_servers(store_settings)
    assert servers
    for stats in ("count() by user", "count(), distinct(user), max(ts), values(user) by user, bucket(1s)"):
        began = time.monotonic()
        with pytest.raises(UserError, match=r"more than 1,000,000 groups; narrow the filter or the time range"):
            for part in service.run_stats(StatsQuery(kind.name, stats)):
                assert part.rows is not None
        assert time.monotonic() - began < 120
    assert [server.is_running() for server in servers] == [True] * len(servers)
    assert [server.pid for server in list_tablet_servers(store_settings)] == [server.pid for server in servers]
    (row,) = list(service.run_stats(StatsQuery(kind.name, "count(), distinct(user)")))[-1].rows.to_pylist()
    assert row["count"] == EVENTS and abs(row["distinct_user"] - EVENTS) < EVENTS / 20
