"""The filter language: text, tree and JSON form; typing against a source; errors with their places."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import fields
from datetime import UTC, datetime
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import get_args

import pytest
from drawn_filters import filters, pools_of, trees
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import holds

from watchfloor.planner.planner import ALL_RULES
from watchfloor.query.batches.registry import POLICIES
from watchfloor.query.batches.settings import BatchSettings
from watchfloor.schema.choices import SCHEMES
from watchfloor.schema.definition import parse_definition
from watchfloor.schema.errors import FilterError, UnknownFieldError
from watchfloor.schema.filter.json_form import from_json, to_json
from watchfloor.schema.filter.parse import MAX_DEPTH, MAX_LENGTH, MAX_TERMS, parse_filter
from watchfloor.schema.filter.patterns import MAX_PATTERN, MAX_PATTERNS
from watchfloor.schema.filter.print import to_text
from watchfloor.schema.filter.quoting import quote, quote_pattern, unquote, unquote_pattern
from watchfloor.schema.filter.tree import (
    COMPARISONS,
    And,
    Between,
    Cidr,
    Compare,
    Condition,
    Exists,
    Filter,
    In,
    Matches,
    Not,
    Or,
    Prefix,
    Wildcard,
    fields_of,
)
from watchfloor.schema.filter.type_check import MAX_VALUES, type_filter, typed_filter
from watchfloor.schema.read_costs import ReadCosts
from watchfloor.schema.source import Source
from watchfloor.schema.times import from_micros

NOW = 1_456_833_600_000_000  # 2016-03-01T12:00:00Z


def source_of(**kinds: str) -> Source:
    """A source with these fields; a type may be ``list of X``."""
    return parse_definition(
        {
            "name": "test.events",
            "parser": {"format": "json"},
            "timestamp": {"field": "ts"},
            "fields": [
                {"name": name, "type": "list", "items": kind.removeprefix("list of ")}
                if kind.startswith("list of ")
                else {"name": name, "type": kind}
                for name, kind in {"ts": "time", **kinds}.items()
            ],
        }
    )


SOURCE = source_of(
    status="int",
    bytes="int",
    ratio="float",
    ok="bool",
    src="ip",
    port="port",
    uri="string",
    method="string",
    seen="time",
    tags="list of string",
    answers="list of ip",
    **{"id.orig_h": "ip", "id.resp_h": "ip", "@version": "string", "user-agent": "string", "and": "string"},
)
EVENTS = [
    {
        "ts": from_micros(NOW + i * 1_000_001),
        "status": (200, 404, None)[i % 3],
        "bytes": i * 1000,
        "ratio": i / 7,
        "ok": i % 2 == 0,
        "src": ("10.0.0.1", "192.168.1.9", "2001:db8::1")[i % 3],
        "port": 443 + i,
        "uri": ("/index.html", "/a?b=c*d", 'x"y\\z', "größe\n", "")[i % 5],
        "method": ("GET", "POST")[i % 2],
        "tags": (["a", "b"], [], None, ["b", None])[i % 4],
        "answers": (["10.0.0.1", "::1"], None)[i % 2],
    }
    for i in range(12)
]
TYPED = filters(SOURCE, pools_of(SOURCE, EVENTS))


TREES: list[tuple[str, Filter]] = [
    ("status = 404", Compare("status", "=", "404")),
    ("status=404", Compare("status", "=", "404")),
    ("bytes >= -5", Compare("bytes", ">=", "-5")),
    ("a!=b", Compare("a", "!=", "b")),
    ("uri = /index.html", Compare("uri", "=", "/index.html")),
    ("mail = a.b+c@example.com", Compare("mail", "=", "a.b+c@example.com")),
    ("share = 50%", Compare("share", "=", "50%")),
    ("name = grün", Compare("name", "=", "grün")),
    ("src = 2001:db8::1", Compare("src", "=", "2001:db8::1")),
    ("ts >= 2016-03-01T12:00:00.5+01:00", Compare("ts", ">=", "2016-03-01T12:00:00.5+01:00")),
    ('uri = "a b"', Compare("uri", "=", "a b")),
    ("uri = 'it\"s'", Compare("uri", "=", 'it"s')),
    (r'uri = "\"\\\n\t\x41\u00e9\ud83d\ude00\/"', Compare("uri", "=", '"\\\n\tAé😀/')),
    ('uri = ""', Compare("uri", "=", "")),
    ("id.orig_h = 1", Compare("id.orig_h", "=", "1")),
    ("@version = 1", Compare("@version", "=", "1")),
    ("user-agent = 1", Compare("user-agent", "=", "1")),
    ("`and` = 1", Compare("and", "=", "1")),
    ('"odd name" = 1', Compare("odd name", "=", "1")),
    ("android = 1", Compare("android", "=", "1")),
    ("not.me = 1", Compare("not.me", "=", "1")),
    ("ts < now", Compare("ts", "<", "now")),
    ("method = in", Compare("method", "=", "in")),
    ("a in (1, 'x y',\n 3)", In("a", ("1", "x y", "3"))),
    ("a IN(1)", In("a", ("1",))),
    ("src in 10.0.0.0/8", Cidr("src", ip_network("10.0.0.0/8"))),
    ("src in 10.1.2.3/8", Cidr("src", ip_network("10.0.0.0/8"))),
    ('src in "2001:db8::/32"', Cidr("src", ip_network("2001:db8::/32"))),
    ("src in ::/0", Cidr("src", ip_network("::/0"))),
    ("status in 500..599", Between("status", "500", "599")),
    ("ratio in -1.5..2e-3", Between("ratio", "-1.5", "2e-3")),
    ("ts in 2016-03-01 .. now", Between("ts", "2016-03-01", "now")),
    ("src in ::1..::f", Between("src", "::1", "::f")),
    ("uri in 'a b'..\"c..d\"", Between("uri", "a b", "c..d")),
    ("status not in 500..599", Not(Between("status", "500", "599"))),
    ("uri = a..b", Compare("uri", "=", "a..b")),
    ("uri endswith .exe", Wildcard("uri", "*.exe")),
    (r'uri endswith "a*\\?"', Wildcard("uri", r"*a\*\\\?")),
    ("uri CONTAINS 'a b'", Wildcard("uri", "*a b*")),
    ("uri contains ''", Wildcard("uri", "**")),
    ("uri not endswith x", Not(Wildcard("uri", "*x"))),
    ("`contains` = 1", Compare("contains", "=", "1")),
    ("a = 1 # and b = 2", Compare("a", "=", "1")),
    ("# first\na = 'x#y' # then\nand b ~ /#/ #", And((Compare("a", "=", "x#y"), Matches("b", "#")))),
    ("uri ~ /x+/", Matches("uri", "x+")),
    (r"uri ~ /a\/b\d[\/]/i", Matches("uri", r"a/b\d[/]", True)),
    (r'uri ~ "a\\d/"', Matches("uri", r"a\d/")),
    ('uri ~ "a"i', Matches("uri", "a", True)),
    ("uri ~ //", Matches("uri", "")),
    ("uri startswith /a", Prefix("uri", "/a")),
    ('uri StartsWith "a b"', Prefix("uri", "a b")),
    ("domain like *.example.com", Wildcard("domain", "*.example.com")),
    ("domain = *.example.com", Wildcard("domain", "*.example.com")),
    ('domain = "*.example.com"', Wildcard("domain", "*.example.com")),
    ("domain != *.example.com", Not(Wildcard("domain", "*.example.com"))),
    (r'uri = "/a?b=*&\\\*"', Wildcard("uri", r"/a\?b=*&\\\*")),
    (r'uri = "/a?b=\*"', Compare("uri", "=", "/a?b=*")),
    ("uri = *", Wildcard("uri", "*")),
    ('uri < "a*b"', Compare("uri", "<", "a*b")),
    ("uri in ('a*', b)", In("uri", ("a*", "b"))),
    ("uri startswith 'a*'", Prefix("uri", "a*")),
    (r'domain like "a?\\*"', Wildcard("domain", r"a?\*")),
    ("exists a", Exists("a")),
    ("EXISTS `exists`", Exists("exists")),
    ("not exists a", Not(Exists("a"))),
    ("not not a = 1", Not(Not(Compare("a", "=", "1")))),
    ("a not in (1, 2)", Not(In("a", ("1", "2")))),
    ("a not in 10.0.0.0/8", Not(Cidr("a", ip_network("10.0.0.0/8")))),
    ("a not ~ /x/", Not(Matches("a", "x"))),
    ("a not like b*", Not(Wildcard("a", "b*"))),
    ("a NOT startswith b", Not(Prefix("a", "b"))),
    ("exists a and exists b or exists c", Or((And((Exists("a"), Exists("b"))), Exists("c")))),
    ("exists a and (exists b or exists c)", And((Exists("a"), Or((Exists("b"), Exists("c")))))),
    ("(exists a and exists b) and exists c", And((And((Exists("a"), Exists("b"))), Exists("c")))),
    ("exists a AND exists b And exists c", And((Exists("a"), Exists("b"), Exists("c")))),
    ("not exists a and exists b", And((Not(Exists("a")), Exists("b")))),
    ("not (exists a and exists b)", Not(And((Exists("a"), Exists("b"))))),
    ("((((exists a))))", Exists("a")),
    ("(" * 2000 + "exists a" + ")" * 2000, Exists("a")),
]


@pytest.mark.parametrize(("text", "tree"), TREES)
def test_parse(text: str, tree: Filter) -> None:
    assert parse_filter(text) == tree
    assert parse_filter(to_text(tree)) == tree
    assert from_json(json.loads(json.dumps(to_json(tree)))) == tree


# text, place of the caret, a part of the message
SYNTAX_ERRORS = [
    ("status = ", 8, "expected a value, found the end of the filter"),
    ("status", 6, "expected an operator (= != < <= > >=)"),
    ("status = 1 and", 14, "expected a field, exists, not or an opening parenthesis, found the end"),
    ("status = 1 uri = 2", 11, "expected and, or or the end of the filter, found 'uri'"),
    ("(status = 1", 11, "expected a closing parenthesis, found the end"),
    ("status = 1)", 10, "expected the end of the filter, found ')'"),
    ("1 = 1", 0, "expected a field"),
    ("a == 1", 3, "equality is written ="),
    ("a <> 1", 3, "inequality is written !="),
    ("a = 1 && b = 2", 6, "write and"),
    ("a = 1 || b = 2", 6, "write or"),
    ("!a = 1", 0, "write not"),
    ("a !~ /x/", 2, "write FIELD not ~"),
    ("a =~ /x/", 3, "a pattern is written FIELD ~"),
    ("a in (*.com)", 6, "put the value in quotes"),
    (r'a like "x\*"', 9, r"a star itself is written \\*"),
    ("a = and b = 1", 4, "reserved"),
    ("in = 1", 0, "backticks"),
    ("a = 1 or or b = 2", 9, "expected a field"),
    ('a = "x', 4, "the quote is never closed"),
    ("a ~ /x", 4, "closing slash is missing"),
    ("a ~ x", 4, "expected a pattern between slashes"),
    ("a ~ /x/g", 7, "unknown flag 'g'"),
    ('a = "x\\d"', 6, "unknown escape \\d"),
    ('a = "\\ud800"', 4, "surrogate"),
    ("a in ()", 6, "expected a value"),
    ("a in (1,)", 8, "expected a value"),
    ("a in (1 2)", 8, "expected a closing parenthesis or a comma"),
    ("a in 10.0.0.1", 5, "is no network"),
    ("a in 10.0.0.0/33", 5, "is no network"),
    ("a in x/y", 5, "is no network"),
    ("a in fe80::%eth0/64", 5, "is no network"),
    ("exists", 6, "expected a field"),
    ("not " * MAX_DEPTH + "a = 1", 4 * MAX_DEPTH, "deeper than 64 levels"),
    ("a = 1\nand b @ 2", 12, "expected an operator"),
    ("a in 1..", 8, "expected a value"),
    ("a in ..2", 5, "expected a value"),
    ("a in 1..2..3", 9, "expected and, or"),
    ("a contains", 10, "expected a value"),
    ("#", 1, "expected a field"),
    ("a = x!", 5, "a value with such characters goes in quotes"),
    ("a = x?y=1", 5, "put the value in quotes"),
    ("a = (1)", 4, "goes in quotes"),
]


@pytest.mark.parametrize(("text", "position", "message"), SYNTAX_ERRORS)
def test_syntax_errors_show_the_place(text: str, position: int, message: str) -> None:
    with pytest.raises(FilterError) as caught:
        parse_filter(text)
    assert message in caught.value.message
    assert caught.value.position == position
    assert caught.value.text == text
    assert str(caught.value).endswith("^")


def test_limits_are_named() -> None:
    with pytest.raises(FilterError, match=f"at most {MAX_LENGTH:,} are allowed"):
        parse_filter("a = " + "x" * MAX_LENGTH)
    many = f"a in ({','.join('1' * (MAX_TERMS + 1))})"
    with pytest.raises(FilterError, match=f"at most {MAX_TERMS:,} fit"):
        parse_filter(many)
    with pytest.raises(FilterError, match=f"at most {MAX_TERMS:,} fit"):
        from_json({"field": "a", "op": "in", "values": list(range(MAX_TERMS + 1))})
    with pytest.raises(FilterError, match=f"at most {MAX_TERMS:,} fit"):
        type_filter(In("status", tuple(range(MAX_TERMS + 1))), SOURCE)
    many_places = [(many, many.rindex("1")), ("a = " + "x" * MAX_LENGTH, MAX_LENGTH), (" \n", 2)]
    for text, position in many_places:
        with pytest.raises(FilterError) as caught:
            parse_filter(text)
        assert (caught.value.text, caught.value.position) == (text, position)
    assert len(parse_filter(" or ".join(["a=1"] * MAX_TERMS)).children) == MAX_TERMS  # type: ignore[union-attr]
    deep: dict[str, object] = {"field": "a", "op": "exists"}
    tree: Filter = Exists("ts")
    for _ in range(MAX_DEPTH):
        deep, tree = {"not": deep}, Not(tree)
    for refused in (lambda: from_json(deep), lambda: type_filter(tree, SOURCE)):
        with pytest.raises(FilterError, match=f"deeper than {MAX_DEPTH} levels"):
            refused()
    with pytest.raises(FilterError, match="the filter is empty"):
        parse_filter(" \n")


@given(TYPED)
@settings(max_examples=100)
def test_typed_trees_come_back_from_text_and_json(tree: Filter) -> None:
    text = to_text(tree)
    assert "\n" not in text
    assert type_filter(parse_filter(text), SOURCE, text, NOW) == tree
    assert type_filter(from_json(json.loads(json.dumps(to_json(tree)))), SOURCE, now=NOW) == tree
    assert type_filter(tree, SOURCE) == tree


ANY = st.text(st.characters(exclude_categories=("Cs",)), max_size=12) | st.text("a*?\\\"'/.0 #\n", max_size=8)
NETWORKS = st.sampled_from([ip_network(text) for text in ("10.0.0.0/8", "::/0", "2001:db8::/32", "1.2.3.4/32")])
NODES: dict[type, st.SearchStrategy[Filter]] = {
    Compare: st.builds(Compare, ANY, st.sampled_from(COMPARISONS), ANY),
    In: st.builds(In, ANY, st.lists(ANY, min_size=1, max_size=4).map(tuple)),
    Between: st.builds(Between, ANY, ANY, ANY),
    Cidr: st.builds(Cidr, ANY, NETWORKS),
    Prefix: st.builds(Prefix, ANY, ANY),
    Matches: st.builds(Matches, ANY, ANY, st.booleans()),
    Wildcard: st.builds(Wildcard, ANY, ANY),
    Exists: st.builds(Exists, ANY),
}


@given(trees(st.tuples(*NODES.values()).map(Or), max_leaves=3))
@settings(max_examples=100)
def test_every_node_comes_back_from_text_and_json(tree: Filter) -> None:
    assert {*NODES, And, Or, Not} == {*get_args(Condition), *(set(get_args(Filter)) - {Condition})}
    assert parse_filter(to_text(tree)) == tree
    assert from_json(json.loads(json.dumps(to_json(tree)))) == tree


@given(st.text(), st.booleans())
@settings(max_examples=100)
def test_quoting_gives_any_text_back(text: str, ignore_case: bool) -> None:
    assert unquote(quote(text)) == text
    assert unquote_pattern(quote_pattern(text, ignore_case)) == (text, ignore_case)


@pytest.mark.parametrize("pattern", ["", "/", "\\/", "\\\\/", "a\\", "\n", "\\d/\\", '"', "a\\\n", "/\\//"])
def test_patterns_of_slashes_and_backslashes(pattern: str) -> None:
    assert parse_filter(to_text(Matches("a", pattern, True))) == Matches("a", pattern, True)


@given(
    st.text(
        alphabet="a=1 ()\"'`/~<>!,\\*?.and or not in like exists ends with contains 1..2 10.0.0.0/8#\n", max_size=40
    )
)
@settings(max_examples=200)
def test_any_text_parses_or_is_refused_with_a_place(text: str) -> None:
    try:
        tree = parse_filter(text)
    except FilterError as error:
        assert 0 <= error.position <= len(text)
    else:
        assert parse_filter(to_text(tree)) == tree


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
    assert typed_filter(text, SOURCE, NOW) == tree


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
        typed_filter(text, SOURCE, NOW)
    assert message in caught.value.message
    assert (caught.value.position, caught.value.text) == (position, text)


def test_type_errors_without_text_show_the_condition() -> None:
    with pytest.raises(FilterError, match=r"field status is an int: 'x' is not .* \(in: status > \"x\"\)"):
        typed_filter({"field": "status", "op": ">", "value": "x"}, SOURCE)
    with pytest.raises(UnknownFieldError, match="did you mean status"):
        typed_filter({"field": "statis", "op": "exists"}, SOURCE)
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
    assert typed_filter(None, SOURCE) is None


def test_patterns_and_values_of_a_filter_are_bounded_together() -> None:
    pattern = "x" * (MAX_PATTERNS // 100)
    within = " or ".join([f"uri ~ /{pattern}/"] * 100)
    assert type_filter(parse_filter(within), SOURCE, within)
    with pytest.raises(
        FilterError, match=f"counted repeats written out; at most {MAX_PATTERNS:,} are allowed"
    ) as caught:
        typed_filter(f"{within} or uri like a*b", SOURCE)
    assert caught.value.position == len(within) + len(" or uri like ")
    assert typed_filter(" or ".join([f"uri contains {'y' * 500}"] * 100), SOURCE)
    hashes = [f"{i:064}" for i in range(MAX_TERMS)]
    assert typed_filter({"field": "uri", "op": "in", "values": hashes}, SOURCE)
    with pytest.raises(FilterError, match=f"more than {MAX_VALUES:,} characters"):
        typed_filter({"field": "uri", "op": "in", "values": [digest * 5 for digest in hashes]}, SOURCE)


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
            typed_filter(text, SOURCE)
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


def test_a_json_group_of_one_is_its_member() -> None:
    assert from_json({"and": [{"or": [{"field": "a", "op": "exists"}]}]}) == Exists("a")


ORACLE = [
    ("status = 404", True),
    ("status != 404", False),
    ("missing_value != 404", True),
    ("missing_value < 404 or not exists missing_value", True),
    ("tags = a and tags = b", True),
    ("tags != a", False),
    ("exists none", True),
    ("none = a", False),
    ("src in 10.0.0.0/8 and src < ::1", True),
    ("uri > A and uri < größf and uri > z", False),
    ("uri like gr*e and uri like gr??e and not uri like gr?e", True),
    (r'uri like "gr\\*e"', False),
    ("uri ~ /^GR.SSE$/", False),
    ("uri ~ /^GR.SSE$/i", False),
    ("uri ~ /^GRÖ.E$/i", True),
    ("uri startswith gr", True),
]


@pytest.mark.parametrize(("text", "expected"), ORACLE)
def test_the_oracle(text: str, expected: bool) -> None:
    source = source_of(
        status="int", missing_value="int", tags="list of string", none="list of string", src="ip", uri="string"
    )
    event = {"status": 404, "tags": [None, "a", "b"], "none": [], "src": "10.0.0.1", "uri": "größe"}
    assert holds(typed_filter(text, source), event) is expected  # type: ignore[arg-type]


@given(TYPED)
@settings(max_examples=100)
def test_drawn_filters_fit_the_source_and_the_oracle(tree: Filter) -> None:
    assert fields_of(tree) <= set(SOURCE.fields_by_name)
    assert {holds(tree, event) for event in EVENTS} <= {True, False}


def test_no_jvm_is_needed() -> None:
    code = (
        "import sys, watchfloor.planner.planner, watchfloor.schema.filter.type_check, "
        "watchfloor.query.batches.sequence; "
        "sys.exit('jpype' in sys.modules or any(m.startswith('watchfloor.store') for m in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_documentation_is_right() -> None:
    docs = Path(__file__).parents[2] / "docs"
    planner = (docs / "planner.md").read_text("utf-8")
    for word in (*SCHEMES, *(rule.name for rule in ALL_RULES), *(field.name for field in fields(ReadCosts))):
        assert re.search(rf"\b{word}\b", planner), word
    batching = (docs / "batching.md").read_text("utf-8")
    for word in (*POLICIES, *(field.name for field in fields(BatchSettings) if field.name != "policy")):
        assert f"`{word}`" in batching, word
