"""Values that are not of their field's type are kept in ``extra`` and counted, in all formats alike.

In `make test`: it needs no servers.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jvm_support import start_jvm
from parsing_support import MemoryCatalog, unzip_log

from watchfloor.ingest.columns.rows import cut_column
from watchfloor.ingest.files.lines import Chunk
from watchfloor.ingest.formats.registry import open_parser
from watchfloor.ingest.parsing.parsed import ParsedChunk
from watchfloor.schema.definition import builtin_definitions, parse_definition
from watchfloor.schema.errors import InternalError
from watchfloor.schema.source import Source

ZEEK_HEADER = (
    b"#separator \\x09\n#path\tconn\n#fields\tts\tuid\tid.orig_p\ttunnel_parents\tduration\n"
    b"#types\ttime\tstring\tport\tset[string]\tinterval\n"
)
WHEN = "2024-03-05T08:00:00Z"


def define(parser: Mapping[str, Any], unknown_fields: str = "extra", time_format: str = "iso8601") -> Source:
    kinds = {
        "when": "time",
        "port": "port",
        "size": "int",
        "share": "float",
        "ok": "bool",
        "host": "ip",
        "seen": "time",
    }
    fields = [{"name": name, "type": kind} for name, kind in kinds.items()]
    fields += [{"name": "sizes", "type": "list", "items": "int"}, {"name": "who", "type": "string"}]
    return parse_definition(
        {
            "name": "test.leftovers",
            "parser": parser,
            "timestamp": {"field": "when", "format": time_format},
            "unknown_fields": unknown_fields,
            "fields": [*fields, {"name": "extra", "type": "string"}],
        }
    )


JSON_LINES = define({"format": "json"})
FOUR = define(
    {"format": "delimited", "columns": ["when", "port", "size", "who"], "fields": {"size": {"required": True}}}
)
PAIRS = define({"format": "text", "patterns": {"all": "^(?P<when>\\S+) (?P<rest>.*)$"}, "pairs": {"of": "rest"}})
ACCESS = parse_definition(
    {
        **builtin_definitions()["web.access"].definition,
        "name": "test.access",
        "unknown_fields": "extra",
        "fields": [*builtin_definitions()["web.access"].definition["fields"], {"name": "extra", "type": "string"}],
    }
)


def parse(feed: str, text: str | bytes, header: bytes = b"", source: Source | None = None) -> ParsedChunk:
    start_jvm()
    catalog = MemoryCatalog([source] if source else [])
    data = text.encode() if isinstance(text, str) else text
    return open_parser(feed, header, catalog).parse(Chunk(0, data))


def rows_of(parsed: ParsedChunk) -> list[dict[str, Any]]:
    return [row for _, batch in parsed.events for row in batch.to_pylist()]


def misfits_of(parsed: ParsedChunk) -> dict[tuple[str, str], list[int]]:
    return {(found.source, found.field): found.offsets.tolist() for found in parsed.misfits}


@pytest.mark.parametrize(
    ("feed", "header", "source", "line", "kept"),
    [
        ("test.leftovers", b"", JSON_LINES, json.dumps({"when": WHEN, "port": "80", "who": "a"}), {"port": "80"}),
        ("test.leftovers", b"", FOUR, f"{WHEN},eighty,3,a", {"port": "eighty"}),
        ("test.leftovers", b"", PAIRS, f"{WHEN} port=http size=4 who=a", {"port": "http"}),
        ("zeek", ZEEK_HEADER, None, "1.5\ta\teighty\tx,y\t2.0", {"id.orig_p": "eighty"}),
        ("zeek", b"", None, json.dumps({"_path": "conn", "ts": 1.5, "id.orig_p": -1}), {"id.orig_p": -1}),
        (
            "suricata",
            b"",
            None,
            json.dumps({"event_type": "alert", "timestamp": WHEN, "http": {"status": "none"}, "src_port": 1}),
            {"http.status": "none"},
        ),
        ("test.access", b"", ACCESS, 'h - - [05/Mar/2024:08:00:01 +0100] "GET / HTTP/1.1" 2x0 5', {"status": "2x0"}),
        (
            "syslog",
            b'{"changed":1709625601000000,"zone":"UTC","programs":{}}',
            None,
            f"{WHEN} host sshd[many]: hello",
            {"pid": "many"},
        ),
    ],
)
def test_each_format_keeps_a_value_that_does_not_fit(
    feed: str, header: bytes, source: Source | None, line: str, kept: dict[str, Any]
) -> None:
    parsed = parse(feed, f"{line}\n{line}\n", header, source)
    assert parsed.rejected == []
    first, second = rows_of(parsed)
    assert json.loads(first["extra"]) == kept
    assert all(first[name] is None for name in kept)
    assert {name: offsets for (_, name), offsets in misfits_of(parsed).items()} == {
        name: [first["(offset)"], second["(offset)"]] for name in kept
    }


@pytest.mark.parametrize(
    ("feed", "source", "line", "reason"),
    [
        ("test.leftovers", JSON_LINES, json.dumps({"when": "soon", "port": 80}), "field when: 'soon' is not a time"),
        ("test.leftovers", JSON_LINES, json.dumps({"when": 5, "port": "80"}), "field when: 5"),
        ("test.leftovers", FOUR, f"{WHEN},80,many,a", "field size: 'many' is not an integer"),
        ("test.leftovers", FOUR, "soon,eighty,1,a", "field when: 'soon' is not a time"),
        ("proxy.events", None, json.dumps({"ts": WHEN, "status": "200"}), "field status: '200' is a JSON string"),
        ("proxy.events", None, json.dumps({"ts": WHEN, "colour": "red"}), "field colour: proxy.events has no such"),
        ("test.access", ACCESS, 'h - - [31/Feb/2024:08:00:01 +0100] "GET / HTTP/1.1" 2x0 5', "field ts: "),
    ],
)
def test_the_time_and_required_fields_reject_a_line_and_so_does_a_source_without_extra(
    feed: str, source: Source | None, line: str, reason: str
) -> None:
    parsed = parse(feed, line, source=source)
    assert (parsed.count, parsed.misfits) == (0, [])
    assert [rejected.reason.startswith(reason) for rejected in parsed.rejected] == [True]


FITTING: dict[str, st.SearchStrategy[Any]] = {
    "port": st.integers(0, 65535),
    "size": st.integers(-(2**63), 2**63 - 1),
    "share": st.floats(allow_nan=False, allow_infinity=False),
    "ok": st.booleans(),
    "host": st.ip_addresses(v=4).map(str),
    "sizes": st.lists(st.integers(-5, 5), max_size=3),
    "who": st.text(max_size=5),
}
ODD: dict[str, st.SearchStrategy[Any]] = {
    "port": st.one_of(st.integers(65536), st.integers(max_value=-1), st.text(max_size=3), st.booleans()),
    "size": st.one_of(st.text(max_size=3), st.just(1 << 63), st.dictionaries(st.text(max_size=2), st.integers(0, 9))),
    "share": st.one_of(st.text(max_size=3), st.booleans(), st.lists(st.integers(0, 9), max_size=2)),
    "ok": st.one_of(st.just("T"), st.integers(0, 1)),
    "host": st.one_of(st.just("localhost"), st.just("10.0.0.256"), st.integers(0, 9)),
    "sizes": st.one_of(st.integers(0, 9), st.just("1,2")),
    "who": st.one_of(st.integers(0, 9), st.lists(st.text(max_size=3), max_size=2)),
    "other": st.one_of(st.integers(0, 9), st.text(max_size=3), st.lists(st.booleans(), max_size=2)),
}


@given(data=st.data())
@settings(max_examples=150)
def test_every_value_of_a_json_line_is_in_its_field_or_in_extra(data: st.DataObject) -> None:
    fitting = data.draw(st.fixed_dictionaries({}, optional=FITTING))
    odd = data.draw(st.fixed_dictionaries({}, optional=ODD))
    lines = [{"when": WHEN, **fitting, **odd}, {"when": WHEN, **fitting}]
    parsed = parse("test.leftovers", "".join(json.dumps(line) + "\n" for line in lines), source=JSON_LINES)
    first, second = sorted(rows_of(parsed), key=lambda row: row["(offset)"])
    assert parsed.rejected == []
    assert json.loads(first["extra"] or "{}") == odd
    assert {name: first[name] for name in fitting if name not in odd} == {
        name: value for name, value in fitting.items() if name not in odd
    }
    assert all(first[name] is None for name in odd if name != "other")
    assert {name: second[name] for name in fitting} == fitting
    assert {name for _, name in misfits_of(parsed)} == set(odd) - {"other"}


def test_a_list_keeps_the_elements_that_fit() -> None:
    line = {"when": WHEN, "sizes": [1, "two", 3]}
    (row,) = rows_of(parse("test.leftovers", json.dumps(line), source=JSON_LINES))
    assert (row["sizes"], row["extra"]) == ([1, None, 3], '{"sizes":[1,"two",3]}')


def test_rejected_lines_count_no_misfits() -> None:
    lines = [{"when": when, "port": "x"} for when in (WHEN, "soon", WHEN)]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    parsed = parse("test.leftovers", text, source=JSON_LINES)
    assert (parsed.count, len(parsed.rejected)) == (2, 1)
    assert misfits_of(parsed) == {("test.leftovers", "port"): [0, text.rindex("{")]}


def test_times_in_a_format_of_their_own_are_kept_by_both_readers() -> None:
    source = define({"format": "json"}, time_format="%d.%m.%Y %H:%M")
    usual = {"when": "05.03.2024 08:00", "seen": "31.02.2024 08:00"}
    lines = [usual, {**usual, "other": 1}]
    first, second = rows_of(parse("test.leftovers", "\n".join(map(json.dumps, lines)), source=source))
    assert (first["seen"], first["extra"]) == (None, '{"seen":"31.02.2024 08:00"}')
    assert json.loads(second["extra"]) == {"other": 1, "seen": "31.02.2024 08:00"}


@pytest.mark.parametrize("feed", ["suricata", "suricata.alert", "proxy.events", "zeek", "test.leftovers"])
@pytest.mark.parametrize(
    "twice",
    [
        '"src_port":1,"src_port":1',
        '"src_port" :1,"src_port":2',
        '"a":{"b":1,"b":2}',
        '"a":{"b":1},"a.b":2',
        '"a":[{"b":1,"b":2}]',
        '"a":":::","b":1,"b":1',
    ],
)
def test_a_key_that_comes_twice_rejects_its_line(feed: str, twice: str) -> None:
    head = f'"event_type":"alert","_path":"conn","timestamp":"{WHEN}","when":"{WHEN}","ts":1,'
    head = head.replace('"ts":1', f'"ts":"{WHEN}"') if feed == "proxy.events" else head
    parsed = parse(feed, "{" + head + twice + "}", source=JSON_LINES)
    (rejected,) = parsed.rejected
    assert parsed.count == 0
    assert "comes twice" in rejected.reason or "has no such field" in rejected.reason


def test_colons_in_texts_are_no_keys() -> None:
    line = f'{{"event_type":"alert","timestamp":"{WHEN}","src_ip":"::1","note":"\\":\\":","more" : ":"}}'
    (row,) = rows_of(parse("suricata", line))
    assert (row["src_ip"], json.loads(row["extra"])) == ("::1", {"note": '":":', "more": ":"})


def test_a_field_may_be_named_as_windows_events_are() -> None:
    name = "Event.System.TimeCreated.#attributes.SystemTime"
    source = parse_definition(
        {
            "name": "test.windows",
            "parser": {"format": "json"},
            "timestamp": {"field": name, "format": "iso8601"},
            "fields": [{"name": name, "type": "time"}, {"name": "Event.System.#text", "type": "string"}],
        }
    )
    event = {"Event": {"System": {"TimeCreated": {"#attributes": {"SystemTime": WHEN}}, "#text": "a"}}}
    (row,) = rows_of(parse("test.windows", json.dumps(event), source=source))
    assert (row[name].isoformat(), row["Event.System.#text"]) == ("2024-03-05T08:00:00+00:00", "a")


@pytest.mark.parametrize(("starts", "ends"), [([0, 4], [3, 2]), ([2, 0], [3, 1]), ([-1, 4], [3, 5]), ([0, 4], [3, 99])])
def test_pieces_that_are_out_of_order_are_refused_before_arrow_sees_them(starts: list[int], ends: list[int]) -> None:
    with pytest.raises(InternalError, match="not in order"):
        cut_column(b"abcdefgh", np.array(starts, np.int64), np.array(ends, np.int64))
    assert cut_column(b"abcdefgh", np.array([0, 3]), np.array([3, 3])) == pa.array(["abc", ""])


def test_real_windows_events_whose_keywords_are_of_another_type_are_all_kept(tmp_path: Path) -> None:
    source = parse_definition(
        {
            "name": "test.windows",
            "parser": {"format": "json"},
            "timestamp": {"field": "EventTime", "format": "iso8601"},
            "unknown_fields": "extra",
            "fields": [
                {"name": "EventTime", "type": "time"},
                {"name": "Keywords", "type": "string"},
                {"name": "EventID", "type": "int"},
                {"name": "extra", "type": "string"},
            ],
        }
    )
    lines = (
        unzip_log("windows/empire_wmic_add_user_backdoor.zip", tmp_path).read_bytes().splitlines(keepends=True)[:3000]
    )
    parsed = parse("test.windows", b"".join(lines), source=source)
    assert (parsed.count, parsed.rejected) == (3000, [])
    assert {name: len(offsets) for name, offsets in misfits_of(parsed).items()} == {("test.windows", "Keywords"): 3000}
    for row, line in zip(sorted(rows_of(parsed), key=lambda row: row["(offset)"]), lines, strict=True):
        assert json.loads(row["extra"])["Keywords"] == json.loads(line)["Keywords"]
