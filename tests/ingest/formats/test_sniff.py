"""The kind of a log file is recognised from its content.

In `make test`: it needs no servers.
"""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from parsing_support import shared_log

from watchfloor.ingest.intake.sniff import sniff_file
from watchfloor.schema.definition import builtin_definitions, parse_definition
from watchfloor.schema.errors import InputFileError, UnknownSourceError
from watchfloor.schema.field import FieldType
from watchfloor.schema.source import Source

HEADER = "#separator \\x09\n#set_separator\t,\n#empty_field\t(empty)\n#unset_field\t-\n"
INDEXED = ("uid", "id.orig_h", "id.orig_p", "id.resp_h", "id.resp_p", "proto", "host", "note", "a", "b")
ACCESS = '192.0.2.1 - - [05/Mar/2024:08:00:01 +0100] "GET / HTTP/1.1" 200 5\n'


def zeek(path: str, fields: str, types: str, *lines: str, opened: str = "2024-03-05-08-00-00") -> str:
    columns = f"#fields\t{chr(9).join(fields.split())}\n#types\t{chr(9).join(types.split())}\n"
    return HEADER + f"#path\t{path}\n#open\t{opened}\n" + columns + "".join(f"{line}\n" for line in lines)


@pytest.fixture
def write(tmp_path: Path):
    def _write(content: str | bytes, name: str = "some.log") -> Path:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return _write


def test_zeek_tsv_by_its_header(write) -> None:
    found = sniff_file(write(zeek("door", "ts who", "time addr", "1.0\t10.0.0.1")), None, {})
    assert found.feed == "zeek.door" and found.splittable
    assert found.header.startswith(b"#separator") and b"#fields\tts\twho" in found.header
    (source,) = found.sources
    assert [(f.name, f.type_name, f.is_indexed) for f in source.fields] == [
        ("ts", "time", False),
        ("who", "ip", True),
        ("extra", "string", False),
    ]


def test_a_curated_source_is_extended_by_a_header(write) -> None:
    found = sniff_file(write(zeek("conn", "ts uid site.floor", "time string count", "1.0\tC\t3")), "zeek", {})
    (source,) = found.sources
    assert source.fields_by_name["site.floor"].type is FieldType.INT
    assert source.fields[: len(builtin_definitions()["zeek.conn"].fields)] == builtin_definitions()["zeek.conn"].fields


def test_derived_sources_have_ecs_names(write) -> None:
    tsv = zeek("door", "ts id.orig_h hosts user colour", "time addr set[addr] string string", "1.0\t::1\t::2\ta\tb")
    (source,) = sniff_file(write(tsv), None, {}).sources
    assert [f.ecs for f in source.fields] == ["@timestamp", "source.ip", "", "user.name", "", ""]
    lines = b'{"_path":"gate","ts":1.0,"id.orig_h":"::1","id.resp_p":80,"md5":"a","src_ip":"x","n":1,"vlan":[1]}\n'
    (source,) = sniff_file(write(lines), None, {}).sources
    names = {f.name: f.ecs for f in source.fields}
    assert names == {
        "ts": "@timestamp", "id.orig_h": "source.ip", "id.resp_p": "destination.port", "md5": "file.hash.md5",
        "src_ip": "source.ip", "n": "", "vlan": "network.vlan.id", "extra": "",
    }  # fmt: skip
    (source,) = sniff_file(write(b'{"event_type":"odd","timestamp":"2024-03-05T08:00:00Z"}\n'), None, {}).sources
    assert source.find_field("src_ip").ecs == "source.ip"


def test_sources_that_were_stored_without_ecs_names_get_them(write) -> None:
    def forget_names(source: Source) -> Source:
        return source.replace_fields({f.name: replace(f, ecs="") for f in source.fields})

    tsv = zeek("door", "ts id.orig_h", "time addr", "1.0\t::1")
    conn = zeek("conn", "ts id.orig_h", "time addr", "1.0\t::1")
    eve = b'{"event_type":"dns","timestamp":"2024-03-05T08:00:00Z"}\n'
    for lines in (tsv, conn, eve):
        (new,) = sniff_file(write(lines), None, {}).sources
        stored = forget_names(new)
        assert not stored.fields_by_meaning and new.fields_by_meaning
        (found,) = sniff_file(write(lines), None, {stored.name: stored}).sources
        assert found == new
    own = builtin_definitions()["proxy.events"]
    changed = forget_names(own).replace_fields({"user": replace(own.find_field("user"), ecs="source.user.name")})
    (found,) = sniff_file(write(b"{}\n"), "proxy.events", {own.name: changed}).sources
    assert found.find_field("user").ecs == "source.user.name" and found.find_field("src_ip").ecs == "source.ip"


def test_indexes_of_a_derived_source_are_few_and_useful(write) -> None:
    fields = "ts uid id.orig_h id.orig_p id.resp_h id.resp_p proto host note msg a b c d"
    types = "time string addr port addr port enum string enum string addr addr addr addr"
    (source,) = sniff_file(write(zeek("thing", fields, types, "\t".join("-" * 14))), None, {}).sources
    assert [f.name for f in source.indexed_fields] == list(INDEXED)


def test_a_header_that_changes_on_the_way_makes_a_file_one_item(write) -> None:
    one = zeek("door", "ts who", "time addr", "1.0\t10.0.0.1")
    later = zeek("door", "ts who", "time addr", "2.0\t10.0.0.1", opened="2024-03-05-09-00-00")
    other = zeek("door", "ts what", "time string", "1.0\t10.0.0.1")
    assert sniff_file(write(one + one), None, {}).splittable
    assert sniff_file(write(one + later), None, {}).splittable
    assert not sniff_file(write(one + other), None, {}).splittable
    timeless = zeek("door", "who", "addr", "10.0.0.1")
    assert not sniff_file(
        write(timeless + zeek("door", "who", "addr", opened="2024-03-05-09-00-00")), None, {}
    ).splittable
    assert not sniff_file(write(gzip.compress(one.encode()), "a.log.gz"), None, {}).splittable


@pytest.mark.parametrize(
    ("name", "lines", "feed", "sources"),
    [
        ("conn.log", [{"ts": 1.5, "id.orig_h": "10.0.0.1"}], "zeek.conn", ["zeek.conn"]),
        ("dns.2024-03-05.log", [{"ts": 1.5, "id_orig_h": "10.0.0.1"}], "zeek.dns", ["zeek.dns"]),
        ("any.json", [{"_path": "http", "ts": 1}, {"_path": "cat", "ts": 2}], "zeek", ["zeek.http", "zeek.cat"]),
        ("stats.log", [{"ts": 1.5, "peer": "zeek"}], "zeek.stats", ["zeek.stats"]),
        ("eve.json", [{"timestamp": "x", "event_type": "dns"}], "suricata", ["suricata.dns"]),
        ("eve.json", [{"timestamp": "x", "event_type": "odd"}], "suricata", ["suricata.odd"]),
    ],
)
def test_json_by_its_keys_and_name(write, name: str, lines: list, feed: str, sources: list[str]) -> None:
    found = sniff_file(write("".join(json.dumps(line) + "\n" for line in lines), name), None, {})
    assert (found.feed, found.header) == (feed, b"")
    assert [s.name for s in found.sources] == sources


def test_types_of_zeek_json_come_from_a_sample(write) -> None:
    lines = [
        {"ts": 1.5, "uid": "a", "id_orig_h": "10.0.0.1", "id_orig_p": 5, "n": 1, "x": 1, "on": True, "l": []},
        {"ts": 2.5, "uid": "b", "id_orig_h": "10.0.0.1", "n": 2, "x": 1.5, "l": [1], "mixed": 1, "nest": {"a": "b"}},
        {"ts": 3, "mixed": "two", "bad name": 1},
    ]
    (source,) = sniff_file(write("".join(json.dumps(line) + "\n" for line in lines), "lamp.log"), "zeek", {}).sources
    assert source.name == "zeek.lamp" and source.unknown_fields == "extra"
    assert {f.name: f.type_name for f in source.fields} == {
        "ts": "time",
        "uid": "string",
        "id.orig_h": "ip",
        "id.orig_p": "port",
        "n": "int",
        "x": "float",
        "on": "bool",
        "l": "list of int",
        "nest.a": "string",
        "extra": "string",
    }


def test_access_logs_by_any_of_their_first_lines(write) -> None:
    assert sniff_file(write("# a remark\n\n" + ACCESS), None, {}).feed == "web.access"
    assert sniff_file(write(gzip.compress(ACCESS.encode()), "a.gz"), None, {}).feed == "web.access"


def test_a_source_of_the_user(write) -> None:
    source = parse_definition(
        {
            "name": "lab.door",
            "parser": {"format": "json"},
            "timestamp": {"field": "ts"},
            "fields": [{"name": "ts", "type": "time"}],
        }
    )
    found = sniff_file(write('{"ts": 1}\n'), "lab.door", {"lab.door": source})
    assert (found.feed, found.sources) == ("lab.door", (source,))


@pytest.mark.parametrize("name", ["dns.json", "conn.log", "any.log"])
def test_generated_events_whatever_their_file_is_called(write, name: str) -> None:
    for source in builtin_definitions().values():
        if source.parser["format"] == "json" and "keys" not in source.parser:
            whole = dict.fromkeys((f.name for f in source.fields), None) | {"ts": "2026-01-01T00:00:00Z"}
            assert sniff_file(write(json.dumps(whole) + "\n", name), None, {}).feed == source.name


def test_fields_that_generated_events_have_too_tell_nothing(write) -> None:
    few = '{"ts": 1.5, "host": "10.0.0.1"}\n'
    assert sniff_file(write(few, "known_hosts.log"), None, {}).feed == "zeek.known_hosts"
    with pytest.raises(InputFileError, match="no known source fits"):
        sniff_file(write(few, "some.log"), None, {})
    fields = [{"name": "ts", "type": "time"}, {"name": "host", "type": "ip"}, {"name": "user", "type": "string"}]
    own = parse_definition(
        {"name": "lab.door", "parser": {"format": "json"}, "timestamp": {"field": "ts"}, "fields": fields}
    )
    assert sniff_file(write(few, "some.log"), None, {"lab.door": own}).feed == "lab.door"


def test_an_empty_file(write) -> None:
    assert sniff_file(write(""), "web.access", {}).sources == ()
    assert sniff_file(write(b"\n \n"), "zeek", {}).feed == "zeek"
    with pytest.raises(InputFileError, match=r"some\.log: is empty, so nothing tells its kind; name its source"):
        sniff_file(write(""), None, {})


@pytest.mark.parametrize(
    ("content", "feed", "message"),
    [
        (bytes(range(256)) * 9, None, "not a Zeek log, .* JSON lines, .* or an access log; it begins .*; if it is one"),
        ("Aug 31 host postfix/qmgr[1]: warning\n", None, "it begins 'Aug 31 host postfix"),
        ('{"a": 1}\n', None, "JSON lines, and no known source fits.*write a source definition"),
        ('{"a": 1}\n', "web.access", "JSON lines, not web.access"),
        (zeek("dns", "ts", "time"), "zeek.conn", "a Zeek dns log, not zeek.conn; name zeek.dns or no source"),
        (zeek("dns", "ts", "time"), "web.access", "a Zeek dns log, not web.access"),
        (zeek("x", "ts ts", "time time"), None, "header cannot be used: .*'ts' is defined twice"),
        (zeek("x", "ts a", "time"), None, "names 2 fields but 1 types"),
        ("#fields\ta\tb\nx\ty\n", None, "it has no #path line; mend the header"),
        ("#separator ab\n#fields\ta\n", None, "its separator is not one byte"),
        (zeek("x", "who", "addr", opened="once"), None, "no time, and it has no #open line"),
    ],
)
def test_what_does_not_fit_names_the_file_what_was_seen_and_the_remedy(
    write, content: str | bytes, feed: str | None, message: str
) -> None:
    with pytest.raises(InputFileError, match=message) as caught:
        sniff_file(write(content), feed, {})
    assert "some.log: " in str(caught.value)


def test_an_unknown_source_and_a_missing_file(write, tmp_path: Path) -> None:
    with pytest.raises(UnknownSourceError, match=r"unknown source 'web.acess'; did you mean web.access"):
        sniff_file(write(ACCESS), "web.acess", {})
    with pytest.raises(InputFileError, match="cannot be read"):
        sniff_file(tmp_path / "none.log", None, {})


@pytest.mark.parametrize(
    ("name", "feed"),
    [
        ("zeek/brobeat/conn.log", "zeek.conn"),
        ("zeek/wrccdc/dns.log.gz", "zeek.dns"),
        ("zeek/zat/data/json/dns.log", "zeek.dns"),
        ("zeek/apt29/apt29/day1/zeek/combined_zeek.log", "zeek"),
        ("suricata/aecid/eve.json", "suricata"),
        ("web_access/nasa-50k.log.gz", "web.access"),
        ("web_access/elastic_apache_logs", "web.access"),
        ("mail/maillog", "syslog"),
        ("auth/auth.log", "syslog"),
        ("squid/log.squid", "squid.access"),
        ("bluecoat/bc1.log", "bluecoat.access"),
        ("netflow/test1-malicious.nfdump.csv", "netflow.nfdump"),
        ("netflow/test2-malicious.binetflow", "netflow.argus"),
    ],
)
def test_real_files(name: str, feed: str) -> None:
    assert sniff_file(shared_log(name), None, {}).feed == feed


def test_a_real_file_of_another_kind() -> None:
    with pytest.raises(InputFileError):
        sniff_file(shared_log("zeek/zat/data/top_domains_1k.csv"), None, {})


@pytest.mark.parametrize(
    ("fallback", "lines", "parser"),
    [
        (
            "text.messages",
            "2026-03-05 08:00:01 door north opened\n",
            {"format": "text", "patterns": {"door": r"^(?P<ts>\S+ \S+) door (?P<door>\w+) opened$"}},
        ),
        (
            "json.messages",
            '{"ts":"2026-03-05T08:00:01Z","level":"info","msg":"opened"}\n',
            {"format": "json", "keys": ["ts"]},
        ),
        (
            "json.requests",
            '{"ts":"2026-03-05T08:00:01Z","level":"info","msg":"served","method":"GET","path":"/","status":200}\n',
            {"format": "json", "keys": ["ts", "method"]},
        ),
    ],
)
def test_sources_of_last_resort_have_what_no_other_reads(
    fallback: str, lines: str, parser: dict[str, Any], write
) -> None:
    file = write(lines * 3)
    assert sniff_file(file, None, {}).feed == fallback
    fields = [{"name": "ts", "type": "time"}, {"name": "door", "type": "string"}]
    time = {"field": "ts", "format": "iso8601"}
    own = parse_definition({"name": "lab.doors", "parser": parser, "timestamp": time, "fields": fields})
    assert sniff_file(file, None, {"lab.doors": own}).feed == "lab.doors"
