"""Any time from year 1 to 9999 may be asked for: queries, pages and counts answer it, or refuse it clearly.

In `make test`: it is short, on the stack of the run.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from command_line import run_command
from hypothesis import given, settings
from hypothesis import strategies as st
from ingest_support import RUN
from loaded import LAYOUTS, batch_of, write
from query_strategies import QUERY_PROFILE
from served import AnyToken

from watchfloor.api.rest.app import create_app
from watchfloor.api.rest.store_services import StoreServices
from watchfloor.query.preparation.request import QueryRequest
from watchfloor.query.service import QueryService
from watchfloor.schema.choices import BUCKETS, SCHEMES
from watchfloor.schema.definition import parse_definition
from watchfloor.schema.errors import TimeRangeError
from watchfloor.schema.settings.settings import Settings
from watchfloor.schema.source import Source
from watchfloor.schema.times import END_OF_TIME, EPOCH, YEAR_1, YEAR_10000, format_micros, to_micros
from watchfloor.store.store import Store

pytestmark = pytest.mark.stack

HOUR = 3_600_000_000
PLACES = (0, HOUR, 24 * HOUR, 1_456_790_400_000_000, END_OF_TIME - HOUR, END_OF_TIME)
TIMES = sorted({place + step for place in PLACES for step in (-1, 0, 1) if 0 <= place + step < END_OF_TIME})
# Another field of type time holds any time that Python knows.
SEEN = (YEAR_1, -1, 0, 1, YEAR_10000 - 1)
INT64 = 1 << 63
asked_times = (
    st.none()
    | st.sampled_from([t + step for t in (*TIMES, YEAR_1, YEAR_10000, -INT64, INT64) for step in (-1, 0, 1)])
    | st.integers(YEAR_1, YEAR_10000 - 1)
)


def source(layout: str) -> Source:
    return parse_definition(
        {
            "name": f"times{RUN}.{layout}",
            "parser": {"format": "json"},
            "timestamp": {"field": "ts"},
            "shards": 2,
            "layout": layout,
            "fields": [
                {"name": "ts", "type": "time"},
                {"name": "seen", "type": "time", "indexed": True},
                {"name": "who", "type": "string", "indexed": True},
                # Names that batches once had for columns of their own.
                {"name": "_key", "type": "string"},
                {"name": "_offset", "type": "int"},
            ],
        }
    )


def moment(micros: int) -> datetime:
    return EPOCH + timedelta(microseconds=micros)


def events() -> list[dict[str, Any]]:
    return [{"ts": moment(t), "seen": moment(SEEN[n % 5]), "who": "ab"[n % 2]} for n, t in enumerate(TIMES)]


@pytest.fixture(scope="module")
def store(store_settings: Settings) -> Iterator[Store]:
    with Store.open(store_settings) as writer, writer.sink() as sink:
        for kind in map(writer.catalog.register, map(source, LAYOUTS)):
            write(sink, kind, 0, batch_of(kind, events()), block_rows=3)
        sink.flush()
    with Store.open(store_settings, role="query") as opened:
        yield opened


def expect(since: int | None, until: int | None, seen: tuple[int, int] | None = None) -> list[int]:
    """Returns the times of the events that are to be found, newest first."""
    return [
        time
        for time, event in reversed(list(zip(TIMES, events(), strict=True)))
        if (since is None or time >= since)
        and (until is None or time < until)
        and (seen is None or moment(seen[0]) <= event["seen"] < moment(seen[1]))
    ]


@pytest.mark.parametrize("layout", LAYOUTS)
@given(
    since=asked_times,
    until=asked_times,
    scheme=st.sampled_from(SCHEMES),
    limit=st.integers(1, 5),
    seen=st.none() | st.tuples(st.sampled_from(SEEN), st.sampled_from(SEEN)),
)
@settings(QUERY_PROFILE)
def test_queries_and_their_pages_know_every_time(
    layout: str,
    since: int | None,
    until: int | None,
    scheme: str,
    limit: int,
    seen: tuple[int, int] | None,
    store: Store,
) -> None:
    service = QueryService(store)
    where = seen and f"seen >= {format_micros(seen[0])} and seen < {format_micros(seen[1])}"
    asked = QueryRequest(source(layout).name, since, until, where=where, scheme=scheme, limit=limit)
    if since is not None and until is not None and since >= until:
        with pytest.raises(TimeRangeError):
            service.run(asked)
        return
    found: list[int] = []
    while True:
        result = service.run(asked)
        found += [to_micros(row["ts"]) for batch in result for row in batch.to_pylist()]
        if "cursor" not in result.summary:
            break
        asked = replace(asked, since=None, until=None, cursor=result.summary["cursor"])
    assert found == expect(since, until, seen)


@pytest.mark.parametrize("layout", LAYOUTS)
@given(since=asked_times, until=asked_times, bucket=st.sampled_from(BUCKETS))
@settings(QUERY_PROFILE)
def test_counts_know_every_time(layout: str, since: int | None, until: int | None, bucket: str, store: Store) -> None:
    service, name = QueryService(store), source(layout).name
    if since is not None and until is not None and since >= until:
        with pytest.raises(TimeRangeError):
            service.count_events(name, since, until)
        return
    expected = expect(since, until)
    assert service.count_events(name, since, until) == len(expected)
    assert sum(count for _, count in service.count_over_time(name, since, until, bucket)) == len(expected)
    assert sum(count for _, count in service.rank_values(name, "who", since, until)) == len(expected)
    assert service.count_events(name, since, until, "who", "a") == sum(TIMES.index(t) % 2 == 0 for t in expected)


TEXTS = (
    "0001-01-01", "0001-01-01T00:00:00.000001Z", "-999999999999w", "-1000w", "now", "0", "-0.000001", "-1.5",
    "1969-12-31T23:59:59.999999Z", "1970-01-01", "2262-01-01", "2261-12-31T23:59:59.999999Z", "9999-12-31T23:59:59Z",
    "9999-12-31T23:59:59-12:00", "0001-01-01T00:00:00+12:00", "253402300800", "-62135596801", "9223372036854775807",
    "1e400", "nan", "inf", "10000-01-01", "0000-01-01", "",
)  # fmt: skip


def test_the_service_answers_or_refuses_every_time(layout: str, store: Store, store_settings: Settings) -> None:
    services = StoreServices(store_settings)
    client = create_app(services, AnyToken()).test_client()
    name, headers, numbers = source(layout).name, {"Authorization": "Bearer x"}, (-62135596800, -0.5, 1e300, -1e300)
    for since in (*TEXTS, *numbers):
        for until in (None, "1970-01-01T00:00:00.000001Z", "9999-12-31"):
            body = {"source": name, "since": since, "until": until, "limit": 1}
            answer = client.post("/api/v1/query", json=body, headers=headers)
            last = json.loads(answer.data.splitlines()[-1])
            assert answer.status_code == 400 or last["summary"]["status"] in ("limit", "complete"), (body, last)
            for path in ("count", "timeline", "top"):
                query = {key: value for key, value in body.items() if value is not None and key != "limit"}
                query |= {"field": "who"} if path == "top" else {}
                assert client.get(f"/api/v1/{path}", query_string=query, headers=headers).status_code in (200, 400)
    services.close()


def test_the_command_line_answers_or_refuses_every_time(layout: str, store: Store, store_settings: Settings) -> None:
    for since in TEXTS:
        for command in (("query", source(layout).name, "--limit", "1"), ("count", source(layout).name)):
            status, out, err = run_command(store_settings, *command, f"--since={since}")
            assert "Traceback" not in err and "internal" not in err, err
            assert (status == 0) == bool(out) or not out
            assert status in (0, 2) or err
