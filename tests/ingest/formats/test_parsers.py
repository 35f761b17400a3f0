"""Parsers: fixtures as data, real logs against plain Python, bad input, and properties that always hold."""

from __future__ import annotations

import codecs
import csv
import gzip
import json
import re
import subprocess
import sys
from datetime import UTC, datetime
from decimal import ROUND_HALF_UP, Decimal
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from parsing_support import DATA, Catalog, Loaded, load, log_lines, outcome, parse_chunks, shared, unzipped

from watchfloor.ingest.files.lines import Chunk, read_chunks
from watchfloor.ingest.formats.registry import open_parser
from watchfloor.ingest.intake.sniff import sniff
from watchfloor.schema.definition import parse_definition
from watchfloor.schema.errors import UnknownSourceError
from watchfloor.schema.source import Source

FIXTURES = Path(__file__).parents[2] / "fixtures" / "sources"
NAMES = sorted(path.name for path in FIXTURES.iterdir())


def feed_of(name: str) -> str | None:
    """Fixtures are sniffed, but for those whose kind cannot be told by content."""
    return name if name == "proxy.events" else None


# Fixtures


@pytest.mark.parametrize("name", NAMES)
def test_fixture(name: str) -> None:
    path = FIXTURES / name / "in.log"
    expected = [json.loads(line) for line in (FIXTURES / name / "out.ndjson").read_text("utf-8").split("\n") if line]
    assert outcome(load(path, feed_of(name))) == expected


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("size", [1, 17, 200, 1000])
def test_chunk_size_changes_nothing(name: str, size: int) -> None:
    path = FIXTURES / name / "in.log"
    assert outcome(load(path, feed_of(name), size)) == outcome(load(path, feed_of(name)))


@pytest.mark.parametrize("name", NAMES)
def test_compression_changes_nothing(name: str, tmp_path: Path) -> None:
    path = FIXTURES / name / "in.log"
    (tmp_path / "in.log.gz").write_bytes(gzip.compress(path.read_bytes()))
    assert outcome(load(tmp_path / "in.log.gz", feed_of(name))) == outcome(load(path, feed_of(name)))


@pytest.mark.parametrize("name", [n for n in NAMES if n != "zeek.headers"])
def test_a_range_needs_only_the_header(name: str) -> None:
    """As a worker reads the second half of a file."""
    path = FIXTURES / name / "in.log"
    found = sniff(path, feed_of(name), {})
    assert found.splittable
    middle = path.read_bytes().index(b"\n", path.stat().st_size // 2) + 1
    parts = [
        parse_chunks(read_chunks(path, start, end), found.feed, found.header, Catalog(found.sources))
        for start, end in [(0, middle), (middle, None)]
    ]
    assert [row for part in parts for row in part.rows()] == load(path, feed_of(name)).rows()


# Real logs: nothing is lost


def logs(pattern: str) -> list[str]:
    return sorted(str(path.relative_to(DATA)) for path in DATA.glob(pattern)) or [pattern]


ZEEK_LOGS = [
    *logs("zeek/brobeat/*.log"),
    *logs("zeek/wrccdc/*.log.gz"),
    *logs("zeek/zat/data/*.log"),
    *logs("zeek/zat/data/json/*.log"),
    *logs("zeek/apt29/apt29/day*/zeek/combined_zeek.log"),
    *logs("zeek/apt29/apt29/day1/zeek/individual_zeek_logs/*.log"),
]
# Zeek JSON has no header, and these logs' lines no time.
TIMELESS = "loaded_scripts"


@pytest.mark.parametrize("name", [*ZEEK_LOGS, *logs("suricata/*/*.json"), "web_access/elastic_apache_logs"])
def test_real_lines_are_events_or_rejected(name: str) -> None:
    path = shared(name)
    loaded = load(path)
    lines = [(offset, line) for offset, line in log_lines(path) if not (line.startswith(b"#") and "zeek" in name)]
    assert loaded.lines == len(lines)
    rejected = {r.offset: r for r in loaded.rejected}
    offsets = [row for _, batch in loaded.events for row in batch.column("_offset").to_pylist()]
    assert sorted([*offsets, *rejected]) == [offset for offset, _ in lines]
    for offset, line in lines:
        if offset in rejected:
            fault = rejected[offset]
            assert fault.raw == line
            known = (
                b'"@stream":"loaded_scripts"' in line or TIMELESS in name,
                b"+http://www.google.com/bot.html" in line,
            )
            assert any(known), fault.reason
    assert len(rejected) == (1 if name == "web_access/elastic_apache_logs" else len(rejected))


@pytest.mark.parametrize(("name", "lines"), [("nasa-50k.log.gz", 50_000), ("access3.log.zip", 206_860)])
def test_real_access_logs_are_events(name: str, lines: int, tmp_path: Path) -> None:
    path = unzipped(f"web_access/{name}", tmp_path) if name.endswith(".zip") else shared(f"web_access/{name}")
    loaded = load(path)
    assert (loaded.count, loaded.rejected) == (lines, [])


# Real logs: every value, against a reader written another way


def micros(text: str) -> int:
    return int((Decimal(text) * 1_000_000).quantize(Decimal(1), ROUND_HALF_UP))


def zeek_value(kind: str, text: str) -> Any:
    if text == "-":
        return None
    container = re.fullmatch(r"(?:set|vector|table)\[(.*)\]", kind)
    if container:
        return [] if text == "(empty)" else [zeek_value(container[1], item) for item in text.split(",")]
    match kind:
        case "time":
            return micros(text)
        case "interval" | "double":
            return float(text)
        case "count" | "int" | "port":
            return int(text)
        case "bool":
            return {"T": True, "F": False}[text]
        case "addr":
            return str(ip_address(text))
    text = "" if text == "(empty)" else text
    return re.sub(
        r"(?:\\x[0-9a-f]{2})+|\\\\",
        lambda m: "\\" if m[0] == "\\\\" else bytes.fromhex(m[0].replace("\\x", "")).decode(errors="backslashreplace"),
        text,
    )


@pytest.mark.parametrize("log", ["conn", "dns", "http", "files", "notice", "smtp", "pe"])
def test_brobeat_field_by_field(log: str) -> None:
    path = shared(f"zeek/brobeat/{log}.log")
    with path.open(encoding="utf-8", newline="\n") as file:
        rows = list(csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    names = next(row[1:] for row in rows if row[0] == "#fields")
    kinds = next(row[1:] for row in rows if row[0] == "#types")
    expected = []
    for row in rows:
        if not row[0].startswith("#"):
            values = {n: zeek_value(k, text) for n, k, text in zip(names, kinds, row, strict=True)}
            expected.append({"source": f"zeek.{log}", **{n: v for n, v in values.items() if v is not None}})
    got = [{k: v for k, v in row.items() if k != "_offset"} for row in load(path).rows()]
    assert got == expected


ACCESS = re.compile(r'(\S+) (\S+) (.+) \[(.+?)\] "(.*)" (\d+) (\S+) "(.*)" "(.*)"')


def test_access3_field_by_field(tmp_path: Path) -> None:
    path = unzipped("web_access/access3.log.zip", tmp_path)
    wanted = 40_000
    lines = path.read_bytes().split(b"\n")[:wanted]
    path.write_bytes(b"\n".join(lines))
    offset = 0
    for line, row in zip(lines, load(path).rows(), strict=True):
        match = ACCESS.fullmatch(line.decode())
        assert match, line
        client, ident, user, when, request, status, size, referrer, agent = match.groups()
        moment = datetime.strptime(when, "%d/%b/%Y:%H:%M:%S %z").astimezone(UTC)
        expected: dict[str, Any] = {"client": client, "ident": ident, "user": user, "status": int(status)}
        expected |= {"source": "web.access", "ts": int(moment.timestamp()) * 1_000_000, "_offset": offset}
        expected |= {"bytes": "-" if size == "-" else int(size), "referrer": referrer, "user_agent": agent}
        parts = request.split(" ")
        if len(parts) >= 3 and parts[-1].startswith("HTTP/"):
            expected |= {"method": parts[0], "path": " ".join(parts[1:-1]), "protocol": parts[-1]}
        else:
            expected["request"] = request
        plain = {
            name: value.replace('\\"', '"').replace("\\\\", "\\") if isinstance(value, str) else value
            for name, value in expected.items()
            if value != "-" or name == "request"
        }
        assert row == plain
        offset += len(line) + 1


def test_suricata_value_by_value() -> None:
    path = shared("suricata/stratosphere/test6-malicious.suricata.json")
    for (_, line), row in zip(log_lines(path), load(path).rows(), strict=True):
        raw = json.loads(line)
        assert row["source"] == f"suricata.{raw['event_type']}"
        moment = datetime.strptime(raw["timestamp"], "%Y-%m-%dT%H:%M:%S.%f%z")
        assert row["timestamp"] == round(moment.timestamp() * 1_000_000)
        assert [row.get(k) for k in ("flow_id", "src_ip", "dest_port")] == [
            raw["flow_id"],
            str(ip_address(raw["src_ip"])),
            raw.get("dest_port"),
        ]
        if "alert" in raw:
            assert row["alert.signature"] == raw["alert"]["signature"]
        if "dns" in raw:
            assert row["dns.rrname"] == raw["dns"]["rrname"]


# Bad input


def parse(feed: str, data: bytes, header: bytes = b"", sources: tuple[Source, ...] = ()) -> Loaded:
    return parse_chunks([Chunk(0, data)], feed, header, Catalog(sources))


FEEDS = ["zeek", "zeek.conn", "suricata", "web.access", "proxy.events"]
CONN = (FIXTURES / "zeek.conn" / "in.log").read_bytes()
CONN_HEADER = b"".join(line for line in CONN.splitlines(keepends=True) if line.startswith(b"#"))
CASES = [(feed, b"") for feed in FEEDS] + [("zeek.conn", CONN_HEADER)]


@pytest.mark.parametrize(("feed", "header"), CASES)
def test_binary_junk_is_rejected_line_by_line(feed: str, header: bytes) -> None:
    junk = bytes(range(256)) * 40
    loaded = parse(feed, junk, header)
    assert loaded.count == 0
    assert loaded.lines == len([line for line in junk.split(b"\n") if line])


@pytest.mark.parametrize(("feed", "header"), CASES)
@given(data=st.data())
@settings(max_examples=60)
def test_garbage_never_raises(feed: str, header: bytes, data: st.DataObject) -> None:
    good = b"\n".join((FIXTURES / name / "in.log").read_bytes()[:3000] for name in NAMES if name.startswith(feed[:4]))
    pieces = st.one_of(
        st.binary(max_size=30),
        st.sampled_from(
            [b"\n", b"\r\n", b"\t", b" ", b'"', b"{", b"}", b"[", b"\\", b"\0", b"null", b"#fields\ta\n", b"\xff"]
        ),
        st.integers(0, len(good)).map(lambda at: good[at : at + 120]),
    )
    raw = b"".join(data.draw(st.lists(pieces, max_size=25)))
    loaded = parse(feed, raw, header)
    # A byte order mark at the beginning is no line.
    lines = [line for line in raw.removeprefix(codecs.BOM_UTF8).split(b"\n") if line.strip(b" \t\r")]
    if feed.startswith("zeek") and header:
        lines = [line for line in lines if not line.startswith(b"#")]
    assert loaded.lines == len(lines)


@pytest.mark.parametrize(
    "line",
    [
        b'{"ts":' + b"[" * 100_000,
        b'{"ts":' * 100_000,
        b'{"a":' * 900 + b"1" + b"}" * 900,
        b'{"extra":' + b"[" * 900 + b"]" * 900 + b"}",
        b'{"ts": 1e999999999999999999999}',
        b'{"ts": ' + b"9" * 5000 + b"}",
        b"{}{}",
        b"{} null {}",
        b"null",
    ],
)
@pytest.mark.parametrize("feed", ["proxy.events", "zeek.conn", "suricata"])
def test_hostile_json_is_rejected(feed: str, line: bytes) -> None:
    loaded = parse(feed, line + b"\n")
    assert (loaded.count, len(loaded.rejected)) == (0, 1)


@pytest.mark.parametrize("piece", [b" [", b'"', b' "', b'" 1 1 ', b"\\", b" "])
def test_hostile_access_lines_cost_little(piece: bytes) -> None:
    line = b'h - - [05/Mar/2024:08:00:01 +0100] "' + piece * (100_000 // len(piece))
    assert len(parse("web.access", line).rejected) == 1


def test_a_long_line_and_a_cut_gzip_are_among_the_rejected(tmp_path: Path) -> None:
    line = b'192.0.2.1 - - [05/Mar/2024:08:00:01 +0100] "GET / HTTP/1.1" 200 5\n'
    path = tmp_path / "access.log"
    path.write_bytes(line + b"x" * (10 << 20) + b"\n" + line)
    loaded = load(path)
    assert (loaded.count, loaded.lines) == (2, 3)
    assert "10485760 bytes long" in loaded.rejected[0].reason
    packed = gzip.compress(line * 5000)
    (tmp_path / "cut.gz").write_bytes(packed[:-20])
    loaded = load(tmp_path / "cut.gz")
    assert loaded.count == len(loaded.rows()) < 5000
    assert ["ends early" in reason for _, reason in loaded.faults()] == [True]


@pytest.mark.parametrize("feed", FEEDS)
def test_an_empty_file_has_no_events(feed: str, tmp_path: Path) -> None:
    (tmp_path / "empty").write_bytes(b"")
    assert load(tmp_path / "empty", feed).lines == 0


def test_an_unknown_source_is_named() -> None:
    with pytest.raises(UnknownSourceError, match=r"'proxy.event'; did you mean proxy.events"):
        open_parser("proxy.event", b"", Catalog())


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
            del row["_offset"]
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
    assert fault.reason == "field when: 'x' is not a time (a number since 1970)"
    (fault,) = parse("lab.all", b'{"ts":1,"ips":"::1"}', sources=(parse_definition(LAB),)).rejected
    assert fault.reason == "field ips: '::1' is a JSON string, not a list of ip"


def test_a_strptime_format() -> None:
    source = parse_definition({**LAB, "timestamp": {"field": "ts", "format": "%d.%m.%Y %H:%M:%S"}})
    loaded = parse("lab.all", b'{"ts":"05.03.2024 08:00:00"}\n{"ts":"2024-03-05"}\n', sources=(source,))
    assert [row["ts"] for row in loaded.rows()] == [1_709_625_600_000_000]
    assert loaded.faults() == [(29, "field ts: '2024-03-05' is not a time of the form %d.%m.%Y %H:%M:%S")]


def test_a_log_that_sniffing_did_not_see_gets_its_fields_from_its_lines() -> None:
    lines = b'{"_path":"new","ts":1,"uid":"a","n":1}\n{"_path":"new","ts":2,"n":"two"}\n{"ts":3}\n'
    loaded = parse("zeek", lines)
    assert loaded.rows() == [
        {"source": "zeek.new", "ts": 1_000_000, "uid": "a", "extra": '{"n":1}', "_offset": 0},
        {"source": "zeek.new", "ts": 2_000_000, "extra": '{"n":"two"}', "_offset": 39},
    ]
    assert "neither _path nor @stream" in loaded.rejected[0].reason


MEMORY = """
import re, sys
from pathlib import Path
from parsing_support import Catalog
from watchfloor.ingest.files.lines import read_chunks
from watchfloor.ingest.formats.registry import open_parser

def peak(path):
    parser = open_parser("web.access", b"", Catalog())
    events = sum(parser.parse(chunk).count for chunk in read_chunks(path))
    # Not getrusage: its peak has that of the process that forked this one in it.
    return events, int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) // 1024

print(*peak(sys.argv[1]), *peak(sys.argv[2]))
"""


def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    line = b'192.0.2.1 - - [05/Mar/2024:08:00:01 +0100] "GET /some/page HTTP/1.1" 200 5 "-" "probe/1.0 (lab; en)"\n'
    paths = [tmp_path / "small.log", tmp_path / "large.log"]
    for path, count in zip(paths, (160_000, 800_000), strict=True):
        path.write_bytes(line * count)
    command = [sys.executable, "-c", MEMORY, *map(str, paths)]
    result = subprocess.run(
        command, cwd=Path(__file__).parents[2] / "support", capture_output=True, text=True, check=True
    )
    few, before, many, after = map(int, result.stdout.split())
    assert (few, many) == (160_000, 800_000)
    assert after < before + 48 and after < 400
