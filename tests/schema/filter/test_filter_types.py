"""Values become those of their fields' types; type errors show their place and stay short.

In `make test`: it needs no servers.
"""

from __future__ import annotations

from datetime import UTC, datetime
from ipaddress import ip_address, ip_network

import pytest
from filter_samples import NOW, SOURCE

from watchfloor.schema.errors import FilterError, UnknownFieldError
from watchfloor.schema.filter.json_form import from_json
from watchfloor.schema.filter.parse import parse_filter
from watchfloor.schema.filter.patterns import MAX_PATTERN, MAX_PATTERNS
from watchfloor.schema.filter.syntax.limits import MAX_TERMS
from watchfloor.schema.filter.tree import Between, Cidr, Compare, Filter, In, Or, Prefix, Wildcard
from watchfloor.schema.filter.type_check import read_filter, type_filter
from watchfloor.schema.filter.type_tree import MAX_VALUES
from watchfloor.schema.times import from_micros

CONVERSIONS: list[tuple[str, Filter]] = [
    ("status = 0404", Compare("status", "=", 404)),
    ("bytes = -9223372036854775808", Compare("bytes", "=", -(2**63))),
    ("ratio < 1e-3", Compare("ratio", "<", 0.001)),
    ("ratio = -0", Compare("ratio", "=", 0.0)),
    ("ratio < inf", Compare("ratio", "<", float("inf"))),
    ("ok = T", Compare("ok", "=", True)),
    ("ok != no", Compare("ok", "!=", False)),
    ("port = 65535", Compare("port", "=", 65535)),
    ("src = 2001:0db8::0001", Compare("src", "=", ip_address("2001:db8::1"))),
    ("src > 10.0.0.1", Compare("src", ">", ip_address("10.0.0.1"))),
    ("ts >= 2016-03-01", Compare("ts", ">=", datetime(2016, 3, 1, tzinfo=UTC))),
    ("seen > -1h", Compare("seen", ">", datetime(2016, 3, 1, 11, tzinfo=UTC))),
    ("uri = 404", Compare("uri", "=", "404")),
    ("tags = a", Compare("tags", "=", "a")),
    ("tags startswith a", Prefix("tags", "a")),
    ("answers in 10.0.0.0/8", Cidr("answers", ip_network("10.0.0.0/8"))),
    ("status in (1, 2)", In("status", (1, 2))),
    ("status in -5..05", Between("status", -5, 5)),
    ("ratio in 1..inf", Between("ratio", 1.0, float("inf"))),
    ("src in 10.0.0.9..::1", Between("src", ip_address("10.0.0.9"), ip_address("::1"))),
    ("answers in ::1..::2", Between("answers", ip_address("::1"), ip_address("::2"))),
    ("seen in -1h..now", Between("seen", datetime(2016, 3, 1, 11, tzinfo=UTC), datetime(2016, 3, 1, 12, tzinfo=UTC))),
    ("src in (10.0.0.1)", In("src", (ip_address("10.0.0.1"),))),
    ("src in (10.0.0.0/8)", Cidr("src", ip_network("10.0.0.0/8"))),
    (
        "src in (10.0.0.0/8, ::1)",
        Or((Cidr("src", ip_network("10.0.0.0/8")), In("src", (ip_address("::1"),)))),
    ),
    ("`and` = x", Compare("and", "=", "x")),
]


@pytest.mark.parametrize(("text", "tree"), CONVERSIONS)
def test_values_become_those_of_the_field(text: str, tree: Filter) -> None:
    assert read_filter(text, SOURCE, NOW) == tree


TYPE_ERRORS = [
    ("stats = 1", 0, "has no field 'stats'; did you mean status"),
    ("status = 1 and orig_h = 10.0.0.1", 15, "did you mean id.orig_h"),
    ("status = abc", 9, "field status is an int: 'abc' is not a whole number"),
    ("status = 1.5", 9, "is not a whole number"),
    ("status = ١", 9, "is not a whole number"),
    ("status = 9223372036854775808", 9, "is outside -9223372036854775808..9223372036854775807"),
    ("status in (1, 2, x)", 17, "'x' is not a whole number"),
    ("port = 65536", 7, "field port is a port: 65536 is outside 0..65535"),
    ("port = -1", 7, "is outside 0..65535"),
    ("ratio = nan", 8, "'nan' is not a number"),
    ("ratio = 1e999", 8, "too large for a float"),
    ("ok = maybe", 5, "field ok is a bool: 'maybe' is neither true nor false"),
    ("ok < true", 5, "a bool has no order"),
    ("src = 10.0.0", 6, "field src is an ip: '10.0.0' is no address"),
    ("src = fe80::1%eth0", 6, "is no address"),
    ("src = 10.0.0.0/8", 6, "is a network; write in 10.0.0.0/8"),
    ("src in (10.0.0.1, 10.0.0.0/40)", 18, "is no address"),
    ("uri in 10.0.0.0/8", 7, "field uri is a string: a network fits addresses only"),
    ("status startswith 4", 18, "startswith fits strings only"),
    ("status endswith 4", 16, "wildcards, endswith and contains fit strings only"),
    ("status in 599..500", 10, "the range is empty: 599 is above 500"),
    ("status in 1..x", 13, "'x' is not a whole number"),
    ("uri in b..a", 7, 'the range is empty: "b" is above "a"'),
    ("ok in false..true", 6, "a bool has no order, so a range does not fit"),
    ("src like 10.*", 9, "wildcards, endswith and contains fit strings only"),
    ("answers ~ /x/", 10, "field answers is a list of ip: a pattern fits strings only"),
    ("uri ~ /(/", 6, "RE2's syntax: missing ): ("),
    ("uri ~ /(?=a)/", 6, "RE2's syntax"),
    (r"uri ~ /\1/", 6, "RE2's syntax"),
    (r"uri ~ /\C/", 6, "is not available"),
    (r"uri ~ /\p{Kawi}/", 6, "the character class Kawi is not available"),
    ("uri ~ /((a{100}){100}){100}/", 6, "RE2's syntax"),
    (f"uri ~ /{'a' * (MAX_PATTERN + 1)}/", 6, "at most 1,000 are allowed"),
    (f"uri like {'a' * (MAX_PATTERN + 1)}", 9, "at most 1,000 are allowed"),
    (r'uri like "a\\b"', 9, "a backslash in a wildcard"),
    ("ts > yesterday", 5, "field ts is a time: 'yesterday' is no time"),
    ("seen = 20160301", 7, "is ambiguous"),
]


@pytest.mark.parametrize(("text", "position", "message"), TYPE_ERRORS)
def test_type_errors_show_the_place(text: str, position: int, message: str) -> None:
    with pytest.raises(FilterError) as caught:
        read_filter(text, SOURCE, NOW)
    assert message in caught.value.message
    assert (caught.value.position, caught.value.text) == (position, text)


def test_type_errors_without_text_show_the_condition() -> None:
    with pytest.raises(FilterError, match=r"field status is an int: 'x' is not .* \(in: status > \"x\"\)"):
        read_filter({"field": "status", "op": ">", "value": "x"}, SOURCE)
    with pytest.raises(UnknownFieldError, match="did you mean status"):
        read_filter({"field": "statis", "op": "exists"}, SOURCE)
    with pytest.raises(FilterError, match="unknown operator '=='"):
        type_filter(Compare("status", "==", 1), SOURCE)
    for field, value in (("uri", 5), ("status", True), ("ok", 1), ("src", 5), ("ts", True), ("uri", "\ud800")):
        with pytest.raises(FilterError, match=f"field {field} is"):
            type_filter(Compare(field, "=", value), SOURCE)
    with pytest.raises(FilterError, match="has no time zone"):
        type_filter(Compare("ts", "=", datetime(2016, 3, 1)), SOURCE)
    assert type_filter(Compare("ratio", "=", 1), SOURCE) == Compare("ratio", "=", 1.0)
    assert type_filter(Compare("status", "=", 404.0), SOURCE) == Compare("status", "=", 404)
    assert type_filter(Compare("ts", "=", 1.5), SOURCE) == Compare("ts", "=", from_micros(1_500_000))
    assert read_filter(None, SOURCE) is None


def test_patterns_and_values_of_a_filter_are_bounded_together() -> None:
    pattern = "x" * (MAX_PATTERNS // 100)
    within = " or ".join([f"uri ~ /{pattern}/"] * 100)
    assert type_filter(parse_filter(within), SOURCE, within)
    with pytest.raises(
        FilterError, match=f"counted repeats written out; at most {MAX_PATTERNS:,} are allowed"
    ) as caught:
        read_filter(f"{within} or uri like a*b", SOURCE)
    assert caught.value.position == len(within) + len(" or uri like ")
    assert read_filter(" or ".join([f"uri contains {'y' * 500}"] * 100), SOURCE)
    hashes = [f"{i:064}" for i in range(MAX_TERMS)]
    assert read_filter({"field": "uri", "op": "in", "values": hashes}, SOURCE)
    with pytest.raises(FilterError, match=f"more than {MAX_VALUES:,} characters"):
        read_filter({"field": "uri", "op": "in", "values": [digest * 5 for digest in hashes]}, SOURCE)


def test_errors_stay_short_whatever_is_refused() -> None:
    long = "9" * 60_000
    for text in (
        f"{long}x = 1",
        f"`{long}` = 1",
        f"ts = {long}",
        f"ratio = {long}x",
        f"src in {long}/8",
        f"src in {long}",
    ):
        with pytest.raises(FilterError) as caught:
            read_filter(text, SOURCE)
        assert len(str(caught.value)) < 1_000
    for form in (
        {"field": "a", "op": long},
        {"field": "a", "op": "in", "value": long},
        {"field": "a", "op": "=", "value": 1, long: 1},
        {"field": "a", "op": "=", "value": 10**5000},
        {"field": "a", "op": 10**5000},
    ):
        with pytest.raises(FilterError) as caught:
            from_json(form)
        assert len(str(caught.value)) < 1_000


JSON_ERRORS = [
    ([], "filter: an object was expected, found a list"),
    (None, "filter: an object was expected, found nothing"),
    ({}, "filter: and, or, not, or the name of a field was expected"),
    ({"and": []}, "filter.and: a list of one or more filters"),
    ({"and": {}}, "filter.and: a list of one or more filters"),
    ({"or": [{"not": {"field": "a"}}]}, "filter.or[0].not.op: one of"),
    ({"and": [], "or": []}, "filter: 'or' does not belong beside and"),
    ({"field": 1, "op": "="}, "the name of a field was expected"),
    (
        {"field": "a", "op": "=="},
        "filter.op: one of = != < <= > >= in startswith endswith contains ~ like exists was expected",
    ),
    ({"field": "a", "op": []}, "filter.op: one of"),
    ({"field": "a", "op": "="}, "filter.value: a string, a number, true or false was expected, found nothing"),
    ({"field": "a", "op": "=", "value": 1, "case": 2}, "filter: 'case' does not belong"),
    ({"field": "a", "op": "exists", "value": 1}, "filter: 'value' does not belong"),
    ({"field": "a", "op": "in", "values": []}, "filter.values: a list of one or more values"),
    ({"field": "a", "op": "in", "values": [1, None]}, "filter.values[1]: a string"),
    ({"field": "a", "op": "in", "value": "10.0.0.1"}, "filter.value: '10.0.0.1' is no network"),
    ({"field": "a", "op": "in", "value": "1/2/3"}, "is no network"),
    ({"field": "a", "op": "in", "value": "fe80::%1/64"}, "is no network"),
    ({"field": "a", "op": "in", "values": [1], "value": "::/0"}, "'value' does not belong"),
    ({"field": "a", "op": "in", "from": 1}, "filter.to: a string, a number, true or false was expected, found nothing"),
    ({"field": "a", "op": "in", "from": 1, "to": 2, "value": "::/0"}, "'value' does not belong"),
    ({"field": "a", "op": "=", "from": 1}, "'from' does not belong"),
    ({"field": "a", "op": "contains", "value": 5}, "filter.value: a string was expected, found a number"),
    ({"field": "a", "op": "like", "value": 5}, "filter.value: a string was expected, found a number"),
    ({"field": "a", "op": "~", "value": "x", "ignore_case": 1}, "filter.ignore_case: true or false"),
]


@pytest.mark.parametrize(("form", "message"), JSON_ERRORS)
def test_json_errors_show_the_place(form: object, message: str) -> None:
    with pytest.raises(FilterError) as caught:
        from_json(form)
    assert message in caught.value.message


def test_json_has_endswith_and_contains() -> None:
    for op, pattern in (("endswith", r"*a\*"), ("contains", r"*a\**")):
        assert from_json({"field": "a", "op": op, "value": "a*"}) == Wildcard("a", pattern)
