"""Fields have ECS names and kinds: the tables agree, shipped definitions have names, and stored ones take them over.

In `make test`: it needs no servers.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from watchfloor.schema.definition import add_fields, builtin_definitions, parse_definition
from watchfloor.schema.errors import DefinitionError
from watchfloor.schema.field import Field, FieldType
from watchfloor.schema.meaning.ecs import ECS_NAMES, ECS_VERSION, KINDS, can_have_type, find_kind, is_ecs_name
from watchfloor.schema.meaning.guess import guess_ecs_name
from watchfloor.schema.source import Source

PAGE = (Path(__file__).parents[2] / "docs/using/fields.md").read_text("utf-8")
CURATED = builtin_definitions()
SHARED = {
    "zeek.http": {"file.name": 3},  # of older versions, sent by the client, and by the server
    "zeek.dhcp": {"related.ip": 2, "host.ip": 2},  # of messages and their relays, and of two generations of the log
    "zeek.socks": {"related.ip": 2},
    "zeek.smtp": {
        "email.from.address": 2,
        "email.to.address": 2,
        "related.ip": 2,
    },  # of the envelope, and of the letter
    "zeek.radius": {"related.ip": 2},
    "zeek.files": {"related.ip": 2},
    "zeek.ftp": {"related.ip": 2},
    "zeek.notice": {"source.ip": 2, "destination.ip": 2, "destination.port": 2},  # of the connection, and of the notice
    # Who acts and on whom; logons and connections; of programs that start and of those that do something.
    "windows.security": dict.fromkeys(
        ("user.name", "user.domain", "user.id", "related.hosts", "source.ip", "source.port", "process.executable"), 2
    ),
    "suricata.dns": {  # of the versions of the record, and one field for each type of answer
        "dns.question.name": 2,
        "dns.question.type": 2,
        "dns.answers.ttl": 2,
        "dns.answers.data": 7,
        "dns.resolved_ip": 2,
    },
    "suricata.arp": {"source.ip": 2, "destination.ip": 2},
    "suricata.dhcp": {"related.ip": 5},
    "suricata.smtp": {"email.from.address": 2, "email.to.address": 2},  # of the envelope, and of the letter
}
"""The ECS names that several fields of a shipped definition have."""


def source_with(*fields: dict[str, Any]) -> Source:
    return parse_definition(
        {
            "name": "lab.door",
            "parser": {"format": "json"},
            "timestamp": {"field": "ts"},
            "fields": [{"name": "ts", "type": "time"}, *fields],
        },
        "door.json",
    )


def test_the_table_of_names() -> None:
    assert find_kind("source.ip") == "ip" and find_kind("destination.port") == "port"
    assert find_kind("dns.question.name") == "domain" and find_kind("file.hash.sha256") == "hash"
    assert find_kind("http.request.method") is None and find_kind("no.name") is None and find_kind("") is None
    assert is_ecs_name("http.request.method") and not is_ecs_name("ip") and not is_ecs_name("")
    assert set(ECS_NAMES.values()) - {""} == set(KINDS)
    assert not set(KINDS) & set(ECS_NAMES), "a name of a filter is a kind or an ECS name, not both"
    assert {scalar for types in KINDS.values() for scalar in types} <= {kind.value for kind in FieldType}
    assert list(ECS_NAMES) == sorted(ECS_NAMES)
    assert can_have_type("source.ip", "string") and not can_have_type("source.ip", "bool")
    assert can_have_type("http.version", "bool") and can_have_type("", "bool"), "without a kind nothing is known"


def test_the_page_has_every_kind_and_the_version() -> None:
    rows = {line.split("`")[1]: line for line in PAGE.splitlines() if line.startswith("| `")}
    assert set(rows) == set(KINDS)
    for kind, row in rows.items():
        assert row.split("|")[2].strip() == ", ".join(KINDS[kind])
        named = row.split("`")[3::2]
        assert named and {find_kind(name) for name in named} == {kind}
    assert f"ECS {ECS_VERSION}" in PAGE


@pytest.mark.parametrize(
    ("name", "scalar", "ecs"),
    [
        ("src_ip", "ip", "source.ip"),
        ("src_ip", "string", "source.ip"),
        ("SRC-IP", "ip", "source.ip"),
        ("id.orig_h", "ip", "source.ip"),
        ("id.resp_p", "port", "destination.port"),
        ("dst_port", "int", "destination.port"),
        ("user", "string", "user.name"),
        ("username", "string", "user.name"),
        ("md5", "string", "file.hash.md5"),
        ("ts", "time", "@timestamp"),
        ("source.ip", "ip", "source.ip"),
        ("http.version", "string", "http.version"),
        ("source.ip", "bool", ""),
        ("tags", "string", ""),
        ("src_ip", "int", ""),
        ("src", "string", ""),
        ("user", "int", ""),
        ("ts", "string", ""),
        ("colour", "string", ""),
        ("ip", "ip", "related.ip"),
        ("", "string", ""),
        ("kind", "", ""),
    ],
)
def test_names_are_guessed_by_name_and_type(name: str, scalar: str, ecs: str) -> None:
    assert guess_ecs_name(name, scalar) == ecs


def test_the_table_of_common_names() -> None:
    rows = json.loads((files("watchfloor.schema.meaning") / "common_names.json").read_text("utf-8"))
    for row in rows:
        assert is_ecs_name(row["ecs"]) and set(row["types"]) <= {kind.value for kind in FieldType}
        for scalar in row["types"]:
            assert can_have_type(row["ecs"], scalar), row
            assert {guess_ecs_name(name, scalar) for name in row["names"]} == {row["ecs"]}, row


@pytest.mark.parametrize("name", sorted(CURATED))
def test_every_address_and_port_that_ships_has_a_name(name: str) -> None:
    source = CURATED[name]
    assert source.fields_by_name[source.time_field].ecs == "@timestamp"
    for field in source.fields:
        if field.scalar in (FieldType.IP, FieldType.PORT):
            assert field.kind == field.scalar.value, field.name
    names = Counter(field.ecs for field in source.fields if field.ecs)
    assert {ecs: count for ecs, count in names.items() if count > 1} == SHARED.get(name, {})


@pytest.mark.parametrize("name", sorted(name for name in CURATED if name.startswith("zeek.")))
def test_what_is_guessed_of_a_zeek_log_is_what_ships(name: str) -> None:
    for field in CURATED[name].fields:
        assert guess_ecs_name(field.name, field.scalar.value) in ("", field.ecs), field.name


def test_sources_mean_the_same_by_the_same_name() -> None:
    for name, ecs in {
        "zeek.conn": "source.ip destination.ip source.port destination.port network.transport",
        "netflow.events": "source.ip destination.ip source.port destination.port network.transport source.bytes",
        "suricata.flow": "source.ip destination.ip source.port destination.port network.transport source.bytes",
        "dns.events": "source.ip destination.ip dns.question.name dns.response_code",
        "zeek.dns": "source.ip destination.ip dns.question.name dns.response_code",
        "proxy.events": "source.ip url.domain user.name user_agent.original http.response.status_code",
        "zeek.http": "source.ip url.domain user.name user_agent.original http.response.status_code",
        "web.access": "source.address user.name user_agent.original http.response.status_code",
        "auth.events": "source.ip user.name host.name process.name event.outcome",
    }.items():
        assert set(ecs.split()) <= set(CURATED[name].fields_by_meaning), name


def test_a_definition_carries_names() -> None:
    source = source_with(
        {"name": "who", "type": "ip", "indexed": True, "visibility": "a", "ecs": "source.ip"},
        {"name": "seen", "type": "list", "items": "ip", "ecs": "related.ip"},
        {"name": "how", "type": "string", "ecs": "http.request.method"},
        {"name": "any", "type": "string"},
    )
    assert [(f.ecs, f.kind) for f in source.fields[1:]] == [
        ("source.ip", "ip"), ("related.ip", "ip"), ("http.request.method", ""), ("", "")
    ]  # fmt: skip
    assert parse_definition(source.to_json()) == source
    assert [f.to_json() for f in source.fields] == source.definition["fields"]
    assert source.fields_by_meaning["ip"] == source.fields[1:3]
    assert source.fields_by_meaning["source.ip"] == (source.fields[1],)
    assert set(source.fields_by_meaning) == {"ip", "source.ip", "related.ip", "http.request.method"}


@pytest.mark.parametrize(
    ("field", "message"),
    [
        ({"type": "ip", "ecs": "source.ipp"}, r"door.json.fields\[1\].ecs: .*source.ipp.* is no known .* source.ip"),
        ({"type": "ip", "ecs": "ip"}, r"fields\[1\].ecs: .*ip"),
        ({"type": "ip", "ecs": "Source.IP"}, r"fields\[1\].ecs: .* is no known name of ECS 8"),
        ({"type": "ip", "ecs": "source.ip\n"}, r"fields\[1\].ecs"),
        ({"type": "ip", "ecs": ""}, r"fields\[1\].ecs"),
        ({"type": "ip", "ecs": 1}, r"fields\[1\].ecs"),
        ({"type": "ip", "ecs": ["source.ip"]}, r"fields\[1\].ecs"),
        ({"type": "ip", "ecs": None}, r"fields\[1\].ecs"),
        ({"type": "ip", "ecs": "a" * 201}, r"fields\[1\].ecs"),
        ({"type": "bool", "ecs": "source.ip"}, "source.ip is of kind ip, whose values are ip or string; 'n' is bool"),
        ({"type": "float", "ecs": "source.port"}, "of kind port"),
        ({"type": "list", "items": "int", "ecs": "user.name"}, "of kind user.*'n' is list of int"),
        ({"type": "ip", "kind": "ip"}, "kind"),
    ],
)
def test_a_wrong_name_is_refused_with_its_place(field: dict[str, Any], message: str) -> None:
    with pytest.raises(DefinitionError, match=message):
        source_with({"name": "n", **field})


def test_a_stored_definition_takes_names_over() -> None:
    stored = source_with({"name": "who", "type": "ip"}, {"name": "what", "type": "string"})
    newer = source_with(
        {"name": "who", "type": "ip", "indexed": True, "ecs": "source.ip"},
        {"name": "what", "type": "ip", "ecs": "destination.ip"},
        {"name": "more", "type": "port", "ecs": "source.port"},
    )
    taken = add_fields(stored, newer.fields)
    assert [(f.name, f.type, f.ecs, f.is_indexed) for f in taken.fields[1:]] == [
        ("who", FieldType.IP, "source.ip", False),
        ("what", FieldType.STRING, "", False),  # another type: the name may not fit
        ("more", FieldType.PORT, "source.port", False),
    ]
    assert add_fields(taken, newer.fields) is taken
    assert add_fields(taken, stored.fields) is taken, "an older definition takes no name away"
    other = [replace(newer.fields[1], ecs="client.ip")]
    assert add_fields(taken, other) is taken, "a name that people have chosen stays"
    assert taken.adopt_ecs_names(other, replaced=True).fields[1].ecs == "client.ip"
    assert parse_definition(taken.to_json()) == taken
    with pytest.raises(DefinitionError, match="no known name"):
        add_fields(stored, [Field("unknown", FieldType.IP, ecs="no.name")])


def test_a_definition_without_names_is_as_it_was() -> None:
    source = source_with({"name": "who", "type": "ip"})
    assert "ecs" not in source.to_json() and source.fields_by_meaning == {}
    assert add_fields(source, source.fields) is source
