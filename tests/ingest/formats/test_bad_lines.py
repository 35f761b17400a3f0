"""Junk, hostile and odd lines are rejected with a reason, at little cost, and never raise.

In `make test`: it needs no servers.
"""

from __future__ import annotations

import codecs
import gzip
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from parser_fixtures import FIXTURES, NAMES, parse
from parsing_support import MemoryCatalog, parse_file

from watchfloor.ingest.formats.registry import open_parser
from watchfloor.ingest.intake.sniff import sniff_file
from watchfloor.schema.errors import UnknownSourceError

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
    loaded = parse_file(path)
    assert (loaded.count, loaded.lines) == (2, 3)
    assert "10485760 bytes long" in loaded.rejected[0].reason
    packed = gzip.compress(line * 5000)
    (tmp_path / "cut.gz").write_bytes(packed[:-20])
    loaded = parse_file(tmp_path / "cut.gz")
    assert loaded.count == len(loaded.rows()) < 5000
    assert ["ends early" in reason for _, reason in loaded.faults()] == [True]


@pytest.mark.parametrize("feed", FEEDS)
def test_an_empty_file_has_no_events(feed: str, tmp_path: Path) -> None:
    (tmp_path / "empty").write_bytes(b"")
    assert parse_file(tmp_path / "empty", feed).lines == 0


def test_an_unknown_source_is_named() -> None:
    with pytest.raises(UnknownSourceError, match=r"'proxy.event'; did you mean proxy.events"):
        open_parser("proxy.event", b"", MemoryCatalog())


MEMORY = """
import re, sys
from pathlib import Path
from parsing_support import MemoryCatalog
from watchfloor.ingest.files.lines import read_chunks
from watchfloor.ingest.formats.registry import open_parser
from watchfloor.ingest.intake.sniff import sniff_file

def peak(path):
    parser = open_parser("web.access", b"", MemoryCatalog())
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


def test_a_header_of_thousands_of_columns_is_refused_in_few_words() -> None:
    names = b"\t".join([b"ts", *(b"c%d" % number for number in range(2500))])
    kinds = b"\t".join([b"time", *[b"string"] * 2500])
    header = b"#separator \\x09\n#path\twide\n#fields\t" + names + b"\n#types\t" + kinds + b"\n"
    (rejected,) = parse("zeek", b"\t".join([b"1"] * 2501) + b"\n", header).rejected
    assert "cannot be used" in rejected.reason and len(rejected.reason) < 600


MARKS = [
    b'"',
    b"\\",
    b"=",
    b" ",
    b"\t",
    b"|",
    b"\n",
    b"\r",
    b"\0",
    b"[",
    b"]",
    b"{",
    b"}",
    b",",
    b"''",
    b'" "',
    b'="',
    b"\xff",
]


@given(data=st.data())
@settings(max_examples=120)
def test_torn_lines_of_every_source_are_events_or_rejected(data: st.DataObject) -> None:
    """Marks are put in, pieces cut out, and pieces of other logs spliced in."""
    path = FIXTURES / data.draw(st.sampled_from(NAMES)) / "in.log"
    other = (FIXTURES / data.draw(st.sampled_from(NAMES)) / "in.log").read_bytes()
    sniffed = sniff_file(path, "proxy.events" if path.parent.name == "proxy.events" else None, {})
    raw = path.read_bytes()[:4000]
    for _ in range(data.draw(st.integers(1, 8))):
        at = data.draw(st.integers(0, len(raw)))
        start = data.draw(st.integers(0, len(other)))
        piece = data.draw(st.one_of(st.sampled_from(MARKS), st.just(other[start : start + 60]), st.just(b"")))
        raw = raw[:at] + piece + raw[at + data.draw(st.integers(0, 20)) :]
    parse(sniffed.feed, raw, sniffed.header, sniffed.sources)
