"""Correlations of every kind over drawn events tell what an oracle tells that looks at each window.

In `make test`: it needs no servers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pytest
from correlation_oracle import OracleMatch, tell_correlation
from hypothesis import given, settings
from hypothesis import strategies as st
from rule_tables import add_ids, hunt_documents, to_told

from watchfloor.schema.definition import parse_definition
from watchfloor.schema.source import Source
from watchfloor.schema.times import to_micros

KINDS = {"user": "string", "port": "port", "number": "int", "ok": "bool", "ip": "ip"}
RULES = {"one": "a", "two": "b", "both": ["a", "b"]}
"""The rules of these tests, by name, and the values of ``mark`` that they match."""


def make_source(name: str, **kinds: str) -> Source:
    fields = [{"name": field, "type": kind} for field, kind in {"ts": "time", "mark": "string", **kinds}.items()]
    return parse_definition(
        {"name": name, "parser": {"format": "json"}, "timestamp": {"field": "ts"}, "fields": fields}
    )


SOURCE = make_source("zeek.made", **KINDS)
EVENTS = st.lists(
    st.fixed_dictionaries(
        {
            # Times that lie at, just within and just beyond the spans of the tests.
            "ts": st.builds(lambda n, k: n * 1_000_000 + k, st.integers(0, 40), st.sampled_from([0, 0, 1, -1])),
            "mark": st.sampled_from(["a", "b", "c"]),
            "user": st.sampled_from([None, "ann", "Ann", "bob"]),
            "port": st.sampled_from([None, 80, 443]),
            "number": st.sampled_from([None, -1, 0, 5]),
            "ok": st.sampled_from([None, True, False]),
            "ip": st.sampled_from([None, "10.0.0.1", "2001:db8::1"]),
        }
    ),
    max_size=25,
)
GROUPS = st.lists(st.sampled_from(["user", "port", "ip", "ok"]), max_size=2, unique=True)
SPANS = st.sampled_from(["1s", "3s", "10s", "1m"])
COUNTS = st.builds(lambda op, n: {op: n}, st.sampled_from(["lt", "lte", "gt", "gte", "eq"]), st.integers(0, 5))
NAMES = st.lists(st.sampled_from(sorted(RULES)), min_size=1, max_size=3, unique=True)
LOGIC = st.sampled_from(["one and two", "one and not two", "one or two", "not (one or two)", "two and not one"])


def make_rule(name: str, marks: Any, service: str = "made") -> dict[str, Any]:
    return {
        "title": f"Rule {name}",
        "name": name,
        "logsource": {"product": "zeek", "service": service},
        "detection": {"sel": {"mark": marks}, "condition": "sel"},
    }


def correlate(correlation: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    return {"title": "The correlation", "id": "c0", "level": "high", "correlation": correlation, **more}


BASE = [make_rule(name, marks) for name, marks in RULES.items()]


def make_table(source: Source, rows: list[dict[str, Any]]) -> tuple[Source, pa.Table]:
    columns = [pa.array([row.get(field.name) for row in rows], field.type) for field in source.arrow_schema]
    return add_ids(source, pa.table(columns, source.arrow_schema))


def list_oracle_matches(tables: list[tuple[Source, pa.Table]], rules: Mapping[str, Any]) -> list[OracleMatch]:
    return [
        OracleMatch(name, to_micros(row["ts"]), row["_id"], row)
        for name, marks in rules.items()
        for _, table in tables
        for row in table.to_pylist()
        if row["mark"] in marks
    ]


def assert_as_told(correlation: dict[str, Any], rows: list[dict[str, Any]]) -> None:
    table = make_table(SOURCE, rows)
    named = {name: RULES[name] for name in correlation["rules"]}
    found = hunt_documents([*BASE, correlate(correlation)], table)
    expected = tell_correlation(correlation, list_oracle_matches([table], named))
    assert to_told(found.get("The correlation", [])) == expected
    assert not {f"Rule {name}" for name in named} & set(found)


@settings(max_examples=150, deadline=None)
@given(EVENTS, NAMES, GROUPS, SPANS, COUNTS)
def test_events_are_counted(
    rows: list[dict[str, Any]], names: list[str], groups: list[str], span: str, count: dict[str, int]
) -> None:
    assert_as_told(
        {"type": "event_count", "rules": names, "group-by": groups, "timespan": span, "condition": count}, rows
    )


@settings(max_examples=150, deadline=None)
@given(EVENTS, NAMES, GROUPS, SPANS, COUNTS, st.sampled_from(["user", "number", "port", "ok", ["user", "number"]]))
def test_values_are_counted(
    rows: list[dict[str, Any]], names: list[str], groups: list[str], span: str, count: dict[str, int], field: Any
) -> None:
    condition = {**count, "field": field}
    assert_as_told(
        {"type": "value_count", "rules": names, "group-by": groups, "timespan": span, "condition": condition}, rows
    )


@settings(max_examples=150, deadline=None)
@given(EVENTS, NAMES, GROUPS, SPANS, st.none() | COUNTS)
def test_rules_are_counted(
    rows: list[dict[str, Any]], names: list[str], groups: list[str], span: str, count: dict[str, int] | None
) -> None:
    condition = {} if count is None else {"condition": count}
    assert_as_told({"type": "temporal", "rules": names, "group-by": groups, "timespan": span, **condition}, rows)


@settings(max_examples=150, deadline=None)
@given(EVENTS, GROUPS, SPANS, LOGIC)
def test_rules_are_joined_by_words(rows: list[dict[str, Any]], groups: list[str], span: str, condition: str) -> None:
    assert_as_told(
        {"type": "temporal", "rules": ["one", "two"], "group-by": groups, "timespan": span, "condition": condition},
        rows,
    )


@settings(max_examples=200, deadline=None)
@given(EVENTS, st.permutations(sorted(RULES)), st.integers(1, 3), GROUPS, SPANS)
def test_rules_follow_one_another(
    rows: list[dict[str, Any]], names: list[str], many: int, groups: list[str], span: str
) -> None:
    assert_as_told({"type": "temporal_ordered", "rules": names[:many], "group-by": groups, "timespan": span}, rows)


def test_a_run_of_windows_is_told_once_and_a_gap_begins_another() -> None:
    rows = [{"ts": at * 1_000_000, "mark": "a", "user": "ann"} for at in (0, 1, 2, 3, 4, 60, 61, 62)]
    counted = {
        "type": "event_count", "rules": ["one"], "group-by": ["user"], "timespan": "5s", "condition": {"gte": 3}
    }  # fmt: skip
    tagged = correlate(counted, tags=["attack.t1110"])
    (later, first) = hunt_documents([*BASE, tagged], make_table(SOURCE, rows))["The correlation"]
    assert (first["time"].second, first["event"]["count"]) == (2, 5)
    assert first["event"]["first"] == "1970-01-01T00:00:00.000000Z"
    assert first["event"]["last"] == "1970-01-01T00:00:04.000000Z"
    assert (first["level"], first["id"], first["tags"], first["source"]) == (
        "high",
        "c0",
        ["attack.t1110"],
        "zeek.made",
    )
    assert first["event"]["group"] == {"user": "ann"} and first["event"]["rules"] == ["Rule one"]
    assert first["event"]["events"] == [f"{number}-zeek.made" for number in range(5)]
    assert (later["time"].minute, later["time"].second, later["event"]["count"]) == (1, 2, 3)
    assert first["event_id"] != later["event_id"]


def test_a_window_is_shorter_than_its_length_at_its_beginning() -> None:
    counted = {"type": "event_count", "rules": ["one"], "timespan": "5s", "condition": {"gte": 2}}
    for gap, told in ((4_999_999, 1), (5_000_000, 0)):
        rows = [{"ts": at, "mark": "a"} for at in (0, gap)]
        found = hunt_documents([*BASE, correlate(counted)], make_table(SOURCE, rows))
        assert len(found.get("The correlation", [])) == told


def test_rules_are_told_by_themselves_if_a_correlation_generates_them() -> None:
    rows = [{"ts": at, "mark": "a"} for at in (0, 1)]
    counted = {"type": "event_count", "rules": ["one"], "timespan": "5s", "condition": {"gte": 2}}
    silent = hunt_documents([*BASE, correlate(counted)], make_table(SOURCE, rows))
    spoken = hunt_documents([*BASE, correlate({**counted, "generate": True})], make_table(SOURCE, rows))
    assert sorted(silent) == ["Rule both", "The correlation"]
    assert sorted(spoken) == ["Rule both", "Rule one", "The correlation"]


def test_aliases_join_fields_of_two_sources() -> None:
    other = make_source("zeek.other", addr="ip", account="string")
    one = make_table(SOURCE, [{"ts": 1, "mark": "a", "user": "ann", "ip": "10.0.0.1"}, {"ts": 2, "mark": "a"}])
    two = make_table(other, [{"ts": 3, "mark": "x", "addr": "10.0.0.1"}, {"ts": 4, "mark": "x", "addr": "10.0.0.9"}])
    joined = {
        "type": "temporal",
        "rules": ["one", "far"],
        "group-by": ["address"],
        "timespan": "1m",
        "aliases": {"address": {"one": "ip", "far": "addr"}},
    }
    (told,) = hunt_documents([*BASE, make_rule("far", "x", "other"), correlate(joined)], one, two)["The correlation"]
    assert told["event"]["group"] == {"address": "10.0.0.1"}
    assert told["source"] == "zeek.made,zeek.other"
    assert told["event"]["events"] == ["0-zeek.made", "0-zeek.other"]


def test_correlations_stand_in_correlations() -> None:
    marks = "aaab" + "b" + "aab"
    rows = [{"ts": at * 1_000_000, "mark": mark, "user": "ann"} for at, mark in enumerate(marks)]
    many = {"type": "event_count", "rules": ["one"], "group-by": ["user"], "timespan": "4s", "condition": {"gte": 3}}
    then = {"type": "temporal_ordered", "rules": ["many", "two"], "group-by": ["user"], "timespan": "3s"}
    documents = [
        correlate(then),  # before the rules that it names
        {"title": "Many", "name": "many", "correlation": many},
        *BASE,
    ]
    (told,) = hunt_documents(documents, make_table(SOURCE, rows))["The correlation"]
    assert (told["time"].second, told["event"]["rules"]) == (3, ["Many", "Rule two"])


@pytest.mark.parametrize("kind", ["event_count", "temporal", "temporal_ordered"])
def test_no_matches_are_no_match(kind: str) -> None:
    condition = {"condition": {"lt": 5}} if kind == "event_count" else {}
    counted = {"type": kind, "rules": ["one", "two"], "timespan": "5s", **condition}
    assert not hunt_documents([*BASE, correlate(counted)], make_table(SOURCE, []))
