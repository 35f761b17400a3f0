"""``in @list`` and queries within filters: their text, their JSON form, their types and their errors.

In `make test`: it needs no servers.
"""

from __future__ import annotations

import json

import pytest

from watchfloor.schema.definition import parse_definition
from watchfloor.schema.errors import FilterError, ListError, UnknownSourceError, UserError
from watchfloor.schema.field import FieldType
from watchfloor.schema.filter.json_form import from_json, to_json
from watchfloor.schema.filter.parse import parse_filter
from watchfloor.schema.filter.print import to_text
from watchfloor.schema.filter.tree import And, Between, Compare, Filter, In, InList, InQuery, Not, Or, list_value_lists
from watchfloor.schema.filter.type_check import read_typed_filter
from watchfloor.schema.filter.value_list import MAX_LISTS, ValueList
from watchfloor.schema.source import Source

FIELDS = (
    {"name": "ts", "type": "time"},
    {"name": "src", "type": "ip", "ecs": "source.ip"},
    {"name": "dst", "type": "ip", "ecs": "destination.ip"},
    {"name": "uid", "type": "string"},
    {"name": "uids", "type": "list", "items": "string"},
    {"name": "status", "type": "int"},
)
CONN = parse_definition(
    {"name": "zeek.conn", "parser": {"format": "json"}, "timestamp": {"field": "ts"}, "fields": list(FIELDS)}
)
NOTICE = parse_definition({**CONN.definition, "name": "zeek.notice"})


LISTS = {
    "bad_ips": ValueList("bad_ips", 3, FieldType.IP, 2, None),
    "users": ValueList("users", 1, FieldType.STRING, 9, None),
}


class Known:
    """A catalog with two sources and two lists."""

    def find_list(self, name: str) -> ValueList:
        if name not in LISTS:
            raise UserError(f"no list {name}")
        return LISTS[name]

    def find_source(self, name: str) -> Source:
        sources = {source.name: source for source in (CONN, NOTICE)}
        if name not in sources:
            raise UnknownSourceError(name, sources)
        return sources[name]


NOTES = Compare("uid", "=", "C1")
TREES: list[tuple[str, Filter]] = [
    ("src in @bad_ips", InList("src", "bad_ips")),
    ("src not in @bad-ips_2", Not(InList("src", "bad-ips_2"))),
    ("src IN @bad_ips or status = 1", Or((InList("src", "bad_ips"), Compare("status", "=", "1")))),
    ('uid in "@a".."@b"', Between("uid", "@a", "@b")),
    ("uid in @a..@b", Between("uid", "@a", "@b")),
    ("uid in (@a, b)", In("uid", ("@a", "b"))),
    ("uid in (zeek.notice | uid)", InQuery("uid", "zeek.notice", None, "uid")),
    ("uid in (zeek.notice where uid = C1 | uid)", InQuery("uid", "zeek.notice", NOTES, "uid")),
    (
        "not uid in (zeek.notice WHERE uid = C1 or src in @bad_ips | `in`)",
        Not(InQuery("uid", "zeek.notice", Or((NOTES, InList("src", "bad_ips"))), "in")),
    ),
    ('uid in ("odd source" | "a b")', InQuery("uid", "odd source", None, "a b")),
    ("where in (where, x)", In("where", ("where", "x"))),
    (
        "uid in (a.b | x) and uid in (a.b where (uid = C1) | x)",
        And((InQuery("uid", "a.b", None, "x"), InQuery("uid", "a.b", NOTES, "x"))),
    ),
]


@pytest.mark.parametrize(("text", "tree"), TREES)
def test_the_forms_are_equivalent(text: str, tree: Filter) -> None:
    assert parse_filter(text) == tree
    assert parse_filter(to_text(tree)) == tree
    assert from_json(json.loads(json.dumps(to_json(tree)))) == tree


def test_typing_finds_the_values() -> None:
    typed = read_typed_filter("ip in @bad_ips and uids in @users", CONN, catalog=Known())
    assert typed is not None
    src, dst = (InList(name, "bad_ips", LISTS["bad_ips"]) for name in ("src", "dst"))
    assert typed.tree == And((Or((src, dst)), InList("uids", "users", LISTS["users"])))
    assert list_value_lists(typed.tree) == (LISTS["bad_ips"], LISTS["users"])
    assert typed.meanings == {"ip": ("src", "dst")}


def test_typing_checks_the_query_within() -> None:
    typed = read_typed_filter("uid in (zeek.notice where status = 0404 | uids)", CONN, catalog=Known())
    assert typed is not None
    assert typed.tree == InQuery("uid", "zeek.notice", Compare("status", "=", 404), "uids")
    hosts = read_typed_filter("ip in (zeek.notice where ip in @bad_ips | source.ip)", CONN, catalog=Known())
    assert hosts is not None and isinstance(hosts.tree, Or)
    assert [child.column for child in hosts.tree.children if isinstance(child, InQuery)] == ["src", "src"]


# text, place of the caret, a part of the message
ERRORS = [
    ("src in @nothing", 7, "no list nothing"),
    ("status = 1 and ip in @nothing", 21, "no list nothing"),
    ("status in @bad_ips", 10, "field status is an int: the list @bad_ips is of the type ip"),
    ("uid in (zeek.notice | status)", 8, "field uid is a string: status of zeek.notice has values of the type int"),
    ("uid in (zeek.notices | uid)", 8, "unknown source 'zeek.notices'; did you mean zeek.notice"),
    ("uid in (zeek.notice | uidx)", 22, "has no field 'uidx'; did you mean uid"),
    ("uid in (zeek.notice | ip)", 22, "ip stands for 2 fields of zeek.notice"),
    ("uid in (zeek.notice where status = x | uid)", 35, "'x' is not a whole number"),
    ("uid in (zeek.notice where src in @nope | uid)", 33, "no list nope"),
    ("uid in (zeek.notice where uid in (zeek.notice | uid) | uid)", 26, "goes too deep"),
    ("uid in (zeek.notice where uid = a", 33, "expected | and a field"),
    ("uid in (zeek.notice |", 21, "expected a field"),
    ("uid in (zeek.notice, x | uid)", 23, "expected a closing parenthesis or a comma"),
    ("uid in @", 7, "is no network"),
]


@pytest.mark.parametrize(("text", "position", "message"), ERRORS)
def test_errors_show_their_place(text: str, position: int, message: str) -> None:
    with pytest.raises(FilterError) as error:
        read_typed_filter(text, CONN, catalog=Known())
    assert message in str(error.value)
    assert (error.value.text, error.value.position) == (text, position)


BAD_FORMS = [
    ({"field": "src", "op": "in", "list": "a b"}, "filter.list: the name of a list was expected, such as bad_ips"),
    ({"field": "src", "op": "in", "list": 1}, "filter.list: the name of a list was expected, such as bad_ips, found a"),
    ({"field": "src", "op": "in", "list": "a", "values": []}, "'values' does not belong beside"),
    ({"field": "src", "op": "in", "query": "a"}, "filter.query: an object was expected, found a string"),
    ({"field": "src", "op": "in", "query": {"source": "a"}}, "filter.query.column: a name was expected, found nothing"),
    ({"field": "a", "op": "in", "query": {"source": "a", "column": "b", "x": 1}}, "filter.query: 'x' does not belong"),
    (
        {"field": "a", "op": "in", "query": {"source": "a", "column": "b", "where": {"field": "c", "op": "?"}}},
        "filter.query.where.op: one of",
    ),
]


@pytest.mark.parametrize(("form", "message"), BAD_FORMS)
def test_bad_json_is_refused(form: object, message: str) -> None:
    with pytest.raises(FilterError) as error:
        from_json(form)
    assert message in str(error.value)


def test_a_fault_of_a_list_is_told_apart_from_one_of_the_source() -> None:
    """A query of several sources leaves out those that do not fit, but a missing list fits none."""
    with pytest.raises(ListError):
        read_typed_filter({"field": "ip", "op": "in", "list": "nothing"}, CONN, catalog=Known())
    with pytest.raises(ListError, match=r"zeek.none \| uid"):
        query = {"source": "zeek.none", "column": "uid"}
        read_typed_filter({"field": "uid", "op": "in", "query": query}, CONN, catalog=Known())


def test_a_filter_has_eight_lists_at_most() -> None:
    wheres = [f"uid in (zeek.notice where status = {n} | uid)" for n in range(MAX_LISTS - 1)]
    assert read_typed_filter(" or ".join([*wheres, "ip in @bad_ips", "src in @bad_ips"]), CONN, catalog=Known())
    with pytest.raises(ListError, match="at most 8 lists and queries"):
        read_typed_filter(" or ".join([*wheres, "ip in @bad_ips", "uid in @users"]), CONN, catalog=Known())


def test_lists_need_a_catalog() -> None:
    for text in ("src in @bad_ips", "uid in (zeek.notice | uid)"):
        with pytest.raises(FilterError, match="does not go here"):
            read_typed_filter(text, CONN)
