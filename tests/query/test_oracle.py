"""Every scheme gives the events that plain Python finds, whatever the layout, filter, time range and batching.

Of each type of field every operator is drawn, alone and among other conditions, on fields with an index and without;
and filters of any shape on real logs. What was asked is counted, and the last test looks whether it was enough.
"""

from __future__ import annotations

import json
import zlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from drawn_filters import (
    condition,
    conditions_of,
    filters,
    leaves,
    operator_of,
    operators_of,
    pools_of,
    shapes,
    values_of,
)
from hypothesis import given, note, seed, settings
from hypothesis import strategies as st
from loaded import LAYOUTS, Loaded, in_layout, numbered, parse
from mixed_events import SCALARS, mixed
from oracle import Rows
from query_strategies import QUERY_BATCHINGS, QUERY_PROFILE

from watchfloor.query.batches.settings import BatchSettings
from watchfloor.query.request import QueryRequest
from watchfloor.query.service import QueryService
from watchfloor.schema.choices import SCHEMES
from watchfloor.schema.field import Field, FieldType
from watchfloor.schema.filter.json_form import to_json
from watchfloor.schema.filter.tree import Filter
from watchfloor.schema.settings.settings import Settings
from watchfloor.store.store import Store

pytestmark = [pytest.mark.stack, pytest.mark.timeout(900)]

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MIXED_EVENTS = 1_200
REAL = ("conn", "dns", "http")
TYPES = tuple(f"{kind}{scalar}" for scalar in SCALARS for kind in ("", "list of "))
ENOUGH = 1_000
"""Distinct filters that a run asks, over both layouts."""
# A query of cells takes the servers several times as long.
ROUNDS = {"cell": 2, "block": 6}
REAL_EXAMPLES = {"cell": 4, "block": 10}
FILTERS_AT_ONCE = 4

# ``auto`` and two others, each with a batching of its own.
schemes = st.permutations(SCHEMES[1:]).map(lambda others: (SCHEMES[0], *others[:2]))
runs = st.tuples(schemes, st.tuples(QUERY_BATCHINGS, QUERY_BATCHINGS, QUERY_BATCHINGS)).map(
    lambda two: list(zip(*two, strict=True))
)


@dataclass(frozen=True)
class Stored:
    """A source, and its events as plain Python has them."""

    loaded: Loaded
    rows: Rows
    table: pa.Table
    times: np.ndarray

    @classmethod
    def of(cls, loaded: Loaded) -> Stored:
        names = [field.name for field in loaded.source.fields]
        times = np.array([micros(event["ts"]) for event in loaded.events])
        table = pa.Table.from_batches([loaded.batch]).select(names)
        return cls(loaded, Rows(names, loaded.events), table, times)


class Asked:
    """What has been asked in this run."""

    def __init__(self) -> None:
        self.tests: set[tuple[str, str]] = set()
        self.filters: set[str] = set()
        self.conditions: Counter[tuple[str, str, str]] = Counter()
        self.queries = 0


asked = Asked()


def micros(moment: datetime) -> int:
    return (moment - EPOCH) // timedelta(microseconds=1)


@pytest.fixture(scope="module")
def stored(store_settings: Settings, data_dir: Path) -> dict[str, dict[str, Stored]]:
    """By layout and kind: Zeek's conn, dns and http of one office, and events of all types."""
    logs = {kind: numbered(parse(data_dir / "zeek" / "brobeat" / f"{kind}.log")[0]) for kind in REAL}
    kinds = {kind: Stored.of(loaded) for kind, loaded in {**logs, "mixed": mixed(MIXED_EVENTS)}.items()}
    with Store.open(store_settings) as store:
        return {
            name: {kind: replace(known, loaded=in_layout(store, known.loaded, name)) for kind, known in kinds.items()}
            for name in LAYOUTS
        }


@pytest.fixture(scope="module")
def pools(stored: dict[str, dict[str, Stored]]) -> dict[str, dict[str, list[Any]]]:
    return {kind: pools_of(known.loaded.source, known.loaded.events) for kind, known in stored["cell"].items()}


@pytest.fixture(scope="module")
def strategies(
    stored: dict[str, dict[str, Stored]], pools: dict[str, dict[str, list[Any]]]
) -> dict[str, st.SearchStrategy[Any]]:
    """Made once: a strategy over hundreds of values takes longer to make than to draw from.

    By kind of real log filters of any shape; by type of field a condition of each operator, within such shapes.
    """
    made: dict[str, st.SearchStrategy[Any]] = {}
    for kind in REAL:
        one = filters(stored["cell"][kind].loaded.source, pools[kind])
        made[kind] = st.lists(one, min_size=FILTERS_AT_ONCE, max_size=FILTERS_AT_ONCE)
    fields, values = stored["cell"]["mixed"].loaded.source.fields, pools["mixed"]
    # Two to one for fields with an index: what a planner makes of several conditions is about those.
    others = st.one_of([leaves(field, values[field.name]) for field in (*fields, *(f for f in fields if f.is_indexed))])
    for name in TYPES:
        made[name] = _of_each_operator([field for field in fields if field.type_name == name], values, others)
    return made


def _of_each_operator(
    fields: Sequence[Field], pools: dict[str, list[Any]], others: st.SearchStrategy[Filter]
) -> st.SearchStrategy[Any]:
    each = []
    for operator in operators_of(fields[0].scalar):
        of_any = st.one_of([condition(f, operator, values_of(f.scalar, pools[f.name])) for f in fields])
        each.append(shapes(of_any, others))
    return st.tuples(*each)


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_operator_on_every_type(
    layout: str,
    name: str,
    stored: dict[str, dict[str, Stored]],
    strategies: dict[str, st.SearchStrategy[Any]],
    query_store: Store,
) -> None:
    check_many(layout, "mixed", name, ROUNDS[layout], stored, strategies, query_store)


@pytest.mark.parametrize("kind", REAL)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_filters_of_any_shape_on_real_logs(
    layout: str,
    kind: str,
    stored: dict[str, dict[str, Stored]],
    strategies: dict[str, st.SearchStrategy[Any]],
    query_store: Store,
) -> None:
    check_many(layout, kind, kind, REAL_EXAMPLES[layout], stored, strategies, query_store)


def check_many(
    layout: str,
    kind: str,
    name: str,
    examples: int,
    stored: dict[str, dict[str, Stored]],
    strategies: dict[str, st.SearchStrategy[Any]],
    query_store: Store,
) -> None:
    """Draws lists of filters, as many as ``examples``, and asks each of them of one source in one layout."""
    known, service = stored[layout][kind], QueryService(query_store)
    names = [field.name for field in known.loaded.source.fields if field.name not in ("ts", "number")]
    moments = st.integers(int(known.times[-1]) - 1, int(known.times[0]) + 2) | st.sampled_from(known.times.tolist())
    spans = st.none() | st.tuples(moments, moments).filter(lambda two: two[0] != two[1]).map(sorted)
    some = st.lists(st.sampled_from(names), max_size=3, unique=True)

    @given(data=st.data())
    @settings(QUERY_PROFILE, max_examples=examples)
    def ask(data: st.DataObject) -> None:
        for tree in data.draw(strategies[name], label="filters"):
            columns = ("ts", "number", *data.draw(some, label="columns"))
            span = data.draw(spans, label="range")
            check(layout, known, tree, data.draw(runs, label="runs"), span, columns, service)

    # Where the same examples come again in every run, they are not the same ones in each test.
    (seed(zlib.crc32(f"{layout} {name}".encode()))(ask) if settings.default.derandomize else ask)()
    asked.tests.add((layout, name))


def check(
    layout: str,
    known: Stored,
    tree: Filter,
    schemes: Sequence[tuple[str, BatchSettings]],
    span: Sequence[int] | None,
    columns: tuple[str, ...],
    service: QueryService,
) -> None:
    """Asks one filter in several ways; each gives the events that plain Python finds, newest first."""
    source = known.loaded.source
    since, until = span or (None, None)
    wanted = known.rows.holding(tree)
    if span is not None:
        wanted &= (known.times >= since) & (known.times < until)
    first: np.ndarray | None = None
    for scheme, batching in schemes:
        request = QueryRequest(source.name, since, until, to_json(tree), columns, scheme=scheme, batching=batching)
        result = service.run(request)
        table = pa.Table.from_batches(result, result.schema)
        note(result.plan.to_text())
        assert result.summary["status"] == "complete" and result.summary["rows"] == len(table)
        found = table.column("number").to_numpy()
        missing, surplus = np.setdiff1d(np.flatnonzero(wanted), found), found[~wanted[found]]
        assert not len(missing) and not len(surplus), (
            f"{scheme}, {tree}: {len(missing)} missing, as {shown(known, missing)}; "
            f"{len(surplus)} surplus, as {shown(known, surplus)}"
        )
        assert len(found) == wanted.sum(), f"{scheme}, {tree}: some events come twice"
        assert table.equals(known.table.take(pa.array(found)).select(columns).cast(table.schema))
        assert (np.diff(known.times[found]) <= 0).all(), f"{scheme}: not newest first"
        assert first is None or (found == first).all(), f"{scheme}, {tree}: another order than {schemes[0][0]} gives"
        first = found
        asked.queries += 1
    asked.filters.add(json.dumps(to_json(tree)))
    for leaf in conditions_of(tree):
        asked.conditions[layout, operator_of(leaf), source.find_field(leaf.field).type_name] += 1


def shown(known: Stored, numbers: np.ndarray) -> dict[str, Any] | None:
    return known.loaded.events[int(numbers[0])] if len(numbers) else None


@pytest.mark.parametrize("kind", (*REAL, "mixed"))
def test_every_value_comes_back(
    kind: str, layout: str, stored: dict[str, dict[str, Stored]], query_store: Store
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
    layout: str, scheme: str, limit: int, stored: dict[str, dict[str, Stored]], query_store: Store
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
    stored: dict[str, dict[str, Stored]],
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
    """Last, for it counts what the tests before it have asked."""
    if asked.tests != {(layout, name) for layout in LAYOUTS for name in (*TYPES, *REAL)}:
        pytest.skip("only a part of this file was run")
    assert len(asked.filters) >= ENOUGH
    assert asked.queries >= 3 * ENOUGH
    pairs = {
        (layout, operator, name)
        for layout in LAYOUTS
        for name in TYPES
        for operator in operators_of(FieldType(name.removeprefix("list of ")))
    }
    assert not pairs - set(asked.conditions)
