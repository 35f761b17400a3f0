"""A source, and drawn stats, that tests of the language of stats share."""

from __future__ import annotations

from typing import Any

from drawn_filters import leaves, trees
from hypothesis import strategies as st

from watchfloor.schema.definition import parse_definition
from watchfloor.schema.field import Field, FieldType
from watchfloor.schema.filter.tree import Filter
from watchfloor.schema.source import Source
from watchfloor.schema.stats.tree import (
    Aggregate,
    BucketKey,
    FieldKey,
    Having,
    Key,
    Limit,
    Order,
    PrefixKey,
    Sort,
    Stage,
    Stats,
)
from watchfloor.schema.stats.type_check import TAKEN_TYPES, list_columns

NOW = 1_456_833_600_000_000  # 2016-03-01T12:00:00Z
FIELDS: dict[str, tuple[str, str]] = {
    "ts": ("time", ""),
    "src_ip": ("ip", "source.ip"),
    "dst_ip": ("ip", "destination.ip"),
    "answers": ("list of ip", "dns.resolved_ip"),
    "port": ("port", "source.port"),
    "domain": ("string", "url.domain"),
    "user": ("string", "user.name"),
    "tags": ("list of string", ""),
    "sizes": ("list of int", ""),
    "bytes_out": ("int", "source.bytes"),
    "bytes": ("int", "http.response.bytes"),
    "duration_ms": ("float", ""),
    "ok": ("bool", ""),
    "count": ("int", ""),
    "sum": ("string", ""),
    "in": ("int", ""),
}
"""Type and ECS name by field. Some fields have the names of functions and of keywords."""


def make_field(name: str, kind: str, ecs: str) -> dict[str, Any]:
    form = {"name": name, "type": "list" if kind.startswith("list") else kind} | ({"ecs": ecs} if ecs else {})
    return form | ({"items": kind.removeprefix("list of ")} if kind.startswith("list") else {})


SOURCE: Source = parse_definition(
    {
        "name": "lab.web",
        "parser": {"format": "json"},
        "timestamp": {"field": "ts"},
        "fields": [make_field(name, *rest) for name, rest in FIELDS.items()],
    }
)
COLUMN_NAMES = st.sampled_from(["n", "count", "sum_bytes", "in", "by", "odd name", "a-b", "größe", 'x"y\\', "p99.9_f"])
SHARES = st.sampled_from([0.5, 0.95, 0.99, 0.999, 0.05, 0.123456789]) | st.floats(
    0, 1, exclude_min=True, exclude_max=True
)
CONDITIONS: st.SearchStrategy[Filter] = trees(st.one_of([leaves(field, ()) for field in SOURCE.fields]), max_leaves=3)


def list_fitting(function: str) -> list[Field]:
    """The fields that a function takes."""
    taken = TAKEN_TYPES.get(function, tuple(FieldType))
    return [field for field in SOURCE.fields if field.scalar in taken]


@st.composite
def draw_aggregate(draw: st.DrawFn, name: str) -> Aggregate:
    function = draw(st.sampled_from(["count", "count_if", *FUNCTIONS_OF_FIELDS]))
    if function == "count_if":
        return Aggregate("count", name, where=draw(CONDITIONS))
    if function == "count" and draw(st.booleans()):
        return Aggregate("count", name)
    field = draw(st.sampled_from(list_fitting(function))).name
    return Aggregate(function, name, field, share=draw(SHARES) if function == "quantile" else None)


FUNCTIONS_OF_FIELDS = ("count", "sum", "min", "max", "avg", "distinct", "quantile", "first", "last", "values")


@st.composite
def draw_key(draw: st.DrawFn, name: str) -> Key:
    kind = draw(st.sampled_from(["field", "bucket", "prefix"]))
    if kind == "field":
        return FieldKey(name, draw(st.sampled_from(SOURCE.fields)).name)
    if kind == "bucket":
        return BucketKey(name, draw(st.integers(10**6, 10**12)))
    field = draw(st.sampled_from(list_fitting("prefix"))).name
    return PrefixKey(name, field, draw(st.integers(0, 32)), draw(st.just(64) | st.integers(0, 128)))


@st.composite
def draw_stage(draw: st.DrawFn, columns: tuple[Field, ...]) -> Stage:
    ordered = [column.name for column in columns if not column.is_list]
    kind = draw(st.sampled_from(["sort", "limit", "having"] if ordered else ["limit", "having"]))
    if kind == "limit":
        return Limit(draw(st.integers(1, 10**6)))
    if kind == "having":
        return Having(draw(trees(st.one_of([leaves(column, ()) for column in columns]), max_leaves=3)))
    orders = st.builds(Order, st.sampled_from(ordered), st.booleans())
    return Sort(draw(st.lists(orders, min_size=1, max_size=3).map(tuple)))


@st.composite
def draw_stats(draw: st.DrawFn) -> Stats:
    """Draws typed stats of ``SOURCE`` whose columns have any names."""
    names = draw(st.lists(COLUMN_NAMES, min_size=1, max_size=6, unique=True))
    keys = draw(st.integers(0, min(4, len(names) - 1)))
    stats = Stats(
        tuple(draw(draw_aggregate(name)) for name in names[keys:]),
        tuple(draw(draw_key(name)) for name in names[:keys]),
    )
    stages = draw(st.lists(draw_stage(list_columns(stats, SOURCE)), max_size=3))
    return Stats(stats.aggregates, stats.keys, tuple(stages))
