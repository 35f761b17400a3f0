"""Names become fields of the source, columns get their types, and what does not fit is refused at its place.

In `make test`: it needs no servers.
"""

from __future__ import annotations

from datetime import UTC, datetime
from ipaddress import ip_address, ip_network

import pyarrow as pa
import pytest
from stats_samples import NOW, SOURCE, list_fitting

from watchfloor.schema.errors import FilterError, UnknownFieldError
from watchfloor.schema.filter.patterns import MAX_PATTERNS
from watchfloor.schema.filter.tree import And, Cidr, Compare, Filter, Or
from watchfloor.schema.stats.json_form import to_json
from watchfloor.schema.stats.parse import parse_stats
from watchfloor.schema.stats.tree import Aggregate, FieldKey, Having, PrefixKey, Stats
from watchfloor.schema.stats.type_check import TAKEN_TYPES, TypedStats, read_stats, type_stats

TIME = pa.timestamp("us", tz="UTC")


def read(text: str) -> TypedStats:
    typed = read_stats(text, SOURCE, NOW)
    assert read_stats(to_json(parse_stats(text)), SOURCE, NOW) == typed
    return typed


@pytest.mark.parametrize(
    ("text", "type"),
    [
        ("count()", pa.int64()),
        ("count(domain)", pa.int64()),
        ("count(answers)", pa.int64()),
        ("count_if(ok = true)", pa.int64()),
        ("distinct(tags)", pa.int64()),
        ("sum(bytes)", pa.int64()),
        ("sum(port)", pa.int64()),
        ("sum(sizes)", pa.int64()),
        ("sum(duration_ms)", pa.float64()),
        ("avg(bytes)", pa.float64()),
        ("avg(port)", pa.float64()),
        ("median(bytes)", pa.int64()),
        ("p95(port)", pa.uint16()),
        ("p99.9(duration_ms)", pa.float64()),
        ("min(ts)", TIME),
        ("max(src_ip)", pa.string()),
        ("min(ok)", pa.bool_()),
        ("first(port)", pa.uint16()),
        ("last(answers)", pa.string()),
        ("values(ts)", pa.list_(TIME)),
        ("values(sizes)", pa.list_(pa.int64())),
    ],
)
def test_aggregates_have_types(text: str, type: pa.DataType) -> None:
    assert read(text).schema.types == [type]


def test_keys_stand_first() -> None:
    schema = read("count() as n by sizes, bucket(1h), prefix(answers, 24), port as p").schema
    expected = {"sizes": pa.int64(), "bucket": TIME, "prefix_answers": pa.string(), "p": pa.uint16(), "n": pa.int64()}
    assert schema == pa.schema(list(expected.items()))


def test_names_stand_for_fields() -> None:
    typed = read("sum(source.bytes), count_if(ip in 10.0.0.0/8) by user.name, prefix(source.ip, 8) | sort -user.name")
    assert typed.schema.names == ["user.name", "prefix_source.ip", "sum_source.bytes", "count_if"]
    where = Or(tuple(Cidr(name, ip_network("10.0.0.0/8")) for name in ("src_ip", "dst_ip", "answers")))
    assert typed.stats == Stats(
        (Aggregate("sum", "sum_source.bytes", "bytes_out"), Aggregate("count", "count_if", where=where)),
        (FieldKey("user.name", "user"), PrefixKey("prefix_source.ip", "src_ip", 8, 64)),
        typed.stats.stages,
    )
    assert typed.meanings == {
        "source.bytes": ("bytes_out",),
        "user.name": ("user",),
        "source.ip": ("src_ip",),
        "ip": ("src_ip", "dst_ip", "answers"),
    }
    assert type_stats(typed.stats, SOURCE) == TypedStats(typed.stats, typed.schema, {})


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("count() | having count > 5", Compare("count", ">", 5)),
        ("avg(bytes) as a | having a > 5", Compare("a", ">", 5.0)),
        ("min(src_ip) | having min_src_ip = ::1", Compare("min_src_ip", "=", ip_address("::1"))),
        ("values(answers) as a | having a in 10.0.0.0/8", Cidr("a", ip_network("10.0.0.0/8"))),
        ("count() by bucket(1h) | having bucket > -1h", Compare("bucket", ">", datetime(2016, 3, 1, 11, tzinfo=UTC))),
        ("count() by prefix(src_ip, 8) as p | having p = '10.0.0.0/8'", Compare("p", "=", "10.0.0.0/8")),
        ("count() by source.ip | having source.ip = ::1", Compare("source.ip", "=", ip_address("::1"))),
        (
            "count(), count(ok) as `in` | having count = 1 and `in` = 2",
            And((Compare("count", "=", 1), Compare("in", "=", 2))),
        ),
    ],
)
def test_having_is_typed_by_columns(text: str, where: Filter) -> None:
    assert read(text).stats.stages == (Having(where),)


ERRORS = [
    ("count(), sum(user)", 13, "field user is a string: sum takes int, float and port"),
    ("avg(tags)", 4, "field tags is a list of string: avg takes int, float and port"),
    ("p95(ok)", 4, "field ok is a bool: quantile takes int, float and port"),
    ("sum(ts)", 4, "field ts is a time: sum takes"),
    ("sum(source.ip)", 4, "field src_ip is an ip: sum takes"),
    ("count() by prefix(user, 24)", 18, "field user is a string: prefix takes ip"),
    ("count() by bytes, usr", 18, "source lab.web has no field 'usr'; did you mean user"),
    ("sum(bites)", 4, "did you mean bytes"),
    ("count_if(bytes = 1), count_if(byte = 1) as b", 30, "has no field 'byte'; did you mean bytes"),
    ("count_if(bytes = 1), count_if(bytes = x) as b", 38, "field bytes is an int: 'x' is not a whole number"),
    ("count() by ip", 11, "ip stands for 3 fields of lab.web: src_ip, dst_ip, answers; name one of them"),
    ("distinct(ip)", 9, "ip stands for 3 fields"),
    ("count() | sort -cuont", 16, "the answer has no column 'cuont'; did you mean count?"),
    ("count() by user | sort user, bytes", 29, "the answer has no column 'bytes'"),
    ("count(), sum(bytes) | sort count() | having sum_byte > 5", 44, "no column 'sum_byte'; did you mean sum_bytes?"),
    ("count() | having count > 1 and n = 2", 31, "the answer has no column 'n'"),
    ("count() by source.ip | having src_ip = ::1", 30, "the answer has no column 'src_ip'"),
    ("count() | limit 1 | having count = 1 | having not count = x", 58, "field count is an int: 'x' is not"),
    ("count() by user | having user > a and count ~ /x/", 46, "a pattern fits strings only"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "position", "message"), ERRORS)
def test_type_errors_show_the_place(text: str, position: int, message: str) -> None:
    with pytest.raises(FilterError) as caught:
        read_stats(text, SOURCE, NOW)
    assert message in caught.value.message
    assert (caught.value.position, caught.value.text) == (position, text)
    with pytest.raises(FilterError) as caught:
        read_stats(to_json(parse_stats(text)), SOURCE, NOW)
    assert message in caught.value.message
    parts = ("(in: ", "has no field", "stands for")
    assert any(part in caught.value.message for part in parts)


def test_every_function_takes_the_fields_of_its_types() -> None:
    for function in ("sum", "avg", "median", "min", "max", "count", "distinct", "first", "last", "values"):
        taken = list_fitting({"median": "quantile"}.get(function, function))
        for field in SOURCE.fields:
            name = f"`{field.name}`"
            if field in taken:
                assert read_stats(f"{function}({name})", SOURCE)
            else:
                with pytest.raises(FilterError, match="takes int, float and port"):
                    read_stats(f"{function}({name})", SOURCE)
    assert set(TAKEN_TYPES) == {"sum", "avg", "quantile", "prefix"}


def test_unknown_fields_have_their_own_error() -> None:
    with pytest.raises(UnknownFieldError):
        read_stats("sum(nothing)", SOURCE)


def test_filters_are_bounded_together() -> None:
    half = f"domain ~ /{'x' * 900}/"
    within = ", ".join(f"count_if({half}) as c{n}" for n in range(MAX_PATTERNS // 900))
    assert read_stats(within, SOURCE)
    with pytest.raises(FilterError, match="the filter's patterns have"):
        read_stats(f"{within}, count_if({half}) as more", SOURCE)
