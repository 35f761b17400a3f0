"""Every scheme gives the events that plain Python finds, whatever the layout, filter, time range and batching."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, given, note, settings
from hypothesis import strategies as st
from loaded import Loaded
from oracle import filters, holds, pools_of

from watchfloor.query.batching import POLICIES, BatchSettings
from watchfloor.query.jsonform import to_json
from watchfloor.query.service import SCHEMES, QueryRequest, QueryService
from watchfloor.schema.filter import Filter
from watchfloor.store.store import Store

pytestmark = [pytest.mark.stack, pytest.mark.timeout(900)]

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
COLUMNS = {
    "conn": ("ts", "uid", "id.orig_h", "id.resp_p", "duration", "orig_bytes", "local_orig"),
    "dns": ("ts", "uid", "query", "trans_id", "answers", "rtt", "RA"),
    "http": ("ts", "uid", "host", "status_code", "trans_depth", "resp_mime_types", "referrer"),
}

# Without its phase that explains a failure: it traces every line, for many minutes.
drawn = settings(suppress_health_check=list(HealthCheck), phases=[p for p in Phase if p is not Phase.explain])

batchings = st.builds(
    BatchSettings,
    policy=st.sampled_from(sorted(POLICIES)),
    growth=st.sampled_from([2.0, 10.0]),
    min_width=st.sampled_from([1_000_000, 60_000_000, 3_600_000_000]),
    min_seconds=st.sampled_from([0.01, 1.0]),
    first_rows=st.sampled_from([10.0, 1000.0]),
    # A fixed width of a second would be a hundred thousand batches over brobeat's days.
    width=st.sampled_from([6 * 3_600_000_000, 24 * 3_600_000_000]),
)


def micros(moment: datetime) -> int:
    return (moment - EPOCH) // timedelta(microseconds=1)


def hashable(row: dict[str, Any], columns: tuple[str, ...]) -> tuple[Any, ...]:
    return tuple(tuple(v) if isinstance(v, list) else v for v in (row[c] for c in columns))


@pytest.fixture(scope="module")
def pools(brobeat: dict[str, dict[str, Loaded]]) -> dict[str, dict[str, list[Any]]]:
    return {kind: pools_of(loaded.source, loaded.events) for kind, loaded in brobeat["cell"].items()}


@pytest.fixture(scope="module")
def trees(
    brobeat: dict[str, dict[str, Loaded]], pools: dict[str, dict[str, list[Any]]]
) -> dict[str, st.SearchStrategy[Filter]]:
    """Made once: a strategy over hundreds of values takes longer to make than to draw from."""
    return {kind: filters(loaded.source, pools[kind]) for kind, loaded in brobeat["cell"].items()}


@pytest.mark.parametrize("kind", COLUMNS)
@given(data=st.data())
@settings(drawn, max_examples=75)
def test_all_schemes_agree_with_plain_python_on_blocks(
    kind: str,
    data: st.DataObject,
    brobeat: dict[str, dict[str, Loaded]],
    trees: dict[str, st.SearchStrategy[Filter]],
    query_store: Store,
) -> None:
    check_all_schemes(brobeat["block"][kind], COLUMNS[kind], trees[kind], data, query_store)


# Fewer, since a query of cells takes the servers several times as long.
@pytest.mark.parametrize("kind", COLUMNS)
@given(data=st.data())
@settings(drawn, max_examples=25)
def test_all_schemes_agree_with_plain_python_on_cells(
    kind: str,
    data: st.DataObject,
    brobeat: dict[str, dict[str, Loaded]],
    trees: dict[str, st.SearchStrategy[Filter]],
    query_store: Store,
) -> None:
    check_all_schemes(brobeat["cell"][kind], COLUMNS[kind], trees[kind], data, query_store)


def check_all_schemes(
    loaded: Loaded,
    columns: tuple[str, ...],
    strategy: st.SearchStrategy[Filter],
    data: st.DataObject,
    query_store: Store,
) -> None:
    tree = data.draw(strategy, label="filter")
    times = [micros(event["ts"]) for event in (loaded.events[0], loaded.events[-1])]
    moments = st.integers(times[1] - 1, times[0] + 2) | st.sampled_from(loaded.events).map(lambda e: micros(e["ts"]))
    ends = data.draw(st.none() | st.tuples(moments, moments).filter(lambda p: p[0] != p[1]), label="range")
    since, until = (None, None) if ends is None else (min(ends), max(ends))
    expected = Counter(
        hashable(event, columns)
        for event in loaded.events
        if (since is None or since <= micros(event["ts"])) and (until is None or micros(event["ts"]) < until)
        if holds(tree, event)
    )
    batching = data.draw(batchings, label="batching")
    service, first = QueryService(query_store), None
    for scheme in SCHEMES:
        request = QueryRequest(
            loaded.source.name, since, until, to_json(tree), columns, scheme=scheme, batching=batching
        )
        result = service.run(request)
        table = pa.Table.from_batches(result, result.schema)
        note(result.plan.text())
        assert result.summary["status"] == "complete" and result.summary["rows"] == len(table)
        if first is not None:
            assert table.equals(first), f"{scheme}: not the same events in the same order as {SCHEMES[0]}"
            continue
        first, rows = table, table.to_pylist()
        found = Counter(hashable(row, columns) for row in rows)
        missing, surplus = list(expected - found), list(found - expected)
        assert not missing and not surplus, (
            f"{scheme}: {len(missing)} missing, as {missing[:1]}; {len(surplus)} surplus"
        )
        moments_seen = [row["ts"] for row in rows]
        assert moments_seen == sorted(moments_seen, reverse=True), f"{scheme}: not newest first"


@pytest.mark.parametrize("kind", COLUMNS)
def test_every_value_comes_back(
    kind: str, layout: str, brobeat: dict[str, dict[str, Loaded]], query_store: Store
) -> None:
    loaded = brobeat[layout][kind]
    result = QueryService(query_store).run(QueryRequest(loaded.source.name))
    rows = [row for batch in result for row in batch.to_pylist()]
    names = tuple(field.name for field in loaded.source.fields)
    assert Counter(hashable(r, names) for r in rows) == Counter(hashable(e, names) for e in loaded.events)


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("limit", [1, 7, 500])
def test_a_limit_gives_the_newest(
    layout: str, scheme: str, limit: int, brobeat: dict[str, dict[str, Loaded]], query_store: Store
) -> None:
    loaded = brobeat[layout]["conn"]
    expected = [e["ts"] for e in loaded.events if e["proto"] == "udp"][:limit]
    result = QueryService(query_store).run(
        QueryRequest(loaded.source.name, where="proto = udp", columns=("ts",), limit=limit, scheme=scheme)
    )
    found = [row["ts"] for batch in result for row in batch.to_pylist()]
    assert [i for i, pair in enumerate(zip(found, expected, strict=True)) if pair[0] != pair[1]] == []
    assert result.summary["status"] == "limit" and result.summary["rows"] == limit


@pytest.mark.parametrize("kind", COLUMNS)
@given(data=st.data())
@settings(drawn, max_examples=20)
def test_counts_are_exact(
    kind: str,
    layout: str,
    data: st.DataObject,
    brobeat: dict[str, dict[str, Loaded]],
    pools: dict[str, dict[str, list[Any]]],
    query_store: Store,
) -> None:
    loaded = brobeat[layout][kind]
    name = loaded.source.name
    service = QueryService(query_store)
    moments = st.sampled_from(loaded.events).map(lambda e: micros(e["ts"]))
    since, until = sorted(data.draw(st.tuples(moments, moments).filter(lambda p: p[0] != p[1])))
    inside = [e for e in loaded.events if since <= micros(e["ts"]) < until]
    assert service.count(name, since, until) == len(inside)
    field = data.draw(st.sampled_from(loaded.source.indexed))
    held = [set(v) if isinstance(v := e[field.name], list) else {v} for e in inside]
    counted = Counter(value for values in held for value in values if value is not None)
    value = data.draw(st.sampled_from(pools[kind][field.name] or ["nobody"]))
    if pools[kind][field.name]:
        assert service.count(name, since, until, field.name, value) == counted[value]
        timeline = service.timeline(name, since, until, "hour", field.name, value)
        assert sum(count for _, count in timeline) == counted[value]
    top = service.top(name, field.name, since, until, 5)
    assert [count for _, count in top] == [count for _, count in counted.most_common(5)]
    assert all(counted[value] == count for value, count in top)
    bucket, width = data.draw(st.sampled_from([("minute", 60), ("hour", 3600), ("day", 86400)]))
    buckets = Counter(micros(e["ts"]) // (width * 10**6) * (width * 10**6) for e in inside)
    assert dict(service.timeline(name, since, until, bucket)) == dict(buckets)
