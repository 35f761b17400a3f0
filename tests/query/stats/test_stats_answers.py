"""Answers of aggregations: parts that stream newest first, bounds, sketches, deadlines, and what a reader may not see.

In `make test`: some ten thousand events that are written past the queue.
"""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from ingest_support import RUN
from loaded import LAYOUTS, batch_of, write

from watchfloor.query.batches import slices
from watchfloor.query.service import QueryService
from watchfloor.query.stats.request import StatsQuery
from watchfloor.query.stats.run import StatsPart
from watchfloor.query.stats.sketches import DISTINCT_ERROR, EXACT_VALUES, RANK_ERROR
from watchfloor.schema.definition import parse_definition
from watchfloor.schema.errors import UnknownFieldError, UserError
from watchfloor.schema.settings.settings import Settings
from watchfloor.schema.source import Source
from watchfloor.store.store import Store

pytestmark = pytest.mark.stack
EVENTS = 24_000
START = datetime(2024, 3, 1, tzinfo=UTC)


def source_in(layout: str) -> Source:
    fields: list[dict[str, Any]] = [
        {"name": "ts", "type": "time"},
        {"name": "host", "type": "string", "indexed": True},
        {"name": "user", "type": "string"},
        {"name": "bytes", "type": "int"},
        {"name": "rate", "type": "float"},
        {"name": "secret", "type": "string", "visibility": "hidden"},
    ]
    return parse_definition(
        {
            "name": f"stats{RUN}.{layout}",
            "parser": {"format": "json"},
            "timestamp": {"field": "ts"},
            "layout": layout,
            "shards": 3,
            "fields": fields,
        }
    )


def make_rows() -> list[dict[str, Any]]:
    """Returns events of two days, a few thousand seconds apart from each other in each of several items."""
    drawn = random.Random(5)
    return [
        {
            "ts": START + timedelta(seconds=n * 7),
            "host": f"h{drawn.randrange(3)}",
            "user": f"u{drawn.randrange(40_000)}",
            "bytes": drawn.randrange(1_000_000),
            "rate": drawn.random() if n % 3 else None,
            "secret": f"s{n % 5}",
        }
        for n in range(EVENTS)
    ]


ROWS = make_rows()


@pytest.fixture(scope="module", params=LAYOUTS)
def kind(request: pytest.FixtureRequest, store_settings: Settings) -> Source:
    made = source_in(request.param)
    with Store.open(store_settings) as store:
        store.catalog.register(made)
        with store.sink() as sink:
            for item in range(4):
                some = ROWS[item * EVENTS // 4 : (item + 1) * EVENTS // 4]
                write(sink, made, item, batch_of(made, some), block_rows=1000)
            sink.flush()
    return made


@pytest.fixture
def service(query_store: Store) -> QueryService:
    return QueryService(query_store)


def ask(service: QueryService, source: Source, stats: str, **more: Any) -> tuple[list[StatsPart], dict[str, Any]]:
    result = service.run_stats(StatsQuery(source.name, stats, **more))
    return list(result), result.summary


def test_parts_come_newest_first_and_the_last_is_complete(
    service: QueryService, kind: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slices, "FIRST_EVENTS", 1000)
    parts, summary = ask(service, kind, "count(), max(ts), min(ts)", scheme="scan")
    assert len(parts) >= 3 and summary["from"] == "scan"
    assert [part.share for part in parts] == sorted(part.share for part in parts) and parts[-1].share == 1
    assert [part.complete for part in parts] == [False] * (len(parts) - 1) + [True]
    for part in parts:
        (row,) = part.rows.to_pylist()
        assert row["max_ts"] == ROWS[-1]["ts"]
        assert row["count"] == sum(event["ts"] >= row["min_ts"] for event in ROWS)
    assert parts[-1].rows.to_pylist()[0]["count"] == EVENTS == summary["events"]


def test_many_values_become_sketches_within_their_bounds(service: QueryService, kind: Source) -> None:
    parts, summary = ask(service, kind, "distinct(user), p95(bytes), median(rate), distinct(host)")
    (row,) = parts[-1].rows.to_pylist()
    users = len({event["user"] for event in ROWS})
    assert users > EXACT_VALUES and set(summary["approximate"]) == {"distinct_user", "p95_bytes", "median_rate"}
    assert abs(row["distinct_user"] - users) <= 2 * DISTINCT_ERROR * users
    assert row["distinct_host"] == 3
    for name, share, value in (("bytes", 0.95, row["p95_bytes"]), ("rate", 0.5, row["median_rate"])):
        values = [event[name] for event in ROWS if event[name] is not None]
        assert abs(sum(one <= value for one in values) / len(values) - share) <= 2 * RANK_ERROR


def test_few_values_of_a_group_are_exact_beside_many_of_another(service: QueryService, kind: Source) -> None:
    parts, summary = ask(service, kind, "distinct(user), p95(bytes) by bucket(6h) | sort bucket")
    assert summary["approximate"] == {}
    for row in parts[-1].rows.to_pylist():
        some = [event for event in ROWS if row["bucket"] <= event["ts"] < row["bucket"] + timedelta(hours=6)]
        assert row["distinct_user"] == len({event["user"] for event in some})
        assert row["p95_bytes"] == sorted(event["bytes"] for event in some)[-(-len(some) * 95 // 100) - 1]


def test_too_many_groups_end_with_a_remedy(service: QueryService, kind: Source) -> None:
    with pytest.raises(UserError, match=r"more than 5,000 groups; narrow .* group by fewer fields"):
        ask(service, kind, "count() by user", max_groups=5000)
    assert len(ask(service, kind, "count() by host", max_groups=3)[0][-1].rows) == 3


def test_values_of_too_many_are_refused(service: QueryService, kind: Source) -> None:
    with pytest.raises(UserError, match="values_user: a group has more values than a list holds; use distinct"):
        ask(service, kind, "values(user)")


def test_a_sum_that_does_not_fit_is_refused(service: QueryService, store_settings: Settings) -> None:
    made = parse_definition({**source_in("block").definition, "name": f"stats{RUN}.huge"})
    rows = [{"ts": START, "host": "a", "bytes": 2**63 - 1}, {"ts": START, "host": "b", "bytes": 1}]
    with Store.open(store_settings) as store:
        store.catalog.register(made)
        with store.sink() as sink:
            write(sink, made, 0, batch_of(made, rows))
            sink.flush()
    with pytest.raises(UserError, match=r"sum_bytes: a sum of 9.223e\+18 does not fit into 64 bits; use avg"):
        ask(service, made, "sum(bytes)")
    assert ask(service, made, "avg(bytes)")[0][-1].rows.to_pylist() == [{"avg_bytes": 2.0**62}]


def test_a_deadline_leaves_what_was_found(service: QueryService, kind: Source) -> None:
    parts, summary = ask(service, kind, "count() by user, host", deadline=0.000001)
    assert parts == [] and (summary["status"], summary["share"]) == ("deadline", 0)


def test_closing_ends_the_scans(service: QueryService, kind: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slices, "FIRST_EVENTS", 1000)
    result = service.run_stats(StatsQuery(kind.name, "count() by user", scheme="scan"))
    parts = iter(result)
    assert not next(parts).complete
    result.close()
    assert list(parts) == [] and result.summary["status"] == "cancelled"


def test_no_events_give_one_row_or_none(service: QueryService, kind: Source) -> None:
    where = "host = nobody"
    parts, _ = ask(
        service, kind, "count(), sum(bytes), min(host), values(host), distinct(user), p95(bytes)", where=where
    )
    assert parts[-1].rows.to_pylist() == [
        {"count": 0, "sum_bytes": None, "min_host": None, "values_host": [], "distinct_user": 0, "p95_bytes": None}
    ]
    assert parts[-1].complete
    parts, _ = ask(service, kind, "count(), values(user) by host", where=where)
    assert parts[-1].rows.to_pylist() == [] and parts[-1].complete


def test_a_field_that_a_reader_may_not_see_does_not_exist(kind: Source, query_store: Store) -> None:
    stats = "count(), distinct(secret), values(secret) by host"
    service = QueryService(query_store.with_authorizations(("hidden",)))
    rows = ask(service, kind, stats)[0][-1].rows.to_pylist()
    assert len(rows) == 3 and sum(row["count"] for row in rows) == EVENTS
    assert [(row["distinct_secret"], len(row["values_secret"])) for row in rows] == [(5, 5)] * 3
    with pytest.raises(UnknownFieldError, match="has no field 'secret'"):
        ask(QueryService(query_store.with_authorizations(())), kind, stats)
