"""Members of objects in the lists of EVE records are fields, and never cost an event.

In `make test`: it needs no servers.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from parser_fixtures import parse
from parsing_support import DATA, log_lines, parse_file, shared_log

from watchfloor.ingest.formats.eve.object_lists import ObjectLists
from watchfloor.schema.definition import builtin_definitions

SHIPPED = builtin_definitions()
EVE_LOGS = sorted(str(path.relative_to(DATA)) for path in (DATA / "suricata").rglob("*.json")) or ["suricata"]
MEMBERS = ("rrname", "rrtype", "ttl", "rdata")
_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(MEMBERS), inner, max_size=3),
    max_leaves=12,
)


def dns_record(answers: Any) -> dict[str, Any]:
    return {"timestamp": "2024-03-05T08:00:00Z", "event_type": "dns", "dns": {"id": 7, "answers": answers}}


@pytest.mark.parametrize("name", EVE_LOGS)
def test_real_answers_are_fields(name: str) -> None:
    path = shared_log(name)
    raw = {offset: json.loads(line) for offset, line in log_lines(path)}
    loaded = parse_file(path)
    assert loaded.faults() == [] and loaded.count == len(raw)
    assert {source.name for source, _ in loaded.events} <= set(SHIPPED)
    for row in loaded.rows():
        answers = raw[row["(offset)"]].get("dns", {}).get("answers", [])
        for member in MEMBERS:
            expected = [answer[member] for answer in answers if member in answer]
            assert row.get(f"dns.answers.{member}", []) == expected
        assert not answers or json.loads(row["extra"])["dns.answers"] == answers


@given(st.lists(_json) | st.integers() | st.text())
def test_members_of_any_form_never_cost_an_event(answers: Any) -> None:
    with_answers = parse("suricata", json.dumps(dns_record(answers)).encode())
    assert with_answers.faults() == [] and with_answers.count == 1
    (row,) = with_answers.rows()
    items = answers if isinstance(answers, list) else []
    flat = [value for item in items if isinstance(item, dict) for value in as_list(item.get("rdata"))]
    assert row.get("dns.answers.rdata", []) == [value for value in flat if isinstance(value, str)]


def as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def test_members_deeper_within_objects() -> None:
    lists = ObjectLists(SHIPPED["suricata.pgsql"])
    parameters = {"optional_parameters": [{"application_name": "psql"}, {"client_encoding": "UTF8"}, 7, None]}
    record = {"pgsql": {"request": {"startup_parameters": parameters}}}
    assert lists.find_members(record) == {
        "pgsql.request.startup_parameters.optional_parameters.application_name": ["psql"]
    }
    for odd in ({}, {"pgsql": 7}, {"pgsql": {"request": [{"startup_parameters": 1}]}}, {"pgsql": []}):
        assert lists.find_members(odd) == {}


def test_a_list_that_is_a_field_itself_stays_as_it_is() -> None:
    record = {**dns_record([{"rdata": "10.0.0.1"}]), "dns.answers.rdata": ["192.0.2.1"]}
    (row,) = parse("suricata", json.dumps(record).encode()).rows()
    assert row["dns.answers.rdata"] == ["192.0.2.1"]
