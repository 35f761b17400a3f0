"""Names in filters: own fields, ECS names and kinds, each an or of conditions that the oracle evaluates by hand.

In `make test`: it needs no servers.
"""

from __future__ import annotations

import re
from dataclasses import replace
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import pytest
from drawn_filters import leaves, trees
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import Event, holds

from watchfloor.schema.definition import parse_definition
from watchfloor.schema.errors import FilterError, UnknownFieldError, UserError
from watchfloor.schema.field import Field, FieldType
from watchfloor.schema.filter.json_form import from_json, to_json
from watchfloor.schema.filter.names import describe_meanings, find_single_field, resolve_name
from watchfloor.schema.filter.parse import parse_filter
from watchfloor.schema.filter.patterns import MAX_PATTERNS
from watchfloor.schema.filter.print import to_text
from watchfloor.schema.filter.syntax.limits import MAX_DEPTH, MAX_TERMS
from watchfloor.schema.filter.tree import And, Cidr, Compare, Exists, Filter, In, Matches, Not, Or, list_fields
from watchfloor.schema.filter.type_check import read_filter, read_typed_filter, type_filter
from watchfloor.schema.filter.type_tree import MAX_VALUES

NOW = 1_456_833_600_000_000
PAGE = (Path(__file__).parents[3] / "docs/using/fields.md").read_text("utf-8")
FIELDS: dict[str, tuple[str, str]] = {
    "src": ("ip", "source.ip"),
    "dst": ("ip", "destination.ip"),
    "client": ("string", "source.address"),
    "answers": ("list of ip", "dns.resolved_ip"),
    "sport": ("port", "source.port"),
    "ports": ("list of int", "destination.port"),
    "query": ("string", "dns.question.name"),
    "names": ("list of string", "dns.question.name"),
    "user": ("string", "file.path"),
    "owner": ("string", "user.name"),
    "hash": ("int", ""),
    "md5": ("string", "file.hash.md5"),
    "size": ("int", "file.size"),
    "ok": ("bool", "tls.resumed"),
}
"""Type and ECS name by field. ``user`` and ``hash`` have the names of kinds, but are of another kind and of none."""


def make_field(name: str, kind: str, ecs: str) -> dict[str, Any]:
    out = (
        {"name": name, "type": "list", "items": kind[8:]}
        if kind.startswith("list of ")
        else {"name": name, "type": kind}
    )
    return out | ({"ecs": ecs} if ecs else {})


SOURCE = parse_definition(
    {
        "name": "lab.net",
        "parser": {"format": "json"},
        "timestamp": {"field": "ts"},
        "fields": [{"name": "ts", "type": "time"}, *(make_field(name, *rest) for name, rest in FIELDS.items())],
    }
)
NET = ip_network("10.0.0.0/8")


def read(where: str | dict[str, Any]) -> Filter:
    tree = read_filter(where, SOURCE, NOW)
    assert tree is not None
    return tree


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("src", "src"),
        ("source.ip", "src"),
        ("ip", "src dst client answers"),
        ("port", "sport ports"),
        ("domain", "query names"),
        ("dns.question.name", "query names"),
        ("user", "user"),
        ("user.name", "owner"),
        ("hash", "hash"),
        ("file", "user"),
        ("file.size", "size"),
    ],
)
def test_a_name_stands_for_fields(name: str, fields: str) -> None:
    assert [field.name for field in resolve_name(SOURCE, name)] == fields.split()


@pytest.mark.parametrize(
    ("where", "same"),
    [
        ("source.ip = 10.1.2.3", "src = 10.1.2.3"),
        (
            "ip in 10.0.0.0/8",
            "src in 10.0.0.0/8 or dst in 10.0.0.0/8 or client in 10.0.0.0/8 or answers in 10.0.0.0/8",
        ),
        ("ip in (a, 10.1.0.0/16)", "client in (a, 10.1.0.0/16)"),
        ("domain = *.example.com", 'query like "*.example.com" or names like "*.example.com"'),
        ("domain != *.example.com", 'not (query like "*.example.com" or names like "*.example.com")'),
        ("port = 80", "sport = 80 or ports = 80"),
        ("port = 70000", "ports = 70000"),
        ("port != 80", "sport != 80 and ports != 80"),
        ("port not in (80, 443)", "not (sport in (80, 443) or ports in (80, 443))"),
        ("port in 80..90", "sport in 80..90 or ports in 80..90"),
        ("exists domain", "exists query or exists names"),
        ("user = a and user.name = a", "user = a and owner = a"),
        ("hash = 5", "hash = 5"),
        ("ip startswith web", "client startswith web"),
        ("ip = web", "client = web"),
        ("tls.resumed = yes", "ok = yes"),
        ("`source.ip` = ::1 or 'domain' > z", "src = ::1 or (query > z or names > z)"),
        ("ip in (::1, web)", "client in (::1, web)"),
    ],
)  # fmt: skip
def test_a_condition_is_one_on_each_field(where: str, same: str) -> None:
    assert read(where) == read(same)
    assert read(to_json(parse_filter(where))) == read(same)


def test_networks_in_a_list_stand_beside_those_of_other_fields() -> None:
    tree = read_filter("ip in (10.0.0.0/8, ::1)", SOURCE)
    assert isinstance(tree, Or) and len(tree.children) == 8
    assert {type(child) for child in tree.children} == {Cidr, In, Matches}


def test_meanings_are_those_that_the_filter_uses() -> None:
    typed = read_typed_filter("ip in 10.0.0.0/8 and src = ::1 or not (source.ip = ::2 and port = 80)", SOURCE)
    assert typed is not None
    ips, ports = ("src", "dst", "client", "answers"), ("sport", "ports")
    assert typed.meanings == {"ip": ips, "source.ip": ("src",), "port": ports}
    assert describe_meanings(typed.meanings)[0] == "ip stands for src, dst, client, answers"
    typed = read_typed_filter("ip = ::1 or ip = web", SOURCE)
    assert typed is not None and set(typed.meanings["ip"]) == {"src", "dst", "answers", "client"}
    plain = read_typed_filter("src = ::1 and hash = 5", SOURCE)
    assert plain is not None and plain.meanings == {} and read_typed_filter(None, SOURCE) is None


def test_one_field_is_found_by_its_meaning() -> None:
    assert find_single_field(SOURCE, "source.ip").name == find_single_field(SOURCE, "src").name == "src"
    assert find_single_field(SOURCE, "file").name == "user"
    with pytest.raises(UserError, match=r"domain stands for 2 fields of lab\.net: query, names; name one of them"):
        find_single_field(SOURCE, "domain")
    with pytest.raises(UnknownFieldError):
        find_single_field(SOURCE, "email")


@pytest.mark.parametrize(
    ("where", "message", "caret"),
    [
        ("source.ipp = ::1", "lab.net has no field 'source.ipp'; did you mean source.ip", 0),
        ("ok = t and prt = 1", "did you mean .*port", 11),
        ("email = a", "has no field 'email'", 0),
        ("destination.mac = a", "has no field 'destination.mac'", 0),
        ("IP = ::1", "has no field 'IP'", 0),
        ("ip in 10.0.0.0/8 and domain in 10.0.0.0/8", "field query is a string: a network fits addresses only", 31),
        ("ok = t and port = x", "field sport is a port: 'x' is not a port number", 18),
        ("port in 9..8", "field sport is a port: the range is empty", 8),
        ("domain ~ /(/", "field query is a string: the pattern does not fit", 9),
        ("tls.resumed > f", "field ok is a bool: a bool has no order", 14),
        ("ip = 10.0.0.0/8 and port = x", "field sport is a port", 27),
    ],
)
def test_what_does_not_fit_is_refused_at_its_place(where: str, message: str, caret: int) -> None:
    with pytest.raises(FilterError, match=message) as caught:
        read_filter(where, SOURCE)
    assert caught.value.position == caret
    with pytest.raises(FilterError, match=message):
        read_filter(to_json(parse_filter(where)), SOURCE)


def test_other_names_are_suggested_but_not_listed() -> None:
    with pytest.raises(UnknownFieldError) as caught:
        read_filter("zzzzzz = 1", SOURCE)
    assert "; known are answers, client, " in caught.value.message and "source.ip" not in caught.value.message


def test_limits_hold_for_what_a_filter_stands_for() -> None:
    half = {"field": "port", "op": "in", "values": list(range(MAX_TERMS // 2))}
    assert read_filter(half, SOURCE)
    with pytest.raises(FilterError, match=f"has {MAX_TERMS + 2:,} terms"):
        read_filter({**half, "values": list(range(MAX_TERMS // 2 + 1))}, SOURCE)
    one_fits = {"field": "ip", "op": "in", "values": [f"h{n}" for n in range(MAX_TERMS)]}
    assert read_filter(one_fits, SOURCE) is not None, "fields that are left out do not count"
    pattern = " or ".join(["domain like a*bbbbbb"] * (MAX_PATTERNS // 8))
    assert read_filter(pattern, SOURCE)
    with pytest.raises(FilterError, match="the filter's patterns have 10,0"):
        read_filter(f"{pattern} or domain like a*bbbbbb", SOURCE)
    long = {"field": "domain", "op": "=", "value": "a" * (MAX_VALUES // 2)}
    assert read_filter(long, SOURCE)
    with pytest.raises(FilterError, match="values have more than"):
        read_filter({**long, "value": "a" * (MAX_VALUES // 2 + 1)}, SOURCE)
    deep: Filter = Exists("src")
    for _ in range(MAX_DEPTH - 1):
        deep = Not(deep)
    assert type_filter(deep, SOURCE) == deep
    wide: Filter = Exists("ip")
    for _ in range(MAX_DEPTH - 1):
        wide = Not(wide)
    with pytest.raises(FilterError, match="deeper than"):
        type_filter(wide, SOURCE)


def test_examples_of_the_page_fit_sources_that_ship() -> None:
    block = "".join(re.findall(r"```filter\n(.*?)```", PAGE, re.DOTALL))
    lines = block.splitlines()
    assert len(lines) == 4
    everything = parse_definition(
        {
            **SOURCE.definition,
            "fields": [
                make_field(name, "string" if kind == "int" else kind, ecs)
                for name, (kind, ecs) in FIELDS.items()
                if name not in ("hash", "size")
            ]
            + [{"name": "ts", "type": "time"}],
        }
    )
    for line in lines:
        assert read_filter(line, everything) is not None


MEANINGS = (
    "ip",
    "source.ip",
    "destination.ip",
    "port",
    "domain",
    "dns.question.name",
    "user.name",
    "file",
    "md5",
    "hash",
)
POOLS: dict[FieldType, list[Any]] = {
    FieldType.IP: ["10.0.0.1", "10.9.0.1", "192.0.2.1", "::1"],
    FieldType.STRING: ["", "a", "10.0.0.1", "www.example.com", "x"],
    FieldType.INT: [0, 80, 443, 70_000],
    FieldType.PORT: [0, 80, 443],
    FieldType.BOOL: [True, False],
}


def conditions(name: str, scalar: FieldType) -> st.SearchStrategy[Filter]:
    return leaves(Field(name, scalar), POOLS[scalar])


NAMED = trees(
    st.one_of(
        [conditions(name, scalar) for name in MEANINGS for scalar in {f.scalar for f in resolve_name(SOURCE, name)}]
        + [conditions(f.name, f.scalar) for f in SOURCE.fields if f.scalar in POOLS]
    )
)
VALUES = {
    f.name: st.none()
    | (
        st.lists(st.none() | st.sampled_from(POOLS[f.scalar]), max_size=3)
        if f.is_list
        else st.sampled_from(POOLS[f.scalar])
    )
    for f in SOURCE.fields
    if f.scalar in POOLS
}
EVENTS = st.lists(st.fixed_dictionaries(VALUES), min_size=1, max_size=5)


def holds_by_hand(tree: Filter, event: Event) -> bool:
    """Returns whether an untyped tree is true of an event: any of the fields that its names stand for."""
    if isinstance(tree, And):
        return all(holds_by_hand(child, event) for child in tree.children)
    if isinstance(tree, Or):
        return any(holds_by_hand(child, event) for child in tree.children)
    if isinstance(tree, Not):
        return not holds_by_hand(tree.child, event)
    if isinstance(tree, Compare) and tree.op == "!=":
        return not holds_by_hand(Compare(tree.field, "=", tree.value), event)
    if tree.field in FIELDS:
        names = [tree.field]
    else:
        kinds = {f.name: f for f in SOURCE.fields}
        names = [n for n in FIELDS if tree.field == FIELDS[n][1]] or [n for n in FIELDS if kinds[n].kind == tree.field]
    return any(holds(one, event) for one in fitting_conditions(tree, names))


def fitting_conditions(tree: Any, names: list[str]) -> list[Filter]:
    found = []
    for name in names:
        try:
            found.append(type_filter(replace(tree, field=name), SOURCE))
        except FilterError:
            continue
    return found


@given(NAMED, EVENTS)
@settings(max_examples=400, deadline=None)
def test_a_name_is_any_of_its_fields(tree: Filter, events: list[Event]) -> None:
    # The values of a JSON form are words, which fit more types: an address is a string as well.
    for untyped in (tree, from_json(to_json(tree))):
        typed = type_filter(untyped, SOURCE)
        assert list_fields(typed) <= {*FIELDS, "ts"}
        assert type_filter(typed, SOURCE) == typed, "a typed tree comes back equal"
        assert type_filter(parse_filter(to_text(typed)), SOURCE) == typed
        for event in events:
            assert holds(typed, event) == holds_by_hand(untyped, event)
