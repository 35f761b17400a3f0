"""Queries end early when another thread cancels them or their deadline passes, while rows come and while none do.

In `make test`: it is short, on the stack of the run.
"""

from __future__ import annotations

import json
import random
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from command_line import run_command
from ingest_support import RUN
from loaded import LAYOUTS, batch_of, write
from served import AnyToken

from watchfloor.api.rest.app import create_app
from watchfloor.api.rest.base.limits import RestLimits
from watchfloor.api.rest.store_services import StoreServices
from watchfloor.query.preparation.request import QueryRequest
from watchfloor.query.service import QueryService
from watchfloor.schema.definition import parse_definition
from watchfloor.schema.errors import StoreError, UserError
from watchfloor.schema.settings.settings import Settings
from watchfloor.schema.source import Source
from watchfloor.store.admin.scan_sessions import list_scan_sessions
from watchfloor.store.admin.tables import source_tables
from watchfloor.store.store import Store

pytestmark = pytest.mark.stack

EVENTS = 4000
START = datetime(2024, 3, 1, tzinfo=UTC)
PATIENCE = 60.0
SLOW = " or ".join(f"text ~ /[{a}][{b}][a-z]*[0-9][0-9]$/" for a in "bcdfghjklmnpqr" for b in "stvwxzbcdfghjk")
"""No event satisfies it, and to find that out takes the servers many times as long as anything here waits."""


def source(layout: str) -> Source:
    fields = [
        {"name": "ts", "type": "time"},
        {"name": "who", "type": "string", "indexed": True},
        {"name": "text", "type": "string"},
    ]
    definition = {"parser": {"format": "json"}, "timestamp": {"field": "ts"}, "shards": 2, "layout": layout}
    return parse_definition({**definition, "name": f"ends{RUN}.{layout}", "fields": fields})


@pytest.fixture(scope="module")
def store(store_settings: Settings) -> Iterator[Store]:
    letters = random.Random(1)
    texts = ["".join(letters.choices("abcdefghijklmnopqrstuvwxyz", k=300)) for _ in range(EVENTS)]
    events = [{"ts": START + timedelta(seconds=n), "who": "ab"[n % 2], "text": text} for n, text in enumerate(texts)]
    with Store.open(store_settings) as writer, writer.sink() as sink:
        for layout in LAYOUTS:
            kind = writer.catalog.register(source(layout))
            write(sink, kind, 0, batch_of(kind, events), block_rows=100)
        sink.flush()
    with Store.open(store_settings, role="query") as opened:
        yield opened


@pytest.fixture
def name(layout: str) -> str:
    return source(layout).name


def wait_for_no_sessions(settings: Settings, layout: str) -> str:
    """Until the tablet servers have none of the source's; says after how long no more was read, and none was known."""
    began = time.monotonic()
    reading = 0.0
    with Store.open(settings) as owner:
        while left := list_scan_sessions(owner.connection, source_tables(source(layout))):
            assert time.monotonic() - began < PATIENCE, left
            if not all(session.is_closed for session in left):
                reading = time.monotonic() - began
            time.sleep(0.01)
    return f"{reading:.2f} s until all sessions were closed, {time.monotonic() - began:.2f} s until none was known"


@pytest.mark.parametrize("scheme", ["batched-scan", "batched-index"])
def test_another_thread_ends_a_query_that_waits(
    layout: str, scheme: str, name: str, store: Store, store_settings: Settings
) -> None:
    where = SLOW if scheme == "batched-scan" else f"who = a and ({SLOW})"
    result = QueryService(store).run(QueryRequest(name, where=where, scheme=scheme))
    rows: list[Any] = []
    waiting = threading.Thread(target=lambda: rows.extend(result))
    waiting.start()
    time.sleep(0.5)
    assert waiting.is_alive(), "the filter is not slow enough for this test"
    result.close()
    waiting.join(PATIENCE)
    assert not waiting.is_alive() and not rows
    assert result.summary["status"] == "cancelled"
    print(f"{layout}, {scheme}: {wait_for_no_sessions(store_settings, layout)}")


def test_a_query_is_closed_between_its_batches(layout: str, name: str, store: Store, store_settings: Settings) -> None:
    result = QueryService(store).run(QueryRequest(name))
    batches = iter(result)
    first = next(batches)
    result.close()
    assert list(batches) == []
    assert (result.summary["status"], result.summary["rows"]) == ("cancelled", len(first))
    wait_for_no_sessions(store_settings, layout)


def test_a_query_may_be_closed_before_it_begins(name: str, store: Store) -> None:
    result = QueryService(store).run(QueryRequest(name))
    result.close()
    assert list(result) == [] and result.summary["status"] == "cancelled"


def test_a_scan_that_is_begun_after_the_end_has_none(store: Store) -> None:
    snapshot = store.snapshot()
    assert snapshot.snapshot() is snapshot
    snapshot.end_scans()
    with pytest.raises(StoreError, match="closed before its end"):
        snapshot.catalog.read_sources()
    assert store.catalog.read_sources() and store.snapshot().catalog.read_sources()


# Deadlines


def test_a_deadline_ends_a_query_that_waits(layout: str, name: str, store: Store, store_settings: Settings) -> None:
    began = time.monotonic()
    result = QueryService(store).run(QueryRequest(name, where=SLOW, deadline=0.5))
    assert list(result) == []
    assert 0.5 <= time.monotonic() - began < PATIENCE / 2
    assert (result.summary["status"], result.summary["rows"]) == ("deadline", 0)
    assert "cursor" not in result.summary, "there is no last row"
    wait_for_no_sessions(store_settings, layout)


def test_a_deadline_leaves_the_rows_that_came_and_a_cursor(layout: str, name: str, store: Store) -> None:
    service = QueryService(store)
    whole = [row for batch in service.run(QueryRequest(name)) for row in batch.to_pylist()]
    result = service.run(QueryRequest(name, deadline=1))
    rows = []
    for batch in result:
        rows += batch.to_pylist()
        time.sleep(1.2)
    assert result.summary["status"] == "deadline"
    assert 0 < len(rows) == result.summary["rows"] < EVENTS
    more = service.run(QueryRequest(name, deadline=600, cursor=result.summary["cursor"]))
    assert rows + [row for batch in more for row in batch.to_pylist()] == whole
    assert more.summary["status"] == "complete"


def test_planning_counts_too(name: str, store: Store) -> None:
    service = QueryService(store)
    cursor = service.run(QueryRequest(name, limit=5))
    list(cursor)
    for given in (None, cursor.summary["cursor"]):
        result = service.run(QueryRequest(name, deadline=1e-6, cursor=given))
        assert list(result) == []
        assert (result.summary["status"], result.summary.get("cursor")) == ("deadline", given)


@pytest.mark.parametrize("deadline", [0, -1, float("inf"), float("nan")])
def test_a_deadline_that_makes_no_sense_is_refused(name: str, deadline: float, store: Store) -> None:
    with pytest.raises(UserError, match="deadline"):
        QueryService(store).run(QueryRequest(name, deadline=deadline))


def test_the_command_line_says_that_the_answer_is_partial(name: str, store: Store, store_settings: Settings) -> None:
    status, out, err = run_command(store_settings, "query", name, "--where", SLOW, "--deadline", "0.5")
    assert (status, out) == (1, "") and "THE ANSWER IS PARTIAL" in err
    status, out, err = run_command(store_settings, "query", name, "--limit", "7")
    cursor = err.split("--cursor ")[1].split()[0]
    whole = run_command(store_settings, "query", name)[1]
    assert status == 0 and out + run_command(store_settings, "query", name, "--cursor", cursor)[1] == whole


def test_the_service_ends_queries_at_its_own_deadline(name: str, store: Store, store_settings: Settings) -> None:
    services = StoreServices(store_settings)
    try:
        for longest, more, status in (
            (0.5, {}, "deadline"), (0.5, {"deadline": 500}, "deadline"), (None, {"deadline": 0.5}, "deadline"),
            (500, {"limit": 3, "where": None}, "limit"),
        ):  # fmt: skip
            client = create_app(services, AnyToken(), RestLimits(deadline=longest)).test_client()
            body = {name: value for name, value in {"source": name, "where": SLOW, **more}.items() if value is not None}
            answer = client.post("/api/v1/query", json=body, headers={"Authorization": "Bearer x"})
            last = json.loads(answer.data.splitlines()[-1])["summary"]
            assert last["status"] == status
            if status == "limit":
                body = {"source": name, "cursor": last["cursor"], "limit": 2}
                answer = client.post("/api/v1/query", json=body, headers={"Authorization": "Bearer x"})
                assert len(answer.data.splitlines()) == 3
    finally:
        services.close()


def test_counts_that_take_too_long_end_with_an_error(name: str, store: Store) -> None:
    late = QueryService(store, count_seconds=0)
    for ask in (late.count_events, late.count_over_time, lambda source: late.rank_values(source, "who")):
        with pytest.raises(StoreError, match="not read within 0 s"):
            ask(name)
