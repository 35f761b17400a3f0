"""Every event is found once and in order when the shards of a source have several tablets.

In `make test`: some hundred events in both layouts. The oracles ask sources with such tablets too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from ingest_support import RUN
from loaded import split_tables, write_hosts

from watchfloor.query.preparation.request import QueryRequest
from watchfloor.query.service import QueryService
from watchfloor.query.stats.request import StatsQuery
from watchfloor.schema.choices import SCHEMES
from watchfloor.schema.settings.settings import Settings
from watchfloor.schema.source import Source
from watchfloor.store.store import Store

pytestmark = pytest.mark.stack
START = datetime(2024, 3, 1, tzinfo=UTC)
EVENTS = [{"ts": START + timedelta(minutes=7 * n), "n": n, "host": f"10.0.0.{n % 5}"} for n in range(900)]


@pytest.fixture(scope="module")
def store(store_settings: Settings) -> Iterator[Store]:
    with Store.open(store_settings) as opened:
        yield opened


@pytest.fixture
def split(store: Store, layout: str) -> Source:
    source = write_hosts(store, f"split{RUN}.{layout}", layout, EVENTS)
    split_tables(store, source, 12)
    tablets = store.connection.client.tableOperations().listSplits(f"{source.name.replace('.', '_')}.event").size() + 1
    assert tablets > 2 * source.shards
    return source


def test_all_answers_are_whole(store: Store, split: Source) -> None:
    service = QueryService(store)
    newest = [event["n"] for event in EVENTS[::-1]]
    for scheme in SCHEMES:
        for where, wanted in (
            (None, newest),
            ("host = 10.0.0.3", [n for n in newest if n % 5 == 3]),  # type: ignore[operator]
            ("n > 100 and n < 700", [n for n in newest if 100 < n < 700]),  # type: ignore[operator]
        ):
            for limit in (None, 60):
                result = service.run(QueryRequest(split.name, where=where, columns=("n",), scheme=scheme, limit=limit))
                found = [n for batch in result for n in batch.column("n").to_pylist()]
                assert found == wanted[:limit], (scheme, where)
    assert service.count_events(split.name) == len(EVENTS)
    assert Counter(dict(service.rank_values(split.name, "host"))).total() == len(EVENTS)
    (group,) = service.aggregate(StatsQuery(split.name, "count() as events, sum(n) as total")).to_pylist()
    assert (group["events"], int(group["total"])) == (len(EVENTS), sum(newest))  # type: ignore[arg-type]
    ordered = service.run(QueryRequest(split.name, columns=("n",), sort="n", limit=50))
    assert [n for batch in ordered for n in batch.column("n").to_pylist()] == list(range(50))
