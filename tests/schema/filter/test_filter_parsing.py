"""Text parses into the expected filter tree; syntax errors show their place.

In `make test`: it needs no servers.
"""

from __future__ import annotations

import json
from ipaddress import ip_network

import pytest
from filter_samples import SOURCE
from hypothesis import given, settings
from hypothesis import strategies as st

from watchfloor.schema.errors import FilterError
from watchfloor.schema.filter.json_form import from_json, to_json
from watchfloor.schema.filter.parse import parse_filter
from watchfloor.schema.filter.print import to_text
from watchfloor.schema.filter.syntax.limits import MAX_DEPTH, MAX_LENGTH, MAX_TERMS
from watchfloor.schema.filter.tree import (
    And,
    Between,
    Cidr,
    Compare,
    Exists,
    Filter,
    In,
    Matches,
    Not,
    Or,
    Prefix,
    Wildcard,
)
from watchfloor.schema.filter.type_check import type_filter

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
    ("= 1", 0, "expected a field"),
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
    ("a = [1]", 4, "goes in quotes"),
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
