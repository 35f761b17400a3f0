"""Stats printed as text or as JSON read back as the same stats; typed stats come back equal.

In `make test`: it needs no servers.
"""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from stats_samples import NOW, SOURCE, draw_stats

from watchfloor.schema.filter.tree import And, Compare, Exists, Not
from watchfloor.schema.stats.json_form import from_json, to_json
from watchfloor.schema.stats.names import FUNCTIONS, format_percent, parse_percent
from watchfloor.schema.stats.parse import parse_stats
from watchfloor.schema.stats.print import to_text
from watchfloor.schema.stats.tree import (
    Aggregate,
    BucketKey,
    FieldKey,
    Having,
    Limit,
    Order,
    PrefixKey,
    Sort,
    Stats,
)
from watchfloor.schema.stats.type_check import list_columns, read_stats, type_stats
from watchfloor.schema.times import format_width, parse_duration


@given(draw_stats())
@settings(max_examples=150, deadline=None)
def test_typed_stats_come_back_from_text_and_json(stats: Stats) -> None:
    typed = type_stats(stats, SOURCE, NOW)
    assert typed.stats == stats and typed.meanings == {}
    assert typed.schema.names == [column.name for column in (*stats.keys, *stats.aggregates)]
    assert [column.arrow for column in list_columns(stats, SOURCE)] == typed.schema.types
    text = to_text(stats)
    assert "\n" not in text
    assert read_stats(text, SOURCE, NOW) == typed
    assert read_stats(json.loads(json.dumps(to_json(stats))), SOURCE, NOW) == typed


NAMES = st.text(st.characters(exclude_categories=("Cs", "Cc", "Cf", "Cn", "Co", "Z")), min_size=1, max_size=8).map(
    lambda name: f"x{name}"
)
ANY_FIELD = st.text(st.characters(exclude_categories=("Cs", "Cc", "Cf", "Cn", "Co", "Z")), min_size=1, max_size=8)
WHERE = st.sampled_from([Exists("a"), Compare("b", "=", "x | y"), And((Exists("a"), Not(Exists(") | limit 3"))))])
AGGREGATES = st.one_of(
    st.builds(Aggregate, st.sampled_from([name for name in FUNCTIONS if name != "quantile"]), NAMES, ANY_FIELD),
    st.builds(lambda name, where: Aggregate("count", name, where=where), NAMES, WHERE),
    st.builds(
        lambda name, field, share: Aggregate("quantile", name, field, share=share),
        NAMES,
        ANY_FIELD,
        st.floats(0, 1, exclude_min=True, exclude_max=True),
    ),
)
KEYS = st.one_of(
    st.builds(FieldKey, NAMES, ANY_FIELD),
    st.builds(BucketKey, NAMES, st.integers(10**6, 10**15)),
    st.builds(PrefixKey, NAMES, ANY_FIELD, st.integers(0, 32), st.integers(0, 128)),
)
STAGES = st.one_of(
    st.lists(st.builds(Order, NAMES, st.booleans()), min_size=1, max_size=3).map(tuple).map(Sort),
    st.builds(Limit, st.integers(1, 10**6)),
    st.builds(Having, WHERE),
)


@given(
    st.lists(AGGREGATES, min_size=1, max_size=5, unique_by=lambda part: part.name),
    st.lists(KEYS, max_size=4, unique_by=lambda part: part.name),
    st.lists(STAGES, max_size=5),
)
@settings(max_examples=150, deadline=None)
def test_every_tree_comes_back_from_text_and_json(aggregates: list, keys: list, stages: list) -> None:
    taken = {aggregate.name for aggregate in aggregates}
    stats = Stats(tuple(aggregates), tuple(key for key in keys if key.name not in taken), tuple(stages))
    assert parse_stats(to_text(stats)) == stats
    assert from_json(json.loads(json.dumps(to_json(stats)))) == stats


@given(st.floats(0, 1, exclude_min=True, exclude_max=True) | st.integers(1, 999).map(lambda n: n / 1000))
def test_percents_are_exact(share: float) -> None:
    text = format_percent(share)
    assert len(text) > 15 or parse_percent(f"p{text}") == share


@given(st.integers(0, 10**17))
def test_widths_are_exact(micros: int) -> None:
    assert parse_duration(format_width(micros)) == micros


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("COUNT ( ) BY domain", "count() by domain"),
        ("count(), p95(x), quantile(x, 0.999)", "count(), p95(x), p99.9(x)"),
        ("median(x)", "p50(x) as median_x"),
        ("quantile(x, 0.123456789)", "quantile(x, 0.123456789)"),
        ("sum(x) as sum_x by bucket(60m) as bucket", "sum(x) by bucket(1h)"),
        ("count() by prefix(a, 24, 64), prefix(b, 8, 48)", "count() by prefix(a, 24), prefix(b, 8, 48)"),
        ("count(`in`) as `in` | sort -in", "count(`in`) as `in` | sort -`in`"),
        ("top 3 user", "count() by user | sort -count | limit 3"),
    ],
)
def test_text_is_printed_short(text: str, printed: str) -> None:
    assert to_text(parse_stats(text)) == printed
