"""Asks drawn queries with a sort, page by page, and compares the rows with those that plain Python sorts."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from drawn_filters import filters
from hypothesis import given, note, seed, settings
from hypothesis import strategies as st
from oracle_questions import StoredSource
from query_strategies import QUERY_PROFILE
from stats_oracle import order_of

from watchfloor.query.preparation.request import QueryRequest
from watchfloor.query.service import QueryService
from watchfloor.schema.choices import SCHEMES
from watchfloor.schema.field import Field
from watchfloor.schema.filter.json_form import to_json
from watchfloor.schema.filter.tree import Filter
from watchfloor.schema.source import Source
from watchfloor.schema.stats.print import format_orders
from watchfloor.schema.stats.tree import Order
from watchfloor.store.store import Store

MOST_PAGES = 6


def draw_orders(source: Source) -> st.SearchStrategy[tuple[Order, ...]]:
    """Returns orders of one to three fields that are no lists."""
    names = [field.name for field in source.fields if not field.is_list]
    order = st.builds(Order, st.sampled_from(names), st.booleans())
    return st.lists(order, min_size=1, max_size=3, unique_by=lambda one: one.column).map(tuple)


def sort_events(
    source: Source, events: Sequence[dict[str, Any]], orders: Sequence[Order], rank: Sequence[int]
) -> list[int]:
    """Returns the numbers of events in an order; ``rank`` is the place of each event in the order newest first."""
    numbers = sorted(range(len(events)), key=lambda number: rank[number])
    for order in reversed(orders):
        numbers = _sort_by(source.find_field(order.column), order.descending, events, numbers)
    return numbers


def _sort_by(field: Field, descending: bool, events: Sequence[dict[str, Any]], numbers: list[int]) -> list[int]:
    key = order_of(field)
    filled = [number for number in numbers if events[number].get(field.name) is not None]
    empty = [number for number in numbers if events[number].get(field.name) is None]
    return sorted(filled, key=lambda number: key(events[number][field.name]), reverse=descending) + empty


def read_numbers(service: QueryService, request: QueryRequest) -> tuple[list[int], dict[str, Any]]:
    """Returns the numbers of a query's events, in its order, and its summary."""
    result = service.run(replace(request, columns=("number",)))
    return [row["number"] for batch in result for row in batch.to_pylist()], result.summary


def check_sorts_of(known: StoredSource, pools: dict[str, list[Any]], queries: int, store: Store) -> None:
    """Draws so many filters, orders, time ranges and pages of a source; all pages equal what plain Python sorts."""
    source, service = known.loaded.source, QueryService(store)
    layout, _, kind = source.name.partition(".")
    events = known.loaded.events
    newest_first, _ = read_numbers(service, QueryRequest(source.name))
    rank = np.argsort(newest_first).tolist()
    moments = st.integers(int(known.times[-1]) - 1, int(known.times[0]) + 2) | st.sampled_from(known.times.tolist())
    spans = st.none() | st.tuples(moments, moments).filter(lambda two: two[0] != two[1]).map(sorted)

    @given(
        orders=draw_orders(source),
        tree=st.none() | filters(source, pools),
        span=spans,
        scheme=st.sampled_from(SCHEMES),
        limits=st.lists(st.integers(1, 12) | st.integers(13, 10_000), min_size=1, max_size=4),
        as_text=st.booleans(),
    )
    @settings(QUERY_PROFILE, max_examples=queries)
    def ask(
        orders: tuple[Order, ...],
        tree: Filter | None,
        span: list[int] | None,
        scheme: str,
        limits: list[int],
        as_text: bool,
    ) -> None:
        wanted = np.ones(len(events), bool) if tree is None else known.rows.holding(tree)
        since, until = span or (None, None)
        if span is not None:
            wanted = wanted & (known.times >= since) & (known.times < until)
        expected = [number for number in sort_events(source, events, orders, rank) if wanted[number]]
        listed = [f"{'-' if order.descending else ''}{order.column}" for order in orders]
        request = QueryRequest(
            source.name,
            since,
            until,
            None if tree is None else to_json(tree),
            scheme=scheme,
            sort=format_orders(orders) if as_text else listed,
        )
        check_pages(service, request, limits, expected)

    # Where the same examples come again in every run, they are not the same ones in each test.
    (seed(zlib.crc32(f"sort {layout} {kind}".encode()))(ask) if settings.default.derandomize else ask)()


def check_pages(service: QueryService, request: QueryRequest, limits: Sequence[int], expected: Sequence[int]) -> None:
    """Reads pages of some sizes one after the other and compares each with its part of ``expected``."""
    at, cursor = 0, None
    for page in range(MOST_PAGES):
        limit = limits[page % len(limits)]
        found, summary = read_numbers(service, replace(request, limit=limit, cursor=cursor))
        note(f"{summary}")
        assert found == expected[at : at + limit], f"page {page}, after {at} rows"
        at += limit
        if at > len(expected):
            assert summary["status"] == "complete" and "cursor" not in summary
            return
        assert summary["status"] == "limit" and summary["rows"] == limit
        cursor = summary["cursor"]
