"""Syslog: the years and zones of times that have none, the sources of programs, and what no header fits.

In `make test`: it needs no servers.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from parsing_support import DATA, MemoryCatalog, parse_chunks, parse_file, shared_log

from watchfloor.ingest.files.lines import read_chunks
from watchfloor.ingest.formats.syslog.header import split_lines
from watchfloor.ingest.formats.syslog.times import read_times
from watchfloor.ingest.formats.text.years import add_years
from watchfloor.ingest.intake.sniff import sniff_file
from watchfloor.schema.definition import builtin_definitions, parse_definition
from watchfloor.schema.times import to_micros

CHANGES = st.datetimes(datetime(1995, 1, 1), datetime(2100, 1, 1)).map(lambda moment: moment.replace(microsecond=0))


@given(changed=CHANGES, ages=st.lists(st.timedeltas(timedelta(hours=-20), timedelta(days=363)), min_size=1, max_size=4))
def test_a_time_without_a_year_lies_in_the_year_before_the_file_was_changed(
    changed: datetime, ages: list[timedelta]
) -> None:
    moments = [(changed - age).replace(microsecond=0) for age in ages]
    texts = pa.array([f"{moment:%b} {moment.day:2} {moment:%H:%M:%S}" for moment in moments])
    reasons: dict[int, str] = {}
    times = read_times("ts", texts, to_micros(changed.replace(tzinfo=UTC)), "UTC", reasons)
    assert [time.replace(tzinfo=None) for time in times.to_pylist()] == moments and not reasons


def test_the_last_day_of_february_lies_in_a_leap_year() -> None:
    changed = to_micros(datetime(2023, 3, 1, tzinfo=UTC))
    (time,) = read_times("ts", pa.array(["Feb 29 10:00:00"]), changed, "UTC", {}).to_pylist()
    assert time == datetime(2020, 2, 29, 10, tzinfo=UTC)


@given(
    moment=st.datetimes(datetime(2015, 1, 1), datetime(2030, 1, 1)).map(lambda moment: moment.replace(microsecond=0))
)
@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/St_Johns", "Asia/Kathmandu"])
def test_a_time_without_a_zone_is_of_the_zone_of_the_file(zone: str, moment: datetime) -> None:
    there = moment.replace(tzinfo=UTC).astimezone(ZoneInfo(zone))
    text = f"{there:%b} {there.day:2} {there:%H:%M:%S}"
    (time,) = read_times("ts", pa.array([text]), to_micros(moment.replace(tzinfo=UTC)), zone, {}).to_pylist()
    # An hour that comes twice is the first of both.
    assert time == there.replace(fold=0).astimezone(UTC)


def test_bad_times_have_reasons_and_spoil_no_others() -> None:
    texts = pa.array(
        ["Feb 30 10:00:00", "Mar  1 10:00:00", "Xyz  1 10:00:00", "2024-03-01T10:00:00Z", "Mar  1 24:00:00"]
    )
    reasons: dict[int, str] = {}
    times = read_times("ts", texts, to_micros(datetime(2024, 3, 2, tzinfo=UTC)), "UTC", reasons).to_pylist()
    assert times[1] == times[3] == datetime(2024, 3, 1, 10, tzinfo=UTC)
    assert reasons[0] == "field ts: 'Feb 30 10:00:00' is not a time like Oct 10 13:55:36" and {*reasons} == {0, 2, 4}


def test_a_time_may_have_a_year() -> None:
    texts = pa.array(["Oct  1 2018 12:34:56", "Oct 11 2018 12:34:56", "Mar  1 10:00:00", "Feb 30 2018 10:00:00"])
    reasons: dict[int, str] = {}
    times = read_times("ts", texts, to_micros(datetime(2024, 3, 2, tzinfo=UTC)), "UTC", reasons).to_pylist()
    assert times == [
        datetime(2018, 10, 1, 12, 34, 56, tzinfo=UTC), datetime(2018, 10, 11, 12, 34, 56, tzinfo=UTC),
        datetime(2024, 3, 1, 10, tzinfo=UTC), None,
    ]  # fmt: skip
    assert reasons == {3: "field ts: 'Feb 30 2018 10:00:00' is not a time like Oct 10 2000 13:55:36"}


@pytest.mark.parametrize(
    ("line", "host", "program"),
    [
        ("<166>Oct 10 2018 12:34:56 gate CiscoASA[999]: %ASA-6-305011: x", "gate", "%ASA-6-305011"),
        ("Oct 10 2018 12:34:56: %ASA-6-302013: x", "", "%ASA-6-302013"),
        ("<134>Jan  1 2019 00:00:00 gate : %ASA-4-106023: x", "gate", "%ASA-4-106023"),
        ("Apr 27 02:02:02 gate: %ASA-4-106023: x", "gate", "%ASA-4-106023"),
        ("Oct 10 12:34:56 gate %FTD-6-302013: x", "gate", "%FTD-6-302013"),
        ("<166>Oct 10 2018 12:34:56 UTC: %ASA-6-302013: x", "", "%ASA-6-302013"),
        ("<189>45: *Mar  1 18:46:11.123: %SYS-5-CONFIG_I: x", "", "%SYS-5-CONFIG_I"),
        ("Oct 10 2018 12:34:56 gate sshd[7]: x", "gate", "sshd"),
    ],
)
def test_the_headers_that_cisco_writes(line: str, host: str, program: str) -> None:
    found = {name: column.to_pylist()[0] for name, column in split_lines([line.encode()]).items()}
    assert (found["host"], found["program"], found["message"]) == (host, program, "x")


def test_a_file_over_new_year_has_both_years(tmp_path: Path) -> None:
    path = tmp_path / "auth.log"
    lines = [
        "Dec 31 23:59:59 gate sshd[1]: Server listening on :: port 22.",
        "Jan  1 00:00:01 gate cron[2]: (root) CMD (x)",
    ]
    path.write_text("\n".join(lines) + "\n")
    os.utime(path, (changed := datetime(2024, 1, 3, tzinfo=UTC).timestamp(), changed))
    rows = parse_file(path).rows()
    assert [row["source"] for row in rows] == ["syslog.sshd", "syslog.cron"]
    assert [row["ts"] for row in rows] == [
        to_micros(datetime(2023, 12, 31, 23, 59, 59, tzinfo=UTC)), to_micros(datetime(2024, 1, 1, 0, 0, 1, tzinfo=UTC))
    ]  # fmt: skip


@given(changed=CHANGES, ages=st.lists(st.timedeltas(timedelta(hours=-20), timedelta(days=363)), min_size=1, max_size=4))
def test_alerts_without_a_year_follow_the_same_rule(changed: datetime, ages: list[timedelta]) -> None:
    moments = [changed - age for age in ages]
    texts = pa.array([*(f"{moment:%m/%d-%H:%M:%S.%f}" for moment in moments), "03/05/2024-08:00:01.5", None])
    expected = [*(f"{moment:%Y/%m/%d-%H:%M:%S.%f}" for moment in moments), "03/05/2024-08:00:01.5", None]
    assert add_years(texts, to_micros(changed.replace(tzinfo=UTC))).to_pylist() == expected


def test_a_file_of_alerts_over_new_year_has_both_years(tmp_path: Path) -> None:
    path = tmp_path / "alert"
    alert = "[**] [1:7:1] LAB scan [**] [Priority: 2] {UDP} 192.0.2.10:1 -> 198.51.100.7:2"
    path.write_text(f"12/31-23:59:59.500000  {alert}\n01/01-00:00:01.000000  {alert}\n02/30-00:00:01.000000  {alert}\n")
    os.utime(path, (when := datetime(2024, 1, 3, tzinfo=UTC).timestamp(), when))
    loaded = parse_file(path)
    assert [row["ts"] for row in loaded.rows()] == [
        to_micros(datetime(2023, 12, 31, 23, 59, 59, 500_000, tzinfo=UTC)),
        to_micros(datetime(2024, 1, 1, 0, 0, 1, tzinfo=UTC)),
    ]
    assert [reason.split(":")[0] for _, reason in loaded.faults()] == ["field ts"]


def test_a_source_of_the_users_own_gets_the_lines_of_its_programs(tmp_path: Path) -> None:
    own = parse_definition(
        {
            "name": "syslog.doord",
            "parser": {
                "format": "syslog", "programs": ["door/*"], "patterns": {"opened": r"^opened by (?P<who>\S+)$"},
                "ignore": ["message", "(pattern)"],
            },
            "timestamp": {"field": "ts", "format": "iso8601"},
            "unknown_fields": "extra",
            "fields": [{"name": n, "type": k} for n, k in [("ts", "time"), ("who", "string"), ("extra", "string")]],
        }
    )  # fmt: skip
    path = tmp_path / "doors.log"
    path.write_text("2024-03-05T08:00:01Z gate door/3[7]: opened by eva\n2024-03-05T08:00:02Z gate window: open\n")
    sniffed = sniff_file(path, None, {own.name: own})
    assert [source.name for source in sniffed.sources] == ["syslog.doord", "syslog.messages"]
    parsed = parse_chunks(read_chunks(path), sniffed.feed, sniffed.header, MemoryCatalog(sniffed.sources))
    assert [(row["source"], row.get("who")) for row in parsed.rows()] == [(own.name, "eva"), ("syslog.messages", None)]


def test_a_name_that_an_attacker_has_chosen_does_not_change_the_address(tmp_path: Path) -> None:
    path = tmp_path / "auth.log"
    spoofed = "root from 203.0.113.9 port 22 ssh2"
    path.write_text(
        f"2024-03-05T08:00:01Z gate sshd[1]: Failed password for invalid user {spoofed} from 192.0.2.10 port 5 ssh2\n"
        f"2024-03-05T08:00:02Z gate sshd[1]: Invalid user {spoofed} from 192.0.2.10 port 5\n"
        f"2024-03-05T08:00:03Z gate sshd[1]: Disconnected from invalid user {spoofed} 192.0.2.10 port 5 [preauth]\n"
    )
    assert [(row["user"], row["src_ip"]) for row in parse_file(path).rows()] == 3 * [(spoofed, "192.0.2.10")]


@pytest.mark.parametrize(("name", "rejected"), [("auth/auth.log", 0), ("mail/maillog", 1270)])
def test_real_syslogs_are_events_or_rejected(name: str, rejected: int) -> None:
    path = shared_log(name)
    loaded = parse_file(path)
    assert len(loaded.rejected) == rejected
    assert loaded.lines == sum(1 for line in path.read_bytes().split(b"\n") if line.strip())


def test_of_a_real_log_of_logins_a_pattern_knows_nearly_all() -> None:
    events = [row for row in parse_file(shared_log("auth/auth.log")).rows() if row["source"] != "syslog.messages"]
    known = sum("event" in row for row in events)
    assert known > 0.98 * len(events)
    accepted = [row for row in events if row.get("event") == "accepted"]
    text = (DATA / "auth" / "auth.log").read_text()
    assert len(accepted) == text.count("]: Accepted ") and all(row["src_ip"] and row["user"] for row in accepted)


def test_every_syslog_source_that_ships_says_which_programs_are_its_own() -> None:
    programs = [
        program
        for source in builtin_definitions().values()
        if source.parser["format"] == "syslog"
        for program in source.parser["programs"]
    ]
    assert programs.count("*") == 1 and len(programs) == len({*programs})
