"""The JSON form of stats reads into the expected tree; mistakes show their place in it.

In `make test`: it needs no servers.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from schema_strategies import JSON

from watchfloor.schema.errors import FilterError
from watchfloor.schema.filter.syntax.limits import MAX_TERMS
from watchfloor.schema.stats.json_form import from_json, to_json
from watchfloor.schema.stats.names import FUNCTIONS, MAX_AGGREGATES, MAX_STAGES
from watchfloor.schema.stats.parse import parse_stats

WHERE = {"field": "status", "op": ">=", "value": "500"}
COUNT = {"function": "count"}


def test_the_form_and_the_text_mean_the_same() -> None:
    form = {
        "aggregates": [
            {"function": "sum", "field": "bytes_out", "as": "sum_bytes_out"},
            {"function": "count", "where": WHERE, "as": "bad"},
            {"function": "quantile", "field": "ms", "share": 0.95},
            COUNT,
            {"function": "count", "field": "user"},
        ],
        "by": [
            {"field": "domain"},
            {"bucket": "1h"},
            {"prefix": "src_ip", "bits": 24, "bits6": 64},
            {"prefix": "dst_ip", "bits": 8, "as": "net"},
        ],
        "stages": [{"sort": ["-count", "domain"]}, {"having": WHERE}, {"limit": 20}],
    }
    text = (
        "sum(bytes_out), count_if(status >= 500) as bad, p95(ms), count(), count(user) "
        "by domain, bucket(1h), prefix(src_ip, 24), prefix(dst_ip, 8) as net "
        "| sort -count, domain | having status >= 500 | limit 20"
    )
    assert from_json(form) == parse_stats(text)
    written = to_json(parse_stats(text))
    assert written["by"] == [*form["by"][:3], {**form["by"][3], "bits6": 64}] and written["stages"] == form["stages"]
    assert written["aggregates"][:2] == form["aggregates"][:2]
    assert to_json(parse_stats("count()")) == {"aggregates": [{"function": "count", "as": "count"}]}


def with_aggregate(**form: Any) -> dict[str, Any]:
    return {"aggregates": [form]}


def with_key(**form: Any) -> dict[str, Any]:
    return {"aggregates": [COUNT], "by": [form]}


def with_stage(**form: Any) -> dict[str, Any]:
    return {"aggregates": [COUNT], "stages": [form]}


ERRORS: list[tuple[Any, str]] = [
    ([], "stats: an object was expected, found a list"),
    (None, "stats: an object was expected, found nothing"),
    ({}, "stats.aggregates: a list of one or more aggregates was expected"),
    ({"aggregates": {}}, "stats.aggregates: a list was expected, found an object"),
    ({"aggregates": [COUNT], "limit": 5}, "stats: 'limit' does not belong beside aggregates, by, stages"),
    ({"aggregates": [COUNT] * (MAX_AGGREGATES + 1)}, "stats.aggregates: at most 64 fit, found 65"),
    ({"aggregates": [COUNT, COUNT]}, "stats.aggregates[1]: two columns are named 'count'"),
    ({"aggregates": [COUNT], "by": [{"field": "count"}]}, "stats.by[0]: two columns are named 'count'"),
    ({"aggregates": [5]}, "stats.aggregates[0]: an object was expected, found a number"),
    (with_aggregate(), f"stats.aggregates[0].function: one of {' '.join(FUNCTIONS)} was expected, found nothing"),
    (with_aggregate(function="p95", field="a"), "was expected, found 'p95'"),
    (with_aggregate(function=["count"]), "was expected, found a list"),
    (with_aggregate(function="sum"), "stats.aggregates[0].field: a name was expected, found nothing"),
    (with_aggregate(function="sum", field=""), "stats.aggregates[0].field: a name was expected, found an empty string"),
    (with_aggregate(function="sum", field="a", where=WHERE), "'where' does not belong beside as, field, function"),
    (with_aggregate(function="count", field="a", where=WHERE), "'field' does not belong beside as, function, where"),
    (with_aggregate(function="count", where={"field": 5}), "stats.aggregates[0].where: and, or, not, or the name"),
    (with_aggregate(function="sum", field="a", share=0.5), "'share' does not belong"),
    (with_aggregate(function="quantile", field="a"), "stats.aggregates[0].share: a number was expected, found nothing"),
    (with_aggregate(function="quantile", field="a", share=True), "share: a number was expected, found a truth value"),
    (with_aggregate(function="quantile", field="a", share=95), "share: a quantile's share is between 0 and 1"),
    (with_aggregate(function="quantile", field="a", share=float("nan")), "share: nan"),
    (with_aggregate(function="quantile", field="a", share=10**5000), "share: a number of so many digits"),
    (with_aggregate(function="count", **{"as": 5}), "stats.aggregates[0].as: a name was expected, found a number"),
    (with_aggregate(function="count", **{"as": "-a"}), "stats.aggregates[0]: '-a' is no name of a column"),
    (with_aggregate(function="count", **{"as": "\ud800"}), "is no name of a column"),
    (with_key(), "stats.by[0]: field, bucket or prefix was expected"),
    (with_key(field="a", bucket="1h"), "stats.by[0]: 'bucket' does not belong beside as, field"),
    (with_key(bucket=3600), "stats.by[0].bucket: a name was expected, found a number"),
    (with_key(bucket="1"), "stats.by[0].bucket: '1' is no duration"),
    (with_key(bucket="1ms"), "stats.by[0].bucket: a bucket is at least 1s"),
    (with_key(prefix="a"), "stats.by[0].bits: a number was expected, found nothing"),
    (with_key(prefix="a", bits=33), "stats.by[0].bits: 33 is outside 0 to 32"),
    (with_key(prefix="a", bits=True), "stats.by[0].bits: a number was expected, found a truth value"),
    (with_key(prefix="a", bits=8, bits6=None), "stats.by[0].bits6: a number was expected, found nothing"),
    (with_key(prefix="a", bits=8, bits6=-1), "stats.by[0].bits6: -1 is outside 0 to 128"),
    ({"aggregates": [COUNT], "by": [{"field": f"f{n}"} for n in range(5)]}, "stats.by: at most 4 fit, found 5"),
    (with_stage(), "stats.stages[0]: sort, having or limit was expected"),
    (with_stage(sort=["a"], limit=5), "stats.stages[0]: 'limit' does not belong beside sort"),
    (with_stage(sort=[]), "stats.stages[0].sort: a list of one or more columns was expected"),
    (with_stage(sort="a"), "stats.stages[0].sort: a list of one or more columns was expected"),
    (with_stage(sort=["a", 5]), "stats.stages[0].sort[1]: a column was expected, found a number"),
    (with_stage(sort=["-"]), "stats.stages[0].sort[0]: a column was expected, found an empty string"),
    (with_stage(limit="5"), "stats.stages[0].limit: a number was expected, found a string"),
    (with_stage(limit=0), "stats.stages[0].limit: 0 is outside 1 to 1,000,000"),
    (with_stage(limit=1.5), "stats.stages[0].limit: a number was expected"),
    (with_stage(having=[]), "stats.stages[0].having: an object was expected, found a list"),
    (with_stage(having={"and": [WHERE, {"field": "a", "op": "=="}]}), "stats.stages[0].having.and[1].op: one of"),
    ({"aggregates": [COUNT], "stages": [{"limit": 1}] * (MAX_STAGES + 1)}, "stats.stages: at most 16 fit, found 17"),
]  # fmt: skip


@pytest.mark.parametrize(("form", "message"), ERRORS)
def test_mistakes_show_their_place(form: Any, message: str) -> None:
    with pytest.raises(FilterError) as caught:
        from_json(form)
    assert message in caught.value.message
    assert len(caught.value.message) < 500


def test_terms_of_all_filters_are_bounded_together() -> None:
    half = {"field": "a", "op": "in", "values": ["1"] * (MAX_TERMS // 2)}
    form = {"aggregates": [{"function": "count", "where": half}], "stages": [{"having": half}]}
    assert from_json(form)
    with pytest.raises(FilterError, match="4,097 terms"):
        from_json({**form, "stages": [*form["stages"], {"having": {"field": "a", "op": "exists"}}]})


NAMES = "aggregates by stages function field as where share bucket prefix bits sort limit"
MEMBERS = st.sampled_from(NAMES.split())
FORMS = st.recursive(
    JSON | st.sampled_from(["count", "quantile", "1h", "a"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(MEMBERS, inner, max_size=3),
)


@given(
    FORMS | st.fixed_dictionaries({"aggregates": st.lists(FORMS, max_size=2)}, optional={"by": FORMS, "stages": FORMS})
)
@settings(max_examples=300, deadline=None)
def test_any_form_is_read_or_refused(form: Any) -> None:
    try:
        tree = from_json(form)
    except FilterError:
        return
    assert from_json(to_json(tree)) == tree
