"""No answer has an expired event, whatever is asked and while policies change, and removal frees the disk for good.

In `make test`: some hundred events in both layouts, on the stack of the run.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from ingest_support import RUN
from loaded import LAYOUTS, batch_of, write
from rule_tables import read_documents

from watchfloor.query.finding.one_event import UnknownEventError
from watchfloor.query.preparation.request import QueryRequest
from watchfloor.query.rules.alerts.alert_state import AlertState
from watchfloor.query.rules.alerts.detect import Detector, WatchedRules
from watchfloor.query.service import QueryService
from watchfloor.query.stats.request import StatsQuery
from watchfloor.schema.definition import parse_definition
from watchfloor.schema.errors import UserError
from watchfloor.schema.settings.settings import Settings
from watchfloor.schema.source import Source
from watchfloor.schema.times import to_micros
from watchfloor.store.admin.tables import SIGHTINGS_TABLE, source_tables
from watchfloor.store.bridge.requests import EntryScan
from watchfloor.store.encoding.keys import HOUR, MAX_TIME, time_of_row
from watchfloor.store.encoding.ranges import Ranges
from watchfloor.store.retention.policy import read_policy, set_keep
from watchfloor.store.retention.removal import read_source_bytes, remove_expired
from watchfloor.store.store import Store

pytestmark = pytest.mark.stack
BEGAN = datetime.now(UTC)
EVENTS = [
    {
        "ts": BEGAN - timedelta(minutes=37 * n + 1),
        "n": n,
        "host": f"10.0.0.{n % 5}",
        "who": f"user{n % 7}",
        "tags": [["x"], ["x", "y"], None][n % 3],
    }
    for n in range(600)
]
TOUCHED = 100
"""Hours that a test keeps: its cut lies within blocks and days."""


def make_source(name: str, layout: str) -> Source:
    fields: list[dict[str, Any]] = [
        {"name": "ts", "type": "time"},
        {"name": "n", "type": "int"},
        {"name": "host", "type": "ip", "indexed": True, "ecs": "source.ip"},
        {"name": "who", "type": "string", "indexed": True},
        {"name": "tags", "type": "list", "items": "string", "indexed": True},
    ]
    return parse_definition(
        {
            "name": f"{name}{RUN}.{layout}",
            "parser": {"format": "json"},
            "timestamp": {"field": "ts"},
            "shards": 2,
            "layout": layout,
            "fields": fields,
        }
    )


def fill(store: Store, name: str, layout: str, events: list[dict[str, Any]] = EVENTS) -> Source:
    source = store.catalog.register(make_source(name, layout))
    with store.sink() as sink:
        for item in range(3):
            write(sink, source, item, batch_of(source, events[item::3]), block_rows=25)
        sink.flush()
    return source


@pytest.fixture(scope="module")
def store(store_settings: Settings) -> Iterator[Store]:
    with Store.open(store_settings) as opened:
        for layout in LAYOUTS:
            fill(opened, "kept", layout)
        yield opened


def first_shown(keep: int | None) -> int:
    return 0 if keep is None else (time.time_ns() // 1000 - keep) // HOUR * HOUR


def list_kept(shown_from: int) -> list[dict[str, Any]]:
    return [event for event in EVENTS if to_micros(event["ts"]) >= shown_from]


def list_numbers(service: QueryService, name: str, **members: Any) -> list[int]:
    result = service.run(QueryRequest(name, columns=("n",), **members))
    return [n for batch in result for n in batch.column("n").to_pylist()]


def check_answers(service: QueryService, name: str, kept: list[dict[str, Any]], since: int | None = None) -> None:
    """Compares each kind of answer with what plain Python finds in the events that are kept."""
    kept = [event for event in kept if since is None or to_micros(event["ts"]) >= since]
    users = Counter(event["who"] for event in kept)
    hosts = Counter(event["host"] for event in kept)
    hours = Counter(to_micros(event["ts"]) // HOUR * HOUR for event in kept)
    days = Counter(to_micros(event["ts"]) // (24 * HOUR) * 24 * HOUR for event in kept)
    for scheme in ("scan", "batched-scan", "auto"):
        assert list_numbers(service, name, scheme=scheme, since=since) == [e["n"] for e in kept]
    for scheme in ("index", "batched-index", "scan"):
        found = list_numbers(service, name, where="who = user3", scheme=scheme, since=since)
        assert found == [e["n"] for e in kept if e["who"] == "user3"]
    found = list_numbers(service, name, where="tags = y and host in 10.0.0.0/30", since=since)
    assert found == [e["n"] for e in kept if "y" in (e["tags"] or ()) and e["host"] != "10.0.0.4"]
    assert list_numbers(service, name, sort="-n", limit=7, since=since) == sorted(e["n"] for e in kept)[:-8:-1]
    assert list_numbers(service, name, sort="ts", limit=1000, since=since) == [e["n"] for e in kept[::-1]]
    found = list_numbers(service, name, where=f"who in ({name} where n = 300 | who)", since=since)
    assert found == [e["n"] for e in kept if e["who"] == "user6" and any(one["n"] == 300 for one in kept)]
    assert service.count_events(name, since) == len(kept)
    assert service.count_events(name, since, None, "who", "user3") == users["user3"]
    assert dict(service.rank_values(name, "who", since)) == users
    assert service.count_over_time(name, since) == sorted(hours.items())
    assert service.count_over_time(name, since, None, "day") == sorted(days.items())
    for stats in ("count(), max(n) by who", "count() by who"):
        rows = list(service.run_stats(StatsQuery(name, stats, since=since)))[-1].rows.to_pylist()
        assert {row["who"]: row["count"] for row in rows} == users
    sightings = service.find_sightings("10.0.0.2", None, since, None, name).found
    assert [s.count for s in sightings] == ([hosts["10.0.0.2"]] if hosts["10.0.0.2"] else [])
    assert all(hours[hour] for s in sightings for hour, _ in s.hours)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_no_answer_has_an_expired_event(store: Store, layout: str) -> None:
    name, service = f"kept{RUN}.{layout}", QueryService(store)

    @given(
        st.none() | st.integers(60, 400 * 60).map(lambda minutes: minutes * 60_000_000),
        st.none() | st.integers(1, 400 * 3600).map(lambda seconds: to_micros(BEGAN) - seconds * 1_000_000),
    )
    @settings(max_examples=8, suppress_health_check=list(HealthCheck))
    def check(keep: int | None, since: int | None) -> None:
        set_keep(store, name, keep)
        shown_from = first_shown(keep)
        try:
            check_answers(service, name, list_kept(shown_from), since)
        except AssertionError:
            if first_shown(keep) == shown_from:  # Otherwise an hour ended meanwhile.
                raise

    check()
    set_keep(store, name, None)
    check_answers(service, name, EVENTS)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_an_expired_event_is_not_found_by_its_id(store: Store, layout: str) -> None:
    name, service = f"kept{RUN}.{layout}", QueryService(store)
    ids = {row["n"]: row["_id"] for batch in service.run(QueryRequest(name, ids=True)) for row in batch.to_pylist()}
    assert len(ids) == len(EVENTS)
    set_keep(store, name, TOUCHED * HOUR)
    kept = list_kept(first_shown(TOUCHED * HOUR))
    oldest = kept[-1]["n"]
    assert service.find_event(ids[oldest], 2, 5).older.num_rows == 0
    with pytest.raises(UnknownEventError):
        service.find_event(ids[oldest + 2], 2, 5)
    watch = service.watch(QueryRequest(name, since=0, columns=("n",), limit=len(kept)))
    assert {n for batch in watch for n in batch.column("n").to_pylist()} == {event["n"] for event in kept}
    set_keep(store, name, None)
    assert service.find_event(ids[oldest + 2], 2, 5).event.num_rows == 1


def test_no_alert_is_about_an_expired_event(store: Store, tmp_path: Path) -> None:
    events = EVENTS[120:220]
    source = fill(store, "zeek.kept", "block", events)
    document = {
        "title": "One",
        "id": "1",
        "logsource": {"product": "zeek", "service": source.name.removeprefix("zeek.")},
        "detection": {"sel": {"who": "user3"}, "condition": "sel"},
    }
    sources = {source.name: source}
    state = AlertState(tmp_path / "state.db")
    watched = WatchedRules(read_documents([document], sources).rules, (), sources)
    detector = Detector(QueryService(store), state, watched, pytest.fail)
    set_keep(store, source.name, TOUCHED * HOUR)
    detector.begin_watch(0)
    shown_from = first_shown(TOUCHED * HOUR)
    told = detector.find_alerts()
    matches = [to_micros(event["ts"]) for event in events if event["who"] == "user3"]
    assert told in {sum(at >= start for at in matches) for start in (shown_from, first_shown(TOUCHED * HOUR))}
    assert 3 < told < len(matches) - 3
    set_keep(store, source.name, None)
    assert told + detector.find_alerts() == len(matches)
    state.close()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_each_answer_is_by_one_policy_while_policies_change(store: Store, layout: str) -> None:
    name, service = f"kept{RUN}.{layout}", QueryService(store)
    keeps, stop = (TOUCHED * HOUR, 200 * HOUR), threading.Event()

    def change() -> None:
        while not stop.is_set():
            for keep in keeps:
                set_keep(store, name, keep)
                time.sleep(0.02)

    set_keep(store, name, keeps[0])
    changing = threading.Thread(target=change)
    changing.start()
    try:
        before = [first_shown(keep) for keep in keeps]
        asked = [_answer(service, name) for _ in range(25)]
    finally:
        stop.set()
        changing.join()
        set_keep(store, name, None)
    possible = [len(list_kept(at)) for at in {*before, *map(first_shown, keeps)}]
    for answers in asked:
        assert set(answers) <= {*possible}
    assert len({rows for answers in asked for rows in answers}) > 1, "no change was seen"


def _answer(service: QueryService, name: str) -> tuple[int, ...]:
    counts: list[Callable[[], int]] = [
        lambda: len(list_numbers(service, name)),
        lambda: service.count_events(name),
        lambda: sum(count for _, count in service.count_over_time(name)),
        lambda: sum(count for _, count in service.rank_values(name, "who")),
    ]
    return tuple(count() for count in counts)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_what_was_removed_stays_away_and_the_disk_is_free(store: Store, store_settings: Settings, layout: str) -> None:
    source = fill(store, "removed", layout)
    name, service = source.name, QueryService(store)
    set_keep(store, name, TOUCHED * HOUR)
    waited: list[float] = []
    with Store.open(store_settings, role="query") as other:
        other.grace = 12.0
        analyst = QueryService(other)
        assert analyst.count_events(name) == len(list_kept(first_shown(TOUCHED * HOUR)))
        for table in (*source_tables(source), SIGHTINGS_TABLE):
            store.connection.client.tableOperations().flush(table, None, None, True)
        before = read_source_bytes(store, source)
        removal = remove_expired(store, [source], waited.append)
        shown_from = read_policy(store, name).removed_before
        kept = list_kept(shown_from)
        assert waited and removal.sources == (name,)
        # The sightings, which the removal counts too, are those of all sources of a run.
        assert 0 < read_source_bytes(store, source) < before * 0.8 and removal.freed > 0
        check_answers(service, name, kept)
        set_keep(store, name, None)
        check_answers(service, name, kept)
        time.sleep(1.1)  # Its reading of the catalog is used for a twelfth of its grace.
        check_answers(analyst, name, kept)
    assert all(at > shown_from - 24 * HOUR for at in _stored_times(store, source))
    again = fill(store, "removed", layout)
    check_answers(service, again.name, kept)
    set_keep(store, name, 10 * HOUR)
    check_answers(service, name, list_kept(first_shown(10 * HOUR)))


def _stored_times(store: Store, source: Source) -> list[int]:
    """The times in all keys of a source's tables, as a client sees them that knows of no policy."""
    everything = Ranges()
    everything.add_rows(b"", None)
    events, index, counts = source_tables(source)
    times = [time_of_row(row) for row in _read(store, events, everything, "row")]
    for table in (index, counts):
        times += [MAX_TIME - int.from_bytes(q[:8], "big") for q in _read(store, table, everything, "qualifier")]
    mark = f"{source.name}\0".encode()
    for qualifier, row in zip(
        _read(store, SIGHTINGS_TABLE, everything, "qualifier"),
        _read(store, SIGHTINGS_TABLE, everything, "row"),
        strict=True,
    ):
        if qualifier[8:].startswith(mark) and row[4] == 0:
            times.append(MAX_TIME - int.from_bytes(qualifier[:8], "big"))
    assert times
    return times


def _read(store: Store, table: str, ranges: Ranges, column: str) -> list[bytes]:
    return [value for batch in store.scan(EntryScan(table, ranges)) for value in batch.column(column).to_pylist()]


def test_a_time_that_is_too_short_is_refused(store: Store) -> None:
    with pytest.raises(UserError, match="an hour at least"):
        set_keep(store, f"kept{RUN}.block", HOUR - 1)
    assert read_policy(store, f"kept{RUN}.block").keep is None
