"""Fields of JSON lines are made from the paths that a definition names; what fits no field is kept or rejects a line.

In `make test`: it needs no servers.
"""

from __future__ import annotations

import json
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from parser_fixtures import parse

from watchfloor.ingest.formats.json.format import JsonFormat
from watchfloor.ingest.formats.registry import check_format
from watchfloor.schema.definition import parse_definition
from watchfloor.schema.errors import DefinitionError
from watchfloor.schema.source import Source

FIELDS = [
    {"name": "ts", "type": "time"},
    {"name": "user", "type": "string"},
    {"name": "port", "type": "port"},
    {"name": "ok", "type": "bool"},
    {"name": "seconds", "type": "float"},
    {"name": "ips", "type": "list", "items": "ip"},
    {"name": "names", "type": "list", "items": "string"},
    {"name": "body", "type": "string"},
    {"name": "bucket", "type": "string"},
    {"name": "level", "type": "int"},
]
RULES: dict[str, Any] = {
    "ts": {"from": ["meta.time", "when"]},
    "user": {"from": ["who.name", "who.id"], "convert": ["lower"]},
    "seconds": {"from": "took.ms", "scale": 0.001},
    "ips": {"from": "hosts.net.ip"},
    "names": {"from": "hosts.name", "convert": ["upper"]},
    "bucket": {"from": "body.bucket.name"},
    "level": {"values": {"high": "3"}, "required": True},
}


def mapped(keep: bool = True, **parser: Any) -> Source:
    return parse_definition(
        {
            "name": "lab.mapped",
            "parser": {"format": "json", "fields": RULES, **parser},
            "timestamp": {"field": "ts", "format": "iso8601"},
            "unknown_fields": "extra" if keep else "quarantine",
            "fields": [*FIELDS, *([{"name": "extra", "type": "string"}] if keep else [])],
        }
    )


def read(*lines: dict[str, Any] | bytes, source: Source | None = None) -> tuple[list[dict[str, Any]], list[str]]:
    data = b"\n".join(line if isinstance(line, bytes) else orjson.dumps(line) for line in lines)
    loaded = parse("lab.mapped", data, sources=(source or mapped(),))
    rows = loaded.rows()
    for row in rows:
        del row["(offset)"], row["source"]
        row.pop("ts")
    return rows, [reason for _, reason in loaded.faults()]


def one(line: dict[str, Any], source: Source | None = None) -> dict[str, Any]:
    (row,), faults = read({"when": "2026-03-05T08:00:00Z", **line}, source=source)
    assert not faults
    return row


def test_values_are_converted_to_the_types_of_their_fields() -> None:
    assert one({"who": {"name": "Eva"}, "port": "80", "ok": "true", "took": {"ms": 1500}, "level": "high"}) == {
        "user": "eva",
        "port": 80,
        "ok": True,
        "seconds": 1.5,
        "level": 3,
    }
    assert one({"who.id": 7, "ok": False, "took.ms": "2.5", "level": 4}) == {
        "user": "7",
        "ok": False,
        "seconds": 0.0025,
        "level": 4,
    }
    assert one({"who": {"name": None, "id": "B"}, "port": ""}) == {"user": "b"}
    assert one({"who": {"name": "-"}}) == {}


def test_paths_lead_through_arrays_and_into_objects_that_are_fields_themselves() -> None:
    hosts = [{"name": "a", "net": [{"ip": "192.0.2.1"}, {"ip": "::0001"}]}, {"name": "b"}, {"net": {"ip": "192.0.2.2"}}]
    row = one({"hosts": hosts, "body": {"bucket": {"name": "x"}, "n": [1, {"a": None}]}})
    assert row["ips"] == ["192.0.2.1", "::1", "192.0.2.2"] and row["names"] == ["A", "B"]
    assert row["body"] == '{"bucket":{"name":"x"},"n":[1,{"a":null}]}' and row["bucket"] == "x"
    assert json.loads(row["extra"]) == {"hosts": hosts}, "an array that is no field is kept whole"
    assert "extra" not in one({"hosts": hosts}, mapped(ignore=["hosts"]))
    assert one({"hosts": {"name": "c", "net": {"ip": "192.0.2.3"}}}) == {"ips": ["192.0.2.3"], "names": ["C"]}


def test_what_fits_no_field_is_kept_in_extra() -> None:
    row = one({"port": 70_000, "ok": 3, "a": {"b": [1, 2.5, None], "c.d": True}, "empty": "", "dash": "-"})
    assert json.loads(row.pop("extra")) == {"port": "70000", "ok": "3", "a.b": [1, 2.5, None], "a.c.d": True}
    assert not row
    assert json.loads(one({"hosts": [{"net": {"ip": "192.0.2.1"}}, {"net": {"ip": "lab"}}]})["extra"]) == {
        "hosts": [{"net": {"ip": "192.0.2.1"}}, {"net": {"ip": "lab"}}],
        "ips": ["192.0.2.1", "lab"],
    }


def test_what_no_pattern_fits_is_kept_in_extra() -> None:
    address = {"from": ["peer", "who.id"], "pattern": r"^(?P<value>[\d.]+):\d+$"}
    port = {"from": "peer", "pattern": r":(?P<value>\d+)$"}
    source = mapped(fields={"ts": RULES["ts"], "user": address, "port": port, "bucket": {"from": "who.id"}})
    assert one({"peer": "192.0.2.1:80"}, source) == {"user": "192.0.2.1", "port": 80}
    assert one({"peer": "lab:80"}, source) == {"port": 80}, "one of the fields has its part"
    assert one({"peer": "lab"}, source) == {"extra": '{"peer":"lab"}'}
    assert one({"who": {"id": "lab"}}, source) == {"bucket": "lab"}, "another field has it whole"
    assert one({"peer": "-"}, source) == {}


def test_a_line_is_rejected_for_its_time_and_for_what_is_required() -> None:
    when = {"when": "2026-03-05T08:00:00Z"}
    rows, faults = read({"level": 1}, {**when, "level": "low"}, {"when": "today"}, {**when, "level": 2}, b"[1]", b"{")
    assert rows == [{"level": 2}]
    assert faults == [
        "field ts: missing; an event needs its time",
        "field level: 'low' is not an integer of 64 bits",
        "field ts: 'today' is not a time (ISO 8601)",
        "not a JSON object but a JSON array",
        "not JSON: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)",
    ]
    rows, faults = read({**when, "port": "http"}, {**when, "colour": "red"}, source=mapped(keep=False))
    assert not rows and faults == [
        "field port: 'http' is not a port (0 to 65535)",
        "field colour: lab.mapped has no such field (its value is 'red')",
    ]


def test_hostile_lines_are_rejected_with_a_reason() -> None:
    when = b'{"when":"2026-03-05T08:00:00Z",'
    deep = when + b'"x":' + b'{"x":' * 40 + b"1" + b"}" * 41
    arrays = when + b'"x":' + b"[" * 5000 + b"]" * 5000 + b"}"
    _, faults = read(
        when + b'"who.id":1,"who":{"id":2}}', when + b'"x.y":1,"x":{"y":2}}', deep, arrays, when + b'"a":"\\ud800"}',
        when + b'"a":NaN}',
    )  # fmt: skip
    assert faults == [
        "field who.id: it comes twice",
        "field x.y: it comes twice",
        f"field {'x.' * 30}: nested more than 32 levels deep",
        "not JSON that can be read: it is nested too deep",
        "not JSON: half of a surrogate pair stands alone",
        "not JSON: NaN is no JSON number",
    ]


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text("ab.", min_size=1, max_size=4), inner, max_size=3)
    ),
    max_leaves=12,
)


@given(st.lists(st.dictionaries(st.text("abc", min_size=1, max_size=3), VALUES, max_size=4), min_size=1, max_size=4))
def test_no_value_of_a_line_is_lost(records: list[dict[str, Any]]) -> None:
    """An oracle: the leaves of each record, by their joined names."""

    def leaves(value: dict[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
        out = []
        for key, item in value.items():
            if isinstance(item, dict):
                out += leaves(item, f"{prefix}{key}.")
            elif item is not None and item not in ("", "-"):
                out.append((prefix + key, item))
        return out

    lines = [{"when": "2026-03-05T08:00:00Z", **record} for record in records]
    loaded = parse("lab.mapped", b"\n".join(map(orjson.dumps, lines)), sources=(mapped(),))
    extras = [json.loads(row.get("extra", "{}")) for row in loaded.rows()]
    wanted = [leaves(record) for record in records]
    kept = [dict(found) for found in wanted if len({name for name, _ in found}) == len(found)]
    assert extras == [json.loads(orjson.dumps(found)) for found in kept]
    assert loaded.lines == len(records)


@pytest.mark.parametrize(
    ("parser", "message"),
    [
        ({"keys": []}, r"parser\.keys"),
        ({"keys": [1]}, r"parser\.keys\[0\]"),
        ({"loose": "yes"}, r"parser\.loose"),
        ({"fields": {"nobody": {}}}, "'nobody' is not among the fields"),
        ({"paths": {}}, "paths"),
    ],
)
def test_a_wrong_parser_is_refused_with_its_place(parser: dict[str, Any], message: str) -> None:
    with pytest.raises(DefinitionError, match=message):
        check_format(mapped(**parser))


def test_loose_alone_converts_values() -> None:
    definition = mapped().definition
    strict = parse_definition({**definition, "parser": {"format": "json"}})
    loose = parse_definition({**definition, "parser": {"format": "json", "loose": True}})
    line = {"ts": "2026-03-05T08:00:00Z", "port": "80", "ok": "true"}
    assert read(line, source=loose)[0] == [{"port": 80, "ok": True}]
    assert read(line, source=strict) == ([{"extra": '{"port":"80","ok":"true"}'}], [])


def test_the_time_is_found_where_the_definition_says() -> None:
    finder = JsonFormat().open_time_finder(b"", mapped())
    for line in (
        b'{"when":"2026-03-05T08:00:00Z","a":1}',
        b'{"meta":{"time":"2026-03-05T08:00:00Z"},"time":"x","when":"2020-01-01T00:00:00Z"}',
        b'{"meta.time":"2026-03-05T08:00:00Z"}',
    ):
        place = finder.find_time(line)
        assert place is not None and line[place.start : place.end] == b"2026-03-05T08:00:00Z"
        assert place.micros == 1_772_697_600_000_000
    assert finder.find_time(b'{"time":"2026-03-05T08:00:00Z"}') is None
