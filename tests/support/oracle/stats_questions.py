"""Asks drawn aggregations in several ways and compares the groups with those that plain Python finds."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
from drawn_filters import filters
from hypothesis import given, note, seed, settings
from hypothesis import strategies as st
from oracle_questions import StoredSource
from query_strategies import QUERY_PROFILE
from stats_oracle import GroupKey, RoundedSum, aggregate_events, differ, draw_stats, group_rows

from watchfloor.query.service import QueryService
from watchfloor.query.stats.request import StatsQuery
from watchfloor.query.stats.sketches import EXACT_VALUES
from watchfloor.schema.errors import UserError
from watchfloor.schema.filter.json_form import to_json
from watchfloor.schema.filter.tree import Filter
from watchfloor.schema.stats import json_form
from watchfloor.schema.stats.print import to_text
from watchfloor.schema.stats.tree import Stats
from watchfloor.store.store import Store

SCHEMES = ("auto", "scan", "index")


def check_stats_of(known: StoredSource, pools: dict[str, list[Any]], pipes: int, store: Store) -> None:
    """Draws so many pipes, filters and time ranges of a source; each answer equals that of plain Python."""
    source, service = known.loaded.source, QueryService(store)
    layout, _, kind = source.name.partition(".")
    trees = filters(source, pools)
    moments = st.integers(int(known.times[-1]) - 1, int(known.times[0]) + 2) | st.sampled_from(known.times.tolist())
    spans = st.none() | st.tuples(moments, moments).filter(lambda two: two[0] != two[1]).map(sorted)

    @given(
        stats=draw_stats(source, filters(source, pools, max_leaves=2)),
        tree=st.none() | trees,
        span=spans,
        scheme=st.sampled_from(SCHEMES),
        as_text=st.booleans(),
    )
    @settings(QUERY_PROFILE, max_examples=pipes)
    def ask(stats: Stats, tree: Filter | None, span: list[int] | None, scheme: str, as_text: bool) -> None:
        check_answer(known, service, stats, tree, (span, scheme, as_text))

    # Where the same examples come again in every run, they are not the same ones in each test.
    (seed(zlib.crc32(f"{layout} {kind} {pipes}".encode()))(ask) if settings.default.derandomize else ask)()


def check_refusal(stats: Stats, wanted: dict[GroupKey, list[Any]], error: str) -> None:
    """Fails unless some group is as an error says: with a sum of over 64 bits, or with too many values for a list."""
    kind = "sum" if "does not fit into 64 bits" in error else "values"
    assert kind == "sum" or "a group has more values than a list holds" in error, error
    columns = [i for i, aggregate in enumerate(stats.aggregates) if aggregate.function == kind]
    found = [row[i] for row in wanted.values() for i in columns]
    if kind == "sum":
        assert any(not -(2**63) <= (total or 0) < 2**63 for total in found if not isinstance(total, RoundedSum))
    else:
        assert any(len(values) > EXACT_VALUES for values in found)


def check_answer(
    known: StoredSource,
    service: QueryService,
    stats: Stats,
    tree: Filter | None,
    how: tuple[list[int] | None, str, bool],
) -> None:
    """Asks one aggregation and compares its groups with those of plain Python."""
    span, scheme, as_text = how
    since, until = span or (None, None)
    wanted_events = np.ones(len(known.times), bool) if tree is None else known.rows.holding(tree)
    if span is not None:
        wanted_events = wanted_events & (known.times >= since) & (known.times < until)
    events = [known.loaded.events[number] for number in np.flatnonzero(wanted_events)]
    wanted = aggregate_events(stats, known.loaded.source, events)
    pipe = to_text(stats) if as_text else json_form.to_json(stats)
    where = None if tree is None else to_json(tree)
    result = service.run_stats(StatsQuery(known.loaded.source.name, pipe, where, since, until, scheme))
    parts = []
    try:
        for part in result:
            parts.append(part)
        rows = parts[-1].rows.to_pylist()
    except UserError as error:
        check_refusal(stats, wanted, str(error))
        return
    note(result.summary["text"])
    assert result.summary["status"] == "complete" and [part.complete for part in parts].count(True) == 1
    assert parts[-1].complete and result.summary["events"] == len(events)
    found = group_rows(rows, stats)
    missing, surplus = wanted.keys() - found.keys(), found.keys() - wanted.keys()
    assert not missing and not surplus, f"{stats}: {len(missing)} missing: {missing}; {len(surplus)} surplus: {surplus}"
    for group, values in wanted.items():
        for aggregate, mine, theirs in zip(stats.aggregates, values, found[group], strict=True):
            assert not differ(theirs, mine), f"{aggregate} of {group} is {theirs}, not {mine}"
