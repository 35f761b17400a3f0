"""Each parser gives the same events for its fixture whatever the chunks and the compression.

In `make test`: it needs no servers.
"""

from __future__ import annotations

import gzip
import json
import os
import shutil
from datetime import UTC, datetime
from pathlib import Path

import orjson
import pytest
from parser_fixtures import FIXTURES, NAMES, parse
from parsing_support import MemoryCatalog, outcome, parse_chunks, parse_file

from watchfloor.ingest.files.lines import read_chunks
from watchfloor.ingest.intake.sniff import sniff_file
from watchfloor.schema.definition import parse_definition

CHANGED = datetime(2026, 3, 10, tzinfo=UTC).timestamp()
"""The last change of the fixtures, from which times without a year have theirs."""


def feed_of(name: str) -> str | None:
    """Fixtures are sniffed, but for those whose kind cannot be told by content."""
    return name if name == "proxy.events" else None


@pytest.mark.parametrize("name", NAMES)
def test_fixture(name: str, tmp_path: Path) -> None:
    path = shutil.copy(FIXTURES / name / "in.log", tmp_path / "in.log")
    os.utime(path, (CHANGED, CHANGED))
    expected = [json.loads(line) for line in (FIXTURES / name / "out.ndjson").read_text("utf-8").split("\n") if line]
    assert outcome(parse_file(path, feed_of(name))) == expected


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("size", [1, 17, 200, 1000])
def test_chunk_size_changes_nothing(name: str, size: int) -> None:
    path = FIXTURES / name / "in.log"
    assert outcome(parse_file(path, feed_of(name), size)) == outcome(parse_file(path, feed_of(name)))


@pytest.mark.parametrize("name", NAMES)
def test_compression_changes_nothing(name: str, tmp_path: Path) -> None:
    path = FIXTURES / name / "in.log"
    (tmp_path / "in.log.gz").write_bytes(gzip.compress(path.read_bytes()))
    assert outcome(parse_file(tmp_path / "in.log.gz", feed_of(name))) == outcome(parse_file(path, feed_of(name)))


@pytest.mark.parametrize("name", [n for n in NAMES if n != "zeek.headers"])
def test_a_range_needs_only_the_header(name: str) -> None:
    """As a worker reads the second half of a file."""
    path = FIXTURES / name / "in.log"
    found = sniff_file(path, feed_of(name), {})
    assert found.splittable
    middle = path.read_bytes().index(b"\n", path.stat().st_size // 2) + 1
    parts = [
        parse_chunks(read_chunks(path, start, end), found.feed, found.header, MemoryCatalog(found.sources))
        for start, end in [(0, middle), (middle, None)]
    ]
    assert [row for part in parts for row in part.rows()] == parse_file(path, feed_of(name)).rows()


def test_nul_and_separator_bytes_survive_in_values() -> None:
    text = "a\0b\x1fc\x1ed\x7f\u0085\u2028\ufeff\\ \t"
    (row,) = parse("proxy.events", orjson.dumps({"ts": "2024-01-01T00:00:00Z", "user": text}) + b"\n").rows()
    assert row["user"] == text
    line = '192.0.2.1 - - [05/Mar/2024:08:00:01 +0100] "GET /a\0\x1f\u2028b HTTP/1.1" 200 5\n'
    (row,) = parse("web.access", line.encode()).rows()
    assert row["path"] == "/a\0\x1f\u2028b"
    header = b"#separator \\x09\n#path\tx\n#fields\tts\ts\n#types\ttime\tstring\n"
    (row,) = parse("zeek.x", b"1.0\ta\0,\x1f\\x09\\x0a\\x00b\n", header).rows()
    assert row["s"] == "a\0,\x1f\t\n\0b"


@pytest.mark.parametrize(
    ("line", "ts"),
    [
        ("0.000000", 0),
        ("9214646399.999999", 9_214_646_399_999_999),
        ("1575413104.9882594", 1_575_413_104_988_259),
        ("1575413104.98825951234", 1_575_413_104_988_260),
        ("1e9", 10**15),
        ("-0.000001", None),
        ("9214646400.000000", None),
        ("9214646399.9999999", None),
        ("99999999999999999999", None),
        ("nan", None),
        ("", None),
    ],
)
def test_the_range_of_times(line: str, ts: int | None) -> None:
    header = b"#separator \\x09\n#path\tx\n#fields\tts\tn\n#types\ttime\tcount\n"
    loaded = parse("zeek.x", f"1.0\t1\n{line}\t2\n".encode(), header)
    times = [row["ts"] for row in loaded.rows()]
    assert times == [1_000_000] + ([] if ts is None else [ts])
    assert all(reason.startswith("field ts: ") for _, reason in loaded.faults())


LAB = {
    "name": "lab.all",
    "parser": {"format": "json"},
    "timestamp": {"field": "ts", "format": "epoch_ms"},
    "fields": [
        {"name": "ts", "type": "time"},
        {"name": "a.b", "type": "int"},
        {"name": "a.c.d", "type": "string"},
        {"name": "when", "type": "list", "items": "time"},
        {"name": "ips", "type": "list", "items": "ip"},
        {"name": "x", "type": "float"},
    ],
}


def test_nested_and_dotted_names_are_the_same_fields() -> None:
    lines = [
        b'{"ts":1500,"a":{"b":1,"c":{"d":"x"}},"when":[1,2.5],"ips":["::0001",null]}',
        b'{"ts":1500,"a.b":1,"a.c.d":"x","when":[1,2.5],"ips":["::0001",null]}',
        b'{"ts":1500,"a":{"b":1,"c.d":"x"},"when":[1,2.5],"ips":["::0001",null],"x":null,"y":null}',
        b'{"ts":"1500","a":{"c":{"d":"x"}},"a.b":1,"when":[1,2.5],"ips":["::1",null]}',
    ]
    for group in [[line] for line in lines] + [lines]:
        loaded = parse("lab.all", b"\n".join(group), sources=(parse_definition(LAB),))
        assert loaded.rejected == []
        for row in loaded.rows():
            del row["(offset)"]
            assert row == {
                "source": "lab.all",
                "ts": 1_500_000,
                "a.b": 1,
                "a.c.d": "x",
                "when": [1000, 2500],
                "ips": ["::1", None],
            }
    (fault,) = parse("lab.all", b'{"ts":1,"a":{"b":1},"a.b":1}', sources=(parse_definition(LAB),)).rejected
    assert fault.reason == "field a.b: it comes twice"
    (fault,) = parse("lab.all", b'{"ts":1,"when":["x"]}', sources=(parse_definition(LAB),)).rejected
    assert fault.reason == "field when: 'x' is not a time (a number since 1970, or ISO 8601)"
    (fault,) = parse("lab.all", b'{"ts":1,"ips":"::1"}', sources=(parse_definition(LAB),)).rejected
    assert fault.reason == "field ips: '::1' is a JSON string, not a list of ip"


def test_a_strptime_format() -> None:
    source = parse_definition({**LAB, "timestamp": {"field": "ts", "format": "%d.%m.%Y %H:%M:%S"}})
    loaded = parse("lab.all", b'{"ts":"05.03.2024 08:00:00"}\n{"ts":"2024-03-05"}\n', sources=(source,))
    assert [row["ts"] for row in loaded.rows()] == [1_709_625_600_000_000]
    assert loaded.faults() == [(29, "field ts: '2024-03-05' is not a time like 10.10.2000 13:55:36")]


def test_a_log_that_sniffing_did_not_see_gets_its_fields_from_its_lines() -> None:
    lines = b'{"_path":"new","ts":1,"uid":"a","n":1}\n{"_path":"new","ts":2,"n":"two"}\n{"ts":3}\n'
    loaded = parse("zeek", lines)
    assert loaded.rows() == [
        {"source": "zeek.new", "ts": 1_000_000, "uid": "a", "extra": '{"n":1}', "(offset)": 0},
        {"source": "zeek.new", "ts": 2_000_000, "extra": '{"n":"two"}', "(offset)": 39},
    ]
    assert "neither _path nor @stream" in loaded.rejected[0].reason
