"""Zeek JSON that names no log is told by its keys, then by the name of its file; bad headers say what is wrong.

In `make test`: it needs no servers.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from parser_fixtures import parse
from parsing_support import parse_file, shared_log

from watchfloor.ingest.formats.zeek.log_keys import keys_of_records, shipped_log_keys
from watchfloor.ingest.intake.sniff import sniff_file
from watchfloor.schema.definition import builtin_definitions, parse_definition
from watchfloor.schema.errors import InputFileError

Write = Callable[..., Path]
IDS = {
    "ts": 1709625601.5,
    "uid": "C1",
    "id.orig_h": "10.0.0.1",
    "id.orig_p": 5,
    "id.resp_h": "10.0.0.2",
    "id.resp_p": 6,
}
CONN = {**IDS, "proto": "tcp", "conn_state": "SF", "history": "ShAdDaFf", "orig_pkts": 4}
DNS = {**IDS, "proto": "udp", "query": "lab.example", "qtype_name": "A", "rcode_name": "NOERROR"}
SSL = {**IDS, "version": "TLSv13", "cipher": "TLS_AES_128_GCM_SHA256", "established": True}
GENERAL = {**IDS, "proto": "tcp"}
"""Keys that several logs have."""
HEADER = "#separator \\x09\n#set_separator\t,\n#empty_field\t(empty)\n#unset_field\t-\n"


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write_file(name: str, *records: dict[str, Any] | str) -> Path:
        lines = (record if isinstance(record, str) else json.dumps(record) for record in records)
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines))
        return tmp_path / name

    return write_file


@pytest.mark.parametrize(
    ("name", "records", "feed"),
    [
        ("data.json", [CONN], "zeek.conn"),
        ("data.json", [DNS, {**IDS, "proto": "udp", "trans_id": 7}], "zeek.dns"),
        ("conn.log", [DNS], "zeek.dns"),
        ("data.json", [{key.replace(".", "_"): value for key, value in SSL.items()}], "zeek.ssl"),
        ("data.json", [{**CONN, "@timestamp": "x", "_write_ts": 1.5}], "zeek.conn"),
        ("sensor1_conn.log", [GENERAL], "zeek.conn"),
        ("sensor1-smb_files.2024-03-05-08-00-00.log", [{**IDS, "path": "x"}], "zeek.smb_files"),
        ("known_hosts_files.log", [GENERAL], "zeek.known_hosts"),
        ("lamp.log", [GENERAL], "zeek.lamp"),
        ("data.json", [{**CONN, "duration": 1.5, "resp_pkts": 3, "site": "north"}], "zeek.conn"),
        ("dns.log", [{**CONN, "site": "north", "floor": 3, "room": 4, "door": 5, "bell": 6}], "zeek.dns"),
        ("data.json", [{"ts": 1.5, "peer": "zeek", "gaps": 0, "acks": 5, "percent_lost": 0.0}], "zeek.capture_loss"),
        ("x.json", [{"ts": 1.5, "host": "10.0.0.1", "port_num": 80, "port_proto": "tcp"}], "zeek.known_services"),
        ("loaded_scripts.log", [{"name": "/usr/share/zeek/base/init-bare.zeek"}], "zeek.loaded_scripts"),
        ("data.json", [CONN, DNS, SSL], "zeek"),
        ("conn.log", [{**DNS, "_path": "dns"}, CONN], "zeek.conn"),
    ],
)
def test_a_log_is_told_by_its_keys_then_by_the_name_of_its_file(
    write: Write, name: str, records: list[dict[str, Any]], feed: str
) -> None:
    assert sniff_file(write(name, *records), None, {}).feed == feed


def test_lines_of_many_logs_without_a_name_go_to_their_logs(write: Write) -> None:
    path = write("all.json", *[CONN, DNS, SSL] * 3, {**IDS, "proto": "tcp"}, {**IDS, "a": 1, "b": 2, "c": 3}, {"ts": 2})
    assert sniff_file(write("some.json", CONN, DNS, SSL), None, {}).feed == "zeek"
    loaded = parse("zeek", path.read_bytes())
    assert [row["source"] for row in loaded.rows()] == ["zeek.conn", "zeek.dns", "zeek.ssl"] * 3
    reasons = [reason for _, reason in loaded.faults()]
    assert len(reasons) == 3 and all(reason.startswith("neither _path nor @stream says") for reason in reasons)
    assert "its keys fit zeek." in reasons[0] and "no known log has its keys" in reasons[1]


def test_lines_that_fit_several_logs_name_them(write: Write) -> None:
    with pytest.raises(InputFileError, match=r"no named log; its lines may be of zeek\.\w+, .*; name its source"):
        sniff_file(write("2024.json", GENERAL), None, {})


def test_json_of_other_products_is_not_taken_for_zeek(write: Write) -> None:
    for name, record in [
        ("user_files.json", {"id": 1, "name": "a", "files": 3}),
        ("stats.json", {"time": "x", "cpu": 0.5}),
        ("data.json", {"ts": 1.5, "host": "10.0.0.1"}),
        ("data.json", {"ts": 1.5, "who": "a", "what": "b", "where": "c", "why": "d"}),
    ]:
        with pytest.raises(InputFileError, match="no known source fits"):
            sniff_file(write(name, record), None, {})
    fields = [{"name": name, "type": "time" if name == "ts" else "string"} for name in CONN]
    own = {"name": "lab.conn", "parser": {"format": "json"}, "timestamp": {"field": "ts"}, "fields": fields}
    peers = {"ts": 1.5, "peer": "a", "gaps": 1, "acks": 1}
    own["fields"] = [{"name": name, "type": "time" if name == "ts" else "string"} for name in peers]
    assert sniff_file(write("x.json", peers), None, {"lab.conn": parse_definition(own)}).feed == "lab.conn"


@given(st.data())
def test_no_log_is_taken_for_another(data: st.DataObject) -> None:
    """All fields of a log tell it; some of them never tell another log alone."""
    sources = [source for name, source in builtin_definitions().items() if name.startswith("zeek.")]
    source = data.draw(st.sampled_from(sources))
    names = [field.name for field in source.fields if field.name != "extra"]
    log = source.name.partition(".")[2]
    assert shipped_log_keys().find_fitting(keys_of_records([dict.fromkeys(names, 1)])) == [log]
    some = data.draw(st.lists(st.sampled_from(names), min_size=1, unique=True))
    fitting = shipped_log_keys().find_fitting(keys_of_records([dict.fromkeys(some, 1)]))
    assert log in fitting or set(some) != set(names)
    assert log in fitting or len(fitting) == 1  # then those are all of the fields of the other


def test_a_real_file_without_its_log_names_is_read_as_with_them(tmp_path: Path) -> None:
    path = shared_log("zeek/apt29/apt29/day1/zeek/combined_zeek.log")
    records = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    random.Random(7).shuffle(records)
    bare = tmp_path / "combined.json"
    bare.write_text("".join(json.dumps({k: v for k, v in r.items() if k[0] != "@"}) + "\n" for r in records))
    loaded = parse_file(bare)
    told = {row["(offset)"]: row["source"] for row in loaded.rows()}
    rejected = {offset for offset, _ in loaded.faults()}
    offset = 0
    for record, line in zip(records, bare.read_bytes().splitlines(), strict=True):
        assert offset in rejected or told[offset] == f"zeek.{record['@stream']}", line
        offset += len(line) + 1
    assert len(rejected) < len(records) / 50


@pytest.mark.parametrize(
    ("head", "message"),
    [
        (
            "#separator \\t\n#path\tlab\n#fields\tts\n",
            r"its separator is not one byte but '\\\\t'; write a tab as #separator \\x09",
        ),
        ("#separator  \n#path\tlab\n#fields\tts\n", "its separator is not one byte but ''"),
        ("#separator 0x09\n#path\tlab\n#fields\tts\n", "its separator is not one byte but '0x09'"),
        (f"{HEADER}#path\tlab\n#fields\tts\tn\n", "it has no #types line, so nothing tells the type of ts, n; mend"),
        (f"{HEADER}#path\tconn\n#fields\tts\tsite\n", "it has no #types line, so nothing tells the type of site; mend"),
        (
            f"{HEADER}#path\tlab\n#open\t2024-03-05-08-00-00\n#fields\tts\tn\n#types\tstring\tint\n",
            "its column ts has the type string; if it holds times, write time under #types",
        ),
        (f"{HEADER}#path\tlab\n#fields\tn\tn\n#types\tint\tint\n", "its column 'n' is defined twice; name it once"),
    ],
)
def test_a_bad_header_says_what_is_wrong(write: Write, head: str, message: str) -> None:
    path = write("some.log", f"{head}1.5\t2")
    with pytest.raises(InputFileError, match=rf"some\.log: a Zeek log whose header cannot be used: {message}"):
        sniff_file(path, None, {})


def test_known_logs_need_no_types_and_no_time_among_them() -> None:
    lines = b"1709625601.5\t10.0.0.1\t80\n2024-03-05T08:00:02Z\t10.0.0.1\t81\nyesterday\t-\t-\n"
    names = "#path\tconn\n#fields\tts\tid.orig_h\tid.orig_p\n"
    for types in ("", "#types\tstring\tstring\tstring\n"):
        loaded = parse("zeek", lines, (HEADER + names + types).encode())
        assert [(row["ts"], row["id.orig_p"]) for row in loaded.rows()] == [
            (1_709_625_601_500_000, 80),
            (1_709_625_602_000_000, 81),
        ]
        ((_, reason),) = loaded.faults()
        assert reason == "field ts: 'yesterday' is not a time (a number of seconds since 1970, or ISO 8601)"


def test_a_header_that_changes_on_the_way() -> None:
    one = f"{HEADER}#path\tlab\n#fields\tts\tn\n#types\ttime\tcount\n"
    lines = [
        "1.5\t1",
        *HEADER.splitlines(), "#path\tlab", "#fields\tts\tn\tmore", "#types\ttime\tcount\tstring",
        "2.5\t2\tx",
        "3.5\t3",
        "#separator \\t", "#path\tlab", "#fields\tts\tn", "#types\ttime\tcount",
        "4.5\t4",
        *HEADER.splitlines(), "#path\tlamp", "#fields\tts\tn", "#types\ttime\tstring",
        "5.5\tfive",
    ]  # fmt: skip
    loaded = parse("zeek", "\n".join(lines).encode(), one.encode())
    assert [(row["source"], row["n"], row.get("more")) for row in loaded.rows()] == [
        ("zeek.lab", 1, None), ("zeek.lab", 2, "x"), ("zeek.lamp", "five", None)
    ]  # fmt: skip
    assert [reason for _, reason in loaded.faults()] == [
        "the line has 2 columns; its header names 3",
        r"the Zeek header before this line cannot be used: its separator is not one byte but '\\t'; "
        r"write a tab as #separator \x09",
    ]


def test_times_that_are_texts_in_json() -> None:
    lines = [{**CONN, "_path": "conn", "ts": ts} for ts in ("2024-03-05T08:00:01.5Z", "1709625602.5", "Mar 5 08:00:03")]
    loaded = parse("zeek", "\n".join(map(json.dumps, lines)).encode())
    assert [row["ts"] for row in loaded.rows()] == [1_709_625_601_500_000, 1_709_625_602_500_000]
    ((_, reason),) = loaded.faults()
    assert reason == "field ts: 'Mar 5 08:00:03' is not a time (a number of seconds since 1970, or ISO 8601)"
