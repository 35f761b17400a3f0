"""Every scheme gives the events that plain Python finds, whatever the layout, filter, time range and batching.

Of each type of field every operator is drawn, alone and among other conditions, on fields with an index and without;
and filters of any shape on real logs. The last test checks that enough was asked.

In `make test`: each kind of question once; `test_oracle_at_length.py` asks several times as many.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from loaded import LAYOUTS
from oracle_questions import (
    EXPRESSIONS,
    QUERY_PROFILE,
    REAL,
    TYPES,
    StoredSource,
    check_many,
    check_that_enough_was_asked,
    micros,
)

from watchfloor.query.preparation.request import QueryRequest
from watchfloor.query.service import QueryService
from watchfloor.query.stats.request import StatsQuery
from watchfloor.schema.choices import SCHEMES
from watchfloor.store.store import Store

pytestmark = [pytest.mark.stack, pytest.mark.timeout(900)]

DISTINCT_FILTERS = 200
"""Distinct filters that a run asks at least, over both layouts."""
# A query of cells takes the servers several times as long; the first example of a strategy is its simplest.
ROUNDS = {"cell": 1, "block": 3}
REAL_EXAMPLES = {"cell": 1, "block": 3}


@pytest.mark.parametrize("name", (*TYPES, EXPRESSIONS))
@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_operator_on_every_type(
    layout: str,
    name: str,
    stored: dict[str, dict[str, StoredSource]],
    strategies: dict[str, st.SearchStrategy[Any]],
    query_store: Store,
) -> None:
    check_many(layout, "mixed", name, ROUNDS[layout], stored, strategies, query_store)


@pytest.mark.parametrize("kind", REAL)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_filters_of_any_shape_on_real_logs(
    layout: str,
    kind: str,
    stored: dict[str, dict[str, StoredSource]],
    strategies: dict[str, st.SearchStrategy[Any]],
    query_store: Store,
) -> None:
    check_many(layout, kind, kind, REAL_EXAMPLES[layout], stored, strategies, query_store)


def entropy(text: str) -> float:
    return -sum(count / len(text) * math.log2(count / len(text)) for count in Counter(text).values())


def texts_of(event: dict[str, Any]) -> list[str]:
    values = (value if isinstance(value, list) else [value] for name, value in event.items() if name != "ts")
    return [one for some in values for one in some if isinstance(one, str) and not is_address(one)]


def is_address(text: str) -> bool:
    return re.fullmatch(r"[0-9.]+|[0-9a-f:]*:[0-9a-f:.]*", text) is not None


ANALYSTS = [
    ("conn", "orig_bytes > resp_bytes",
     lambda e: has(e, "orig_bytes", "resp_bytes") and e["orig_bytes"] > e["resp_bytes"]),
    ("conn", "orig_bytes + resp_bytes >= 10000",
     lambda e: has(e, "orig_bytes", "resp_bytes") and e["orig_bytes"] + e["resp_bytes"] >= 10_000),
    ("conn", "resp_bytes / duration > 500",
     lambda e: has(e, "resp_bytes", "duration") and e["duration"] and e["resp_bytes"] / e["duration"] > 500),
    ("conn", "id.orig_p != field(id.resp_p) and hour(ts) >= 12",
     lambda e: e["id.orig_p"] != e["id.resp_p"] and e["ts"].hour >= 12),
    ("dns", "entropy(query) > 3.5", lambda e: has(e, "query") and entropy(e["query"]) > 3.5),
    ("dns", "length(query) > 20 and length(answers) > 1",
     lambda e: has(e, "query", "answers") and len(e["query"]) > 20 and len(e["answers"]) > 1),
    ("dns", "registered_domain(query) = google.com",
     lambda e: has(e, "query") and f".{e['query'].lower()}".endswith(".google.com")),
    ("http", "any contains mozilla or any contains Mozilla",
     lambda e: any("mozilla" in text or "Mozilla" in text for text in texts_of(e))),
    ("http", "lower(user_agent) contains mozilla and weekday(ts) in 1..7",
     lambda e: has(e, "user_agent") and "mozilla" in e["user_agent"].lower()),
]  # fmt: skip
"""Filters that an analyst writes, and what they are about in plain Python."""


def has(event: dict[str, Any], *names: str) -> bool:
    return all(event[name] is not None for name in names)


@pytest.mark.parametrize(("kind", "where", "wanted"), ANALYSTS, ids=[where for _, where, _ in ANALYSTS])
def test_what_analysts_ask_of_real_logs(
    kind: str,
    where: str,
    wanted: Callable[[dict[str, Any]], bool],
    layout: str,
    stored: dict[str, dict[str, StoredSource]],
    query_store: Store,
) -> None:
    loaded, service = stored[layout][kind].loaded, QueryService(query_store)
    expected = [event["number"] for event in loaded.events if wanted(event)]
    assert 0 < len(expected) < len(loaded.events)
    for scheme in SCHEMES:
        request = QueryRequest(loaded.source.name, where=where, columns=("number",), scheme=scheme)
        result = service.run(request)
        assert sorted(row["number"] for batch in result for row in batch.to_pylist()) == expected
        *_, answer = service.run_stats(
            StatsQuery(loaded.source.name, f"count_if({where}) as n, count()", scheme="scan")
        )
        assert answer.rows.to_pylist() == [{"n": len(expected), "count": len(loaded.events)}]


@pytest.mark.parametrize("kind", (*REAL, "mixed"))
def test_every_value_comes_back(
    kind: str, layout: str, stored: dict[str, dict[str, StoredSource]], query_store: Store
) -> None:
    known = stored[layout][kind]
    result = QueryService(query_store).run(QueryRequest(known.loaded.source.name))
    table = pa.Table.from_batches(result, result.schema)
    numbers = table.column("number")
    assert sorted(numbers.to_pylist()) == list(range(len(known.times)))
    assert table.equals(known.table.take(numbers.combine_chunks()).select(table.column_names).cast(table.schema))


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("limit", [1, 7, 500])
def test_a_limit_gives_the_newest(
    layout: str, scheme: str, limit: int, stored: dict[str, dict[str, StoredSource]], query_store: Store
) -> None:
    loaded = stored[layout]["conn"].loaded
    expected = [e["ts"] for e in loaded.events if e["proto"] == "udp"][:limit]
    result = QueryService(query_store).run(
        QueryRequest(loaded.source.name, where="proto = udp", columns=("ts",), limit=limit, scheme=scheme)
    )
    found = [row["ts"] for batch in result for row in batch.to_pylist()]
    assert [i for i, pair in enumerate(zip(found, expected, strict=True)) if pair[0] != pair[1]] == []
    assert result.summary["status"] == "limit" and result.summary["rows"] == limit


@pytest.mark.parametrize("kind", REAL)
@given(data=st.data())
@settings(QUERY_PROFILE, max_examples=20)
def test_counts_are_exact(
    kind: str,
    layout: str,
    data: st.DataObject,
    stored: dict[str, dict[str, StoredSource]],
    pools: dict[str, dict[str, list[Any]]],
    query_store: Store,
) -> None:
    loaded = stored[layout][kind].loaded
    name = loaded.source.name
    service = QueryService(query_store)
    moments = st.sampled_from(loaded.events).map(lambda e: micros(e["ts"]))
    since, until = sorted(data.draw(st.tuples(moments, moments).filter(lambda p: p[0] != p[1])))
    inside = [e for e in loaded.events if since <= micros(e["ts"]) < until]
    assert service.count_events(name, since, until) == len(inside)
    field = data.draw(st.sampled_from(loaded.source.indexed_fields))
    held = [set(v) if isinstance(v := e[field.name], list) else {v} for e in inside]
    counted = Counter(value for values in held for value in values if value is not None)
    value = data.draw(st.sampled_from(pools[kind][field.name] or ["nobody"]))
    if pools[kind][field.name]:
        assert service.count_events(name, since, until, field.name, value) == counted[value]
        timeline = service.count_over_time(name, since, until, "hour", field.name, value)
        assert sum(count for _, count in timeline) == counted[value]
    top = service.rank_values(name, field.name, since, until, 5)
    assert [count for _, count in top] == [count for _, count in counted.most_common(5)]
    assert all(counted[value] == count for value, count in top)
    bucket, width = data.draw(st.sampled_from([("minute", 60), ("hour", 3600), ("day", 86400)]))
    buckets = Counter(micros(e["ts"]) // (width * 10**6) * (width * 10**6) for e in inside)
    assert dict(service.count_over_time(name, since, until, bucket)) == dict(buckets)


def test_enough_was_asked() -> None:
    """Comes last, because it counts what the tests before it have asked."""
    check_that_enough_was_asked(DISTINCT_FILTERS)
