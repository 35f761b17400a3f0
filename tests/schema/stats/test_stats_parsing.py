"""Text of stats parses into the expected tree; mistakes show their place, what was expected, and the remedy.

In `make test`: it needs no servers.
"""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from watchfloor.schema.errors import FilterError
from watchfloor.schema.filter.syntax.limits import MAX_TERMS
from watchfloor.schema.filter.tree import And, Compare, Exists, Matches, Not, Or
from watchfloor.schema.stats.json_form import from_json, to_json
from watchfloor.schema.stats.names import FUNCTIONS, MAX_AGGREGATES, MAX_LENGTH, MAX_NAME, MAX_STAGES
from watchfloor.schema.stats.parse import parse_stats
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

COUNT = Aggregate("count", "count")
HOUR = 3_600_000_000


def quantile(name: str, field: str, share: float) -> Aggregate:
    return Aggregate("quantile", name, field, share=share)


AGGREGATES: list[tuple[str, Aggregate]] = [
    ("count()", COUNT),
    ("COUNT ( )", COUNT),
    ("count() as n", Aggregate("count", "n")),
    ("count(user)", Aggregate("count", "count_user", "user")),
    *((f"{name}(a.b)", Aggregate(name, f"{name}_a.b", "a.b")) for name in FUNCTIONS if name != "quantile"),
    ("Sum(`in`) AS `in`", Aggregate("sum", "in", "in")),
    ("sum('odd name') as in", Aggregate("sum", "in", "odd name")),
    ("sum(count)", Aggregate("sum", "sum_count", "count")),
    ("count(sum) as as", Aggregate("count", "as", "sum")),
    ("quantile(ms, 0.95)", quantile("p95_ms", "ms", 0.95)),
    ("quantile(ms,5e-1)", quantile("p50_ms", "ms", 0.5)),
    ("p50(ms)", quantile("p50_ms", "ms", 0.5)),
    ("P99(ms)", quantile("p99_ms", "ms", 0.99)),
    ("p99.9(ms)", quantile("p99.9_ms", "ms", 0.999)),
    ("p05(ms)", quantile("p5_ms", "ms", 0.05)),
    ("median(ms)", quantile("median_ms", "ms", 0.5)),
    ("count_if(status = 500)", Aggregate("count", "count_if", where=Compare("status", "=", "500"))),
    (
        r"Count_If(a = '|)' and (b ~ /x|\)/ or not exists c)) as bad",
        Aggregate("count", "bad", where=And((Compare("a", "=", "|)"), Or((Matches("b", r"x|\)"), Not(Exists("c"))))))),
    ),
]  # fmt: skip


@pytest.mark.parametrize(("text", "aggregate"), AGGREGATES)
def test_aggregates(text: str, aggregate: Aggregate) -> None:
    assert parse_stats(text) == Stats((aggregate,))


def test_several_aggregates() -> None:
    tree = parse_stats("count(),sum(a) as b # of bytes\n, p95(a)")
    assert [aggregate.name for aggregate in tree.aggregates] == ["count", "b", "p95_a"]


KEYS: list[tuple[str, Key]] = [
    ("domain", FieldKey("domain", "domain")),
    ("source.ip as ip", FieldKey("ip", "source.ip")),
    ("'odd name'", FieldKey("odd name", "odd name")),
    *((name, FieldKey(name, name)) for name in ("bucket", "prefix", "sum", "by", "as", "top", "sort", "limit")),
    ("bucket as prefix", FieldKey("prefix", "bucket")),
    ("bucket(1h)", BucketKey("bucket", HOUR)),
    ("BUCKET ( 1d12h ) as t", BucketKey("t", 36 * HOUR)),
    ("bucket(30s)", BucketKey("bucket", 30_000_000)),
    ("prefix(src, 24)", PrefixKey("prefix_src", "src", 24, 64)),
    ("prefix(src, 0, 128) as net", PrefixKey("net", "src", 0, 128)),
]


@pytest.mark.parametrize(("text", "key"), KEYS)
def test_keys(text: str, key: Key) -> None:
    assert parse_stats(f"count() by {text}") == Stats((COUNT,), (key,))
    assert parse_stats(f"count() BY other,{text}").keys == (FieldKey("other", "other"), key)


STAGES: list[tuple[str, Stage]] = [
    ("sort count", Sort((Order("count", False),))),
    ("SORT -count, user,- sum", Sort((Order("count", True), Order("user", False), Order("sum", True)))),
    ("sort -'odd name', -in", Sort((Order("odd name", True), Order("in", True)))),
    ("sort -count()", Sort((Order("count", True),))),
    ("sort -sum(a), p50(b)", Sort((Order("total", True), Order("median_b", False)))),
    ("sort count_if(exists c)", Sort((Order("count_if", False),))),
    ("limit 20", Limit(20)),
    ("Limit 1000000", Limit(1_000_000)),
    ("having count > 5 and not total = 1", Having(And((Compare("count", ">", "5"), Not(Compare("total", "=", "1")))))),
    ("HAVING exists count", Having(Exists("count"))),
]  # fmt: skip


@pytest.mark.parametrize(("text", "stage"), STAGES)
def test_stages(text: str, stage: Stage) -> None:
    head = "count(), sum(a) as total, median(b), count_if(exists c)"
    assert parse_stats(f"{head} | {text}").stages == (stage,)
    assert parse_stats(f"{head} by user|limit 3|{text} | limit 4").stages == (Limit(3), stage, Limit(4))


@pytest.mark.parametrize(
    ("short", "whole"),
    [
        ("top 10 user", "count() by user | sort -count | limit 10"),
        ("TOP 3 prefix(src, 24) as net, user", "count() by prefix(src, 24) as net, user | sort -count | limit 3"),
        ("rare 10 user", "count() by user | sort count | limit 10"),
        ("rare 1 top | having count > 1", "count() by top | sort count | limit 1 | having count > 1"),
        ("timeline 1h", "count() by bucket(1h) | sort bucket"),
        ("timeline 5m | limit 3", "count() by bucket(5m) | sort bucket | limit 3"),
    ],
)
def test_short_forms_stand_for_whole_pipes(short: str, whole: str) -> None:
    assert parse_stats(short) == parse_stats(whole)


FIELD_OR_KEY = "expected bucket(DURATION), prefix(FIELD, BITS) or a field"
ERRORS: list[tuple[str, int, str]] = [
    ("", 0, "the stats are empty; a function was expected, such as count()"),
    (" \n", 2, "the stats are empty"),
    ("5", 0, "expected a function such as count(), top, rare or timeline, found '5'"),
    ("count", 0, "found 'count'; a function has parentheses, as in count()"),
    ("sum bytes", 0, "a function's field goes in parentheses, as in sum(bytes)"),
    ("count(*)", 6, "expected a field or a closing parenthesis, found '*'; events are counted with count()"),
    ("sum(", 4, "expected a field or a closing parenthesis, found the end"),
    ("sum()", 0, "sum takes a field, as in sum(bytes)"),
    ("count(), summ(x)", 9, "unknown function 'summ'; did you mean sum?"),
    ("percentile(x)", 0, "unknown function 'percentile'"),
    ("p0(x)", 0, "unknown function 'p0'"),
    ("p100(x)", 0, "unknown function 'p100'"),
    ("sum(a, 3)", 7, "sum takes one field only"),
    ("p95(a, 0.5)", 7, "p95 takes one field only"),
    ("quantile(a)", 0, "quantile takes a field and a share; a quantile is written quantile(bytes, 0.95)"),
    ("quantile(a, 1)", 12, "a quantile's share is between 0 and 1, such as 0.95; 1.0 is not"),
    ("quantile(a, 1x)", 12, "'1x' is not a number"),
    ("count_if()", 9, "expected a field, exists, not or an opening parenthesis, found ')'"),
    ("count_if(a == 1)", 12, "equality is written ="),
    ("count_if(a in 1)", 14, "'1' is no network"),
    ("count() count()", 8, "expected as, by, a comma, | or the end, found 'count'"),
    ("count() group by a", 8, "found 'group'; keys are written by FIELD"),
    ("count() as", 10, "expected a column, found the end"),
    ("count() as '-x'", 11, "'-x' is no name of a column"),
    (r"count() as 'a\n'", 11, "is no name of a column"),
    ("count() as ''", 11, "a column's name has 1 to 250 characters, not 0"),
    (f"count() as {'n' * (MAX_NAME + 1)}", 11, "not 251"),
    (f"sum({'f' * MAX_NAME})", 0, "a column's name has 1 to 250 characters, not 254; give another one with as"),
    ("count(), count()", 9, "two columns are named 'count'; give this one another name with as"),
    ("count(), sum(a) as count", 19, "two columns are named 'count'"),
    ("count() by a, count", 14, "two columns are named 'count'"),
    ("count() by prefix(a, 8), prefix(a, 9)", 25, "two columns are named 'prefix_a'"),
    ("top 10 count", 7, "two columns are named 'count'"),
    ("count() by", 10, f"{FIELD_OR_KEY}, found the end"),
    ("count() by a b", 13, "expected as, a comma, | or the end, found 'b'"),
    ("count() by a,b,c,d,e", 19, "the stats have 5 keys; at most 4 fit"),
    ("count() by bucket(1)", 18, "'1' is no duration; write it as 1h"),
    ("count() by bucket(10ms)", 18, "a bucket is at least 1s and at most 36500d wide; 10ms is not"),
    ("count() by bucket(99999w)", 18, "99999w is not"),
    ("count() by bucket()", 18, "expected a duration such as 1h, found ')'"),
    ("count() by prefix(a)", 19, "expected a comma, found ')'"),
    ("count() by prefix(a, 33)", 21, "33 is outside 0 to 32"),
    ("count() by prefix(a, 8, 129)", 24, "129 is outside 0 to 128"),
    ("count() by prefix(a, x)", 21, "expected a number, found 'x'"),
    ("count() |", 9, "expected sort, having or limit, found the end"),
    ("count() | srot a", 10, "expected sort, having or limit, found 'srot'"),
    ("count() | where a = 1", 10, "rows are kept with having FILTER"),
    ("count() | head 5", 10, "the first rows are kept with limit N"),
    ("count() | order by a", 10, "rows are sorted with sort COLUMN"),
    ("count() | sort", 14, "found the end"),
    ("count() | sort count desc", 21, "descending order is written -COLUMN"),
    ("count() | sort -sum(a)", 16, "rows are sorted by a column of the answer, and none of them is this; known are"),
    ("count() | limit 0", 16, "0 is outside 1 to 1,000,000"),
    ("count() | limit 1000001", 16, "1,000,001 is outside"),
    ("count() | limit 1.5", 16, "'1.5' is not a whole number"),
    ("count() | having", 16, "expected a field, exists, not or an opening parenthesis, found the end"),
    ("count() | having sum(a) > 5", 17, "a filter has a column's name, such as sum_bytes for sum(bytes)"),
    ("count() | having count() > 5", 23, "a filter has a column's name, such as count for count()"),
    ("count() | having a = 1 limit 5", 23, "expected and, or, | or the end, found 'limit'"),
    ("top user", 4, "expected a number, found 'user'"),
    ("top 1x user", 4, "'1x' is not a whole number"),
    ("top 0 user", 4, "0 is outside 1 to 1,000,000"),
    ("rare 10", 7, f"{FIELD_OR_KEY}, found the end"),
    ("timeline", 8, "expected a duration such as 1h, found the end"),
    ("timeline 1x", 9, "'1x' is no duration"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "position", "message"), ERRORS)
def test_mistakes_show_their_place(text: str, position: int, message: str) -> None:
    with pytest.raises(FilterError) as caught:
        parse_stats(text)
    assert message in caught.value.message
    assert (caught.value.position, caught.value.text) == (position, text)
    if text.strip():
        assert str(caught.value).endswith(" ^") and "\n  " in str(caught.value)


def test_bounds() -> None:
    aggregates = [f"count() as c{n}" for n in range(MAX_AGGREGATES + 1)]
    assert len(parse_stats(",".join(aggregates[:-1])).aggregates) == MAX_AGGREGATES
    text = ",".join(aggregates)
    with pytest.raises(FilterError, match="the stats have 65 aggregates; at most 64 fit") as caught:
        parse_stats(text)
    assert caught.value.position == text.rindex("count()")
    text = "top 3 user" + " | limit 3" * MAX_STAGES
    assert len(parse_stats(text).stages) == MAX_STAGES + 2
    with pytest.raises(FilterError, match="the stats have 17 stages; at most 16 fit"):
        parse_stats(f"{text} | limit 3")
    with pytest.raises(FilterError, match="the stats have 65,537 characters"):
        parse_stats("count()".ljust(MAX_LENGTH + 1))
    values = ",".join("1" for _ in range(MAX_TERMS // 2))
    within = f"count_if(a in ({values})) | having count_if in ({values})"
    assert parse_stats(within)
    with pytest.raises(FilterError, match="4,097 terms"):
        parse_stats(f"{within} | having exists count_if")


def test_errors_stay_short_whatever_is_refused() -> None:
    long = "9" * 60_000
    for text in (f"x{long}(a)", f"count() by bucket({long})", f"count() | limit {long}", f"quantile(a, {long})"):
        with pytest.raises(FilterError) as caught:
            parse_stats(text)
        assert len(str(caught.value)) < 1_000


VOCABULARY = """
count ( ) , | sum p95 quantile by bucket prefix as sort - having limit top rare timeline a 'b' `c` 1h 0.5 7 = > and not
count_if exists in .. /x/ ~
"""
WORDS = st.sampled_from(VOCABULARY.split())


@given(st.lists(WORDS, max_size=14).map(" ".join) | st.text(max_size=30))
@settings(max_examples=400, deadline=None)
def test_any_text_is_read_or_refused_with_its_place(text: str) -> None:
    try:
        tree = parse_stats(text)
    except FilterError as error:
        assert 0 <= error.position <= len(text)
    else:
        assert from_json(to_json(tree)) == tree
