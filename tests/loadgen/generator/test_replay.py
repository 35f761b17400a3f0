"""Replayed lines parse as before, with their times shifted and nothing else changed.

In `make test`: it needs no servers.
"""

from __future__ import annotations

import gzip
import io
import json
import re
import threading
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from parsing_support import MemoryCatalog, parse_chunks, parse_file, shared_log

from watchfloor.api.cli import main as cli
from watchfloor.ingest.columns.scalars import Unfit, time_parser
from watchfloor.ingest.files.lines import Chunk, read_chunks
from watchfloor.ingest.formats.registry import open_time_finder
from watchfloor.ingest.parsing.format import SniffResult
from watchfloor.ingest.parsing.time_place import TimePlace
from watchfloor.loadgen.generator.streams import replay as replaying
from watchfloor.loadgen.generator.streams.replay import (
    RateSchedule,
    ReplaySchedule,
    SpeedSchedule,
    replay_file,
    retime_chunks,
)
from watchfloor.loadgen.generator.streams.written_time import format_time_like
from watchfloor.schema.definition import builtin_definitions, parse_definition
from watchfloor.schema.errors import InputFileError, UserError

START = 1_800_000_000_123_456
"""µs: when the replays of these tests begin."""
LOGS = (
    "zeek/brobeat/conn.log",
    "zeek/brobeat/dns.log",
    "zeek/brobeat/http.log",
    "zeek/brobeat/files.log",
    "zeek/zat/data/json/conn.log",
    "zeek/zat/data/conn_date_issue.log",
    "zeek/apt29/apt29/day1/zeek/combined_zeek.log",
    "suricata/aecid/eve.json",
    "suricata/stratosphere/test6-malicious.suricata.json",
    "web_access/elastic_apache_logs",
    "web_access/nasa-50k.log.gz",
)


def replayed(path: Path, source: str | None = None, schedule: ReplaySchedule | None = None) -> tuple[bytes, int, int]:
    """The bytes of a replay, however long it would take; lines, and how many of them have a new time."""
    found = list(retime_chunks(str(path), source, {}, schedule or SpeedSchedule(START, 1.0), START))
    for piece in found:
        assert len(piece.text) == piece.ends[-1] and (piece.times[1:] >= piece.times[:-1]).all()
    text = b"".join(bytes(piece.text) for piece in found)
    return (
        text,
        sum(int(piece.event_counts[-1]) for piece in found),
        sum(int(piece.retimed_counts[-1]) for piece in found),
    )


def shifts(path: Path) -> set[int]:
    """By how much a replay shifts the times of a log's events (µs); fails if anything else about an event is new."""
    like = parse_file(path)
    data = b"".join(chunk.data for chunk in read_chunks(path))
    text, lines, retimed = replayed(path)
    assert text.count(b"\n") == data.count(b"\n")
    before, after = (
        parse_chunks([Chunk(0, log)], like.sniffed.feed, like.sniffed.header, MemoryCatalog(like.sniffed.sources))
        for log in (data, text)
    )
    assert (lines, retimed) == (before.lines, before.count) == (after.lines, after.count)
    found: set[int] = set()
    for (source, old), (_, new) in zip(before.events, after.events, strict=True):
        apart = [source.time_field, "(offset)"]
        assert new.drop_columns(apart).equals(old.drop_columns(apart))
        times = (batch.column(source.time_field).cast(pa.int64()) for batch in (new, old))
        found |= set(pc.unique(pc.subtract(*times)).to_pylist())
    return found


@pytest.mark.parametrize("name", LOGS)
def test_real_logs_parse_as_before_with_all_times_shifted_alike(name: str) -> None:
    (shift,) = shifts(shared_log(name))
    assert shift % 1_000_000 == 0


@pytest.mark.parametrize("schedule", [RateSchedule(START, 7.0), SpeedSchedule(START, 100.0)])
def test_at_another_pace_times_are_when_lines_are_due(schedule: ReplaySchedule, tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text("".join(json.dumps({"ts": 1_600_000_000 + n * n, "a": "x"}) + "\n" for n in range(20)))
    (piece,) = retime_chunks(str(path), "zeek.x", {}, schedule, START)
    times = [json.loads(line)["ts"] for line in bytes(piece.text).splitlines()]
    assert times == [int(time) // 1_000_000 for time in piece.times]
    gaps = [b - a for a, b in zip(piece.times, piece.times[1:], strict=False)]
    if isinstance(schedule, RateSchedule):
        assert piece.times[0] == START and all(abs(gap - 1e6 / 7) <= 1 for gap in gaps)
    else:
        assert gaps == [(2 * n + 1) * 10_000 for n in range(19)]


# Where a time stands


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('{"ts":1600000000.25,"a":"b"}', '{"ts":1800000001.25,"a":"b"}'),
        ('{"a": "\\"ts\\":1", "ts" : "1600000000.25" }', '{"a": "\\"ts\\":1", "ts" : "1800000001.25" }'),
        ('{"n":{"ts":5},"ts":"2020-09-13T12:26:40.25Z"}', '{"n":{"ts":5},"ts":"2027-01-15T08:00:01.25Z"}'),
        ('{"ts":"2020-09-13 14:26:40,250+02:00"}', '{"ts":"2027-01-15 10:00:01,250+02:00"}'),
        ('{"ts":"2020-09-13T06:56:40.25-0530"}', '{"ts":"2027-01-15T02:30:01.25-0530"}'),
        ('{"ts":1600000000.250000000,"s":"ts"}', '{"ts":1800000001.250000000,"s":"ts"}'),
    ],
)
def test_json_is_changed_in_the_time_alone(before: str, after: str, tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(b"\xef\xbb\xbf" + before.encode() + b"\r\n\r\n" + before.encode())
    text, lines, retimed = replayed(path, "zeek.x", SpeedSchedule(1_800_000_001_000_000, 1.0))
    assert text == b"\xef\xbb\xbf" + after.encode() + b"\r\n\r\n" + after.encode()
    assert (lines, retimed) == (2, 2)


NAMES = st.sampled_from(["ts", "a", '"ts":', "ts\\", "é", ""])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(0, 9) | NAMES | st.just("1600000000"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=8,
)


@given(
    st.dictionaries(NAMES, VALUES, max_size=4),
    st.sampled_from([1_600_000_000, 1_600_000_000.125, "1600000000", "2020-09-13T12:26:40Z"]),
    st.dictionaries(NAMES.filter(lambda name: name != "ts"), VALUES, max_size=4),
    st.booleans(),
    st.booleans(),
)
def test_only_the_time_is_changed_whatever_stands_around_it(
    before: dict[str, Any], time: Any, after: dict[str, Any], spaced: bool, ascii_only: bool
) -> None:
    before.pop("ts", None)
    event = {**before, "ts": time, **{name: value for name, value in after.items() if name not in before}}
    separators = (", ", " : ") if spaced else (",", ":")
    line = json.dumps(event, separators=separators, ensure_ascii=ascii_only).encode()
    finder, form = open_time_finder(SniffResult("zeek.conn", b"", (builtin_definitions()["zeek.conn"],)))
    place = finder.find_time(line)
    assert place is not None and place.micros // 1_000_000 == 1_600_000_000
    new = format_time_like(line[place.start : place.end].decode(), START, form)
    assert new is not None
    changed = json.loads(line[: place.start] + new.encode() + line[place.end :])
    assert list(changed) == list(event) and changed == {**event, "ts": changed["ts"]} and changed["ts"] != time


@pytest.mark.parametrize(
    "line",
    [
        '{"a":1}',
        '{"n":{"ts":1600000000}}',
        '{"ts":null}',
        '{"ts":true}',
        '{"ts":[1600000000]}',
        '{"ts":"yesterday"}',
        '{"ts":1.6e9}',
        '{"ts":1600000000',
        '["ts",1600000000]',
        '{"\\u0074s":1600000000}',
        "not JSON",
    ],
)
def test_a_line_whose_time_is_not_found_is_passed_on_and_counted(line: str, tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    good = '{"ts":1600000000,"id.orig_h":"10.0.0.1"}\n'
    path.write_text(good + line + "\n" + good)
    text, lines, retimed = replayed(path, "zeek.x")
    assert text.splitlines()[1].decode() == line
    assert (lines, retimed) == (3, 2)


def test_fields_below_others_and_by_patterns(tmp_path: Path) -> None:
    fields = [{"name": "event.time", "type": "time"}, {"name": "who", "type": "string"}]
    definition = {"name": "lab.door", "parser": {"format": "json"}, "fields": fields}
    stamp = {"field": "event.time", "format": "%d.%m.%Y %H:%M:%S.%f %z"}
    source = parse_definition({**definition, "timestamp": stamp})
    path = tmp_path / "door.json"
    time = "13.09.2020 14:26:40.500000 +0200"
    path.write_text(f'{{"time":1,"event":{{"time":"{time}"}}}}\n{{"event.time":"{time}","who":"time"}}\n')
    (piece,) = retime_chunks(
        str(path), "lab.door", {"lab.door": source}, SpeedSchedule(1_800_000_000_000_000, 1.0), START
    )
    assert bytes(piece.text).decode() == path.read_text().replace(time, "15.01.2027 10:00:00.500000 +0200")


def test_zeek_columns_follow_headers_that_change(tmp_path: Path) -> None:
    head = "#separator \\x09\n#set_separator\t,\n#empty_field\t(empty)\n#unset_field\t-\n#path\tdoor\n"
    one = head + "#fields\tts\twho\n#types\ttime\tstring\n1600000000.5\tme\n-\tnobody\n"
    two = head + "#fields\twho\tts\n#types\tstring\ttime\n1600000000.5\t1600000007.500000\n#close\t2020\n"
    path = tmp_path / "door.log"
    path.write_text(one + two)
    text, lines, retimed = replayed(path, schedule=SpeedSchedule(1_800_000_000_000_000, 1.0))
    assert text.decode() == one.replace("1600000000.5", "1800000000.5") + two.replace("1600000007.5", "1800000007.5")
    assert (lines, retimed) == (3, 2)


def test_a_zeek_log_without_times_is_passed_on(tmp_path: Path) -> None:
    path = tmp_path / "names.log"
    path.write_text("#separator \\x09\n#path\tnames\n#open\t2020-09-13-12-26-40\n#fields\tname\n#types\tstring\na\nb\n")
    text, lines, retimed = replayed(path)
    assert (text, lines, retimed) == (path.read_bytes(), 2, 0)


def test_access_logs_keep_zone_and_odd_lines(tmp_path: Path) -> None:
    line = 'höst - a b [13/Sep/2020:14:26:40 +0200] "GET /[13/Sep/2020:14:26:40 +0200] HTTP/1.1" 200 5\n'
    path = tmp_path / "access.log"
    path.write_text(line + "rubbish\n" + line)
    text, lines, retimed = replayed(path, "web.access", SpeedSchedule(1_800_000_000_000_000, 1.0))
    new = line.replace("[13/Sep/2020:14:26:40", "[15/Jan/2027:10:00:00", 1)
    assert (text.decode(), lines, retimed) == (new + "rubbish\n" + new, 3, 2)


# How a time is written


@given(
    st.integers(0, 4_000_000_000_000_000),
    st.integers(0, 4_000_000_000_000_000),
    st.sampled_from(["iso8601", "epoch", "epoch_ms", "epoch_us", "%d/%b/%Y:%H:%M:%S %z", "%Y%m%d%H%M%S"]),
    st.integers(0, 9),
    st.sampled_from(["", "Z", "+00:00", "+0530", "-11:45", "+02"]),
)
@example(0, 1, "epoch_us", 3, "")
def test_a_time_is_written_as_another_was_and_read_back(old: int, new: int, form: str, digits: int, zone: str) -> None:
    parse = time_parser(form)
    if form == "iso8601":
        seed = format_time_like(f"2020-01-01T00:00:00{'.' + '0' * digits if digits else ''}{zone}", old, form)
        resolution = 10 ** max(0, 6 - digits)
    elif "%" in form:
        seed = format_time_like(time_like(form), old, form)
        resolution = 1_000_000
    else:
        seed = format_time_like(f"1{'.' + '0' * digits if digits else ''}", old, form)
        power = {"epoch": 6, "epoch_ms": 3, "epoch_us": 0}[form]
        resolution = 10 ** max(0, power - digits)
    assert seed is not None and parse(seed) == old // resolution * resolution
    text = format_time_like(seed, new, form)
    assert text is not None and parse(text) == new // resolution * resolution
    if "iso" in form:
        assert re.sub("[0-9]", "0", text[:26]) == re.sub("[0-9]", "0", seed[:26]) and text.endswith(zone)


def time_like(pattern: str) -> str:
    return {"%d/%b/%Y:%H:%M:%S %z": "13/Sep/2020:14:26:40 +0200", "%Y%m%d%H%M%S": "20200913142640"}[pattern]


@given(st.text(alphabet="0123456789.eE+-:TZ/ ", max_size=30), st.sampled_from(["iso8601", "epoch", "epoch_ms"]))
def test_what_is_rewritten_is_a_time_again_or_is_left_alone(text: str, form: str) -> None:
    try:
        time_parser(form)(text)
    except Unfit:
        return
    new = format_time_like(text, START, form)
    assert new is None or abs(time_parser(form)(new) - START) < 1_000_000


def test_times_that_no_event_has_are_not_written() -> None:
    assert format_time_like("1600000000", -1, "epoch") is None
    assert format_time_like("1600000000", 10**17, "epoch") is None


# The command


def test_replay_at_its_own_pace_begins_now(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text("".join(f'{{"ts":{1_600_000_000.5 + n / 100:.2f}}}\n' for n in range(30)))
    out = io.BytesIO()
    began = time.time()
    done = replay_file(str(path), out, threading.Event(), source="zeek.x", speed=1.0)
    times = [json.loads(line)["ts"] for line in out.getvalue().splitlines()]
    assert began < times[0] < began + 5 and abs(times[-1] - times[0] - 0.29) < 1e-6
    assert (done.lines, done.retimed, done.bytes) == (30, 30, len(out.getvalue()))
    assert time.time() >= times[-1], "it ends when the last line is due, not before"


def test_the_command_says_what_it_did(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, target = tmp_path / "x.json.gz", tmp_path / "out.json"
    path.write_bytes(gzip.compress(b'{"ts":1600000000,"_path":"x"}\n' * 40 + b'{"_path":"x"}\n' * 2))
    assert cli.main(["replay", str(path), "--rate", "500", "--out", str(target)]) == cli.OK
    out, err = capsys.readouterr()
    assert out == "" and err.startswith("42 lines, ") and "ms late; 2 were passed on as they are" in err
    assert target.read_bytes().count(b"\n") == 42


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--rate", "0"], "--rate is 0"),
        (["--speed", "-1"], "--speed is -1"),
        (["--rate", "1", "--source", "zeek.conn", "--out", "/nonexistent/x"], "cannot write /nonexistent/x"),
        (["--rate", "1", "--source", "web.access"], "JSON lines, not web.access"),
        (["--rate", "1", "--out", "../{}/conn.log"], "is the log itself"),
    ],
)
def test_bad_arguments_are_refused_by_name(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = tmp_path / "conn.log"
    path.write_text('{"ts":1600000000}\n')
    monkeypatch.chdir(tmp_path)
    assert cli.main(["replay", "conn.log", *(text.format(tmp_path.name) for text in arguments)]) == cli.USER
    assert message in capsys.readouterr().err
    assert path.read_text() == '{"ts":1600000000}\n'


def test_one_pace_is_wanted(tmp_path: Path) -> None:
    for arguments in ([], ["--rate", "1", "--speed", "1"]):
        with pytest.raises(SystemExit):
            cli.main(["replay", str(tmp_path), *arguments])


def test_files_that_cannot_be_read_are_refused(tmp_path: Path) -> None:
    broken = tmp_path / "x.json.gz"
    broken.write_bytes(gzip.compress(b'{"ts":1600000000}\n' * 9)[:-9])
    out = io.BytesIO()
    for path, message in ((broken, "ends early"), (tmp_path / "none", "cannot be read")):
        with pytest.raises(InputFileError, match=message):
            replay_file(str(path), out, threading.Event(), source="zeek.x", rate=1000.0)
    with pytest.raises(UserError, match="--speed"):
        SpeedSchedule(START, float("inf"))


def test_a_schedule_by_rate_counts_lines_without_a_time_too() -> None:
    schedule = RateSchedule(START, 2.0)
    assert [schedule(None), schedule(TimePlace(0, 1, 5)), schedule(None)] == [START, START + 500_000, START + 1_000_000]


def test_replays_do_not_hold_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replaying, "CHUNK_BYTES", 2_000)
    path = tmp_path / "x.json"
    path.write_text("".join(f'{{"ts":{1_600_000_000 + n}}}\n' for n in range(1_000)))
    sizes = [len(piece.text) for piece in retime_chunks(str(path), "zeek.x", {}, RateSchedule(START, 1e6), START)]
    assert len(sizes) > 5 and max(sizes) < 3_000
