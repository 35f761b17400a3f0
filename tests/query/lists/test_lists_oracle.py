"""Filters with named lists, and with queries within them, give the events that plain Python finds, in every scheme.

In `make test`: a few hundred events in both layouts.
"""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import ip_address, ip_network
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from drawn_filters import leaves, shapes, values_of
from hypothesis import given, settings
from hypothesis import strategies as st
from ingest_support import RUN
from list_questions import DrawnList, spell_out
from loaded import LAYOUTS
from mixed_events import SCALARS
from oracle_questions import QUERY_PROFILE, StoredSource

from watchfloor.query.preparation.request import QueryRequest
from watchfloor.query.service import QueryService
from watchfloor.query.stats.request import StatsQuery
from watchfloor.schema.choices import SCHEMES
from watchfloor.schema.field import FieldType
from watchfloor.schema.filter.json_form import to_json
from watchfloor.schema.filter.tree import Filter, InList, InQuery
from watchfloor.schema.settings.settings import Settings
from watchfloor.store.put_list import put_list
from watchfloor.store.store import Store

pytestmark = [pytest.mark.stack, pytest.mark.timeout(600)]
LISTS = ("drawn_a", "drawn_b")
NETWORKS = [ip_network(text) for text in ("10.0.0.0/16", "10.0.0.0/30", "::/64", "2001:db8::/32", "192.168.1.0/24")]


@pytest.fixture(scope="module")
def writer(store_settings: Settings) -> Iterator[Store]:
    with Store.open(store_settings) as store:
        yield store


def drawn_lists(scalar: FieldType, pool: list[Any]) -> st.SearchStrategy[DrawnList]:
    values = st.lists(values_of(scalar, pool), min_size=1, max_size=12, unique=True)
    networks = st.lists(st.sampled_from(NETWORKS), max_size=3, unique=True) if scalar is FieldType.IP else st.just([])
    return st.builds(DrawnList, st.just(scalar), values, networks)


def ask(service: QueryService, known: StoredSource, tree: Filter, wanted: np.ndarray) -> None:
    """Asks a filter in each scheme, and for its count."""
    for scheme in SCHEMES:
        result = service.run(
            QueryRequest(known.loaded.source.name, where=to_json(tree), columns=("number",), scheme=scheme)
        )
        table = pa.Table.from_batches(result, result.schema)
        assert result.plan is not None
        assert sorted(table.column("number").to_pylist()) == np.flatnonzero(wanted).tolist(), result.plan.to_text()
    counted = service.aggregate(StatsQuery(known.loaded.source.name, "count()", where=to_json(tree)))
    assert counted.column(0).to_pylist() == [int(wanted.sum())]


@pytest.mark.parametrize("scalar", SCALARS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_lists_of_every_type(
    layout: str,
    scalar: str,
    stored: dict[str, dict[str, StoredSource]],
    pools: dict[str, dict[str, list[Any]]],
    writer: Store,
    query_store: Store,
) -> None:
    known, service = stored[layout]["mixed"], QueryService(query_store)
    source, events = known.loaded.source, known.loaded.events
    fields = [f for f in source.fields if f.scalar.value == scalar and f.name not in ("ts", "number")]
    pool = pools["mixed"][fields[0].name]
    names = [f"{name}{RUN}" for name in LISTS]
    listed = st.builds(InList, st.sampled_from([f.name for f in fields]), st.sampled_from(names))
    others = st.one_of([leaves(f, pools["mixed"][f.name]) for f in source.fields]) | listed

    @given(st.data())
    @settings(QUERY_PROFILE, max_examples=2)
    def check(data: st.DataObject) -> None:
        lists = {name: data.draw(drawn_lists(FieldType(scalar), pool), label=name) for name in names}
        for name, drawn in lists.items():
            put_list(writer, name, drawn.to_values())
        for tree in data.draw(st.lists(shapes(listed, others), min_size=3, max_size=3), label="filters"):
            ask(service, known, tree, known.rows.holding(spell_out(tree, lists, events, source)))

    check()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_queries_within_filters(
    layout: str,
    stored: dict[str, dict[str, StoredSource]],
    pools: dict[str, dict[str, list[Any]]],
    query_store: Store,
) -> None:
    known, service = stored[layout]["mixed"], QueryService(query_store)
    source, events = known.loaded.source, known.loaded.events
    fields = [f for f in source.fields if f.name != "number"]
    conditions = st.one_of([leaves(f, pools["mixed"][f.name]) for f in fields])
    pairs = [(a.name, b.name) for a in fields for b in fields if a.scalar is b.scalar]
    within = st.builds(
        lambda pair, where: InQuery(pair[0], source.name, where, pair[1]),
        st.sampled_from(pairs),
        st.none() | shapes(conditions, conditions),
    )

    @given(shapes(within, conditions))
    @settings(QUERY_PROFILE, max_examples=6)
    def check(tree: Filter) -> None:
        ask(service, known, tree, known.rows.holding(spell_out(tree, {}, events, source)))

    check()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_queries_within_filters_find_all_values_of_a_field(
    layout: str, stored: dict[str, dict[str, StoredSource]], query_store: Store
) -> None:
    """Without a filter, where counts could answer; some of the values are longer than an index row has them."""
    known, service = stored[layout]["mixed"], QueryService(query_store)
    source, events = known.loaded.source, known.loaded.events
    for name in ("string_indexed", "int_indexed", "ip_indexed"):
        tree = InQuery(name, source.name, None, name)
        ask(service, known, tree, known.rows.holding(spell_out(tree, {}, events, source)))


def test_long_values_are_found_though_the_index_cuts_them(
    layout: str, stored: dict[str, dict[str, StoredSource]], writer: Store, query_store: Store
) -> None:
    known, name = stored[layout]["mixed"], f"long{RUN}"
    drawn = DrawnList(FieldType.STRING, ["x" * 1_500 + "1", "x" * 1_024, "x" * 1_500, "größe", "\uffff"])
    put_list(writer, name, drawn.to_values())
    for field in ("string_indexed", "strings_indexed"):
        tree = InList(field, name)
        wanted = known.rows.holding(spell_out(tree, {name: drawn}, (), known.loaded.source))
        assert wanted.any()
        ask(QueryService(query_store), known, tree, wanted)


def test_addresses_in_overlapping_networks(
    layout: str, stored: dict[str, dict[str, StoredSource]], writer: Store, query_store: Store
) -> None:
    known, name = stored[layout]["mixed"], f"nets{RUN}"
    drawn = DrawnList(FieldType.IP, [ip_address("10.1.0.0"), ip_address("::1")], NETWORKS)
    put_list(writer, name, drawn.to_values())
    tree = InList("ip_indexed", name)
    ask(
        QueryService(query_store),
        known,
        tree,
        known.rows.holding(spell_out(tree, {name: drawn}, (), known.loaded.source)),
    )
