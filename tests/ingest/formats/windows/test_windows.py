"""Windows events have the same names in all forms of JSON; their times are UTC; each channel has its source.

In `make test`: it needs no servers.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import orjson
import pytest
from parser_fixtures import parse
from parsing_support import log_lines, parse_file, unzip_log

from watchfloor.ingest.formats.windows.channels import name_source
from watchfloor.ingest.formats.windows.format import WindowsFormat
from watchfloor.ingest.formats.windows.names import rename_path
from watchfloor.ingest.intake.sniff import sniff_file
from watchfloor.schema.definition import builtin_definitions, parse_definition

DATA = {"TargetUserName": "eva", "LogonType": "3", "IpAddress": "192.0.2.7", "IpPort": "50000", "ProcessId": "0x1f4"}
SYSMON = "Microsoft-Windows-Sysmon/Operational"


def evtx(channel: str, data: dict[str, Any], time: str = "2026-03-05T08:00:00Z") -> dict[str, Any]:
    system = {
        "EventID": {"#attributes": {"Qualifiers": 1}, "#text": 4624},
        "Provider": {"#attributes": {"Name": "lab"}},
        "TimeCreated": {"#attributes": {"SystemTime": time}},
        "EventRecordID": 9,
        "Channel": channel,
        "Computer": "ws1",
        "Keywords": "0x8020000000000000",
        "Level": 4,
    }
    return {"Event": {"#attributes": {"xmlns": "x"}, "System": system, "EventData": data}}


def winlogbeat(channel: str, data: dict[str, Any]) -> dict[str, Any]:
    winlog = {"channel": channel, "event_id": "4624", "provider_name": "lab", "record_id": 9, "computer_name": "ws1"}
    return {
        "@timestamp": "2026-03-05T08:00:00Z",
        "winlog": {**winlog, "keywords": ["Audit Success"], "event_data": data},
        "log": {"level": "information"},
    }


def nxlog(channel: str, data: dict[str, Any], **more: Any) -> dict[str, Any]:
    parts = {"EventTime": "2026-03-05 08:00:00", "EventID": 4624, "SourceName": "lab", "RecordNumber": 9}
    parts |= {"Channel": channel, "Hostname": "ws1", "Keywords": -9214364837600034816, "Severity": "INFO"}
    return {**parts, **data, **more}


def read(*records: dict[str, Any], feed: str = "windows") -> list[dict[str, Any]]:
    loaded = parse(feed, b"\n".join(map(orjson.dumps, records)))
    assert not loaded.faults()
    return [{name: value for name, value in row.items() if name != "(offset)"} for row in loaded.rows()]


def test_all_forms_give_the_same_event() -> None:
    rows = read(evtx("Security", DATA), winlogbeat("security", DATA), nxlog("SECURITY", DATA))
    assert json.loads(rows[0].pop("extra")) == {"Qualifiers": 1}
    for row in rows:
        assert row.pop("Channel").lower() == "security"
        assert row == {
            "source": "windows.security",
            "TimeCreated": 1_772_697_600_000_000,
            "EventID": 4624,
            "Computer": "ws1",
            "Provider_Name": "lab",
            "EventRecordID": 9,
            "Level": 4,
            "Keywords": "0x8020000000000000",
            "TargetUserName": "eva",
            "LogonType": 3,
            "IpAddress": "192.0.2.7",
            "IpPort": 50_000,
            "ProcessId": 500,
        }


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        ({"EventTime": "2026-03-05 03:00:00"}, "2026-03-05T03:00:00"),
        ({"EventTime": "2026-03-05T03:00:00.25-05:00"}, "2026-03-05T08:00:00.250000"),
        (
            {
                "EventTime": "2026-03-05 03:00:00",
                "EventReceivedTime": "2026-03-05 03:07:01",
                "@timestamp": "2026-03-05T08:07:09.9Z",
            },
            "2026-03-05T08:00:00",
        ),
        (
            {
                "EventTime": "2026-03-05 13:45:00",
                "EventReceivedTime": "2026-03-05 13:45:01",
                "@timestamp": "2026-03-05T08:00:02Z",
            },
            "2026-03-05T08:00:00",
        ),
        (
            {
                "EventTime": "2026-03-05 03:00:00",
                "EventReceivedTime": "2026-03-01 03:00:00",
                "@timestamp": "2026-03-05T08:00:00Z",
            },
            "2026-03-05T03:00:00",
        ),
        ({"EventTime": "yesterday", "@timestamp": "2026-03-05T08:00:00Z"}, "2026-03-05T08:00:00"),
    ],
)
def test_local_times_are_utc_afterwards(times: dict[str, str], expected: str) -> None:
    (row,) = read(nxlog("System", {}, **times))
    (wanted,) = read(evtx("System", {}, expected + "Z"))
    assert row["TimeCreated"] == wanted["TimeCreated"]
    assert ("EventTime" in row.get("extra", "")) is (times["EventTime"] == "yesterday")


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("Event.EventData.Image", "Image"),
        ("winlog.event_data.Threat Name", "ThreatName"),
        ("Event.EventData.Channel", "EventData.Channel"),
        ("Event.UserData.LogFileCleared.Channel", "EventData.Channel"),
        ("Event.UserData.LogFileCleared.#attributes.xmlns", None),
        ("Event.System.Provider_attributes.Name", "Provider_Name"),
        ("Event.System.Execution.#attributes.ThreadID", "ExecutionThreadID"),
        ("Hostname", "Computer"),
        ("agent.version", None),
        ("host.os.name", "host.os.name"),
    ],
)
def test_names_of_parts(path: str, name: str | None) -> None:
    assert rename_path(path) == name


def test_channels_without_a_definition_get_sources_like_those_that_ship(tmp_path: Path) -> None:
    assert name_source("Microsoft-Windows-Bits-Client/Operational") == "windows.bits_client"
    assert name_source("Key Management Service") == "windows.key_management_service"
    assert name_source("…") == "windows.unnamed"
    channel = "Microsoft-Windows-Lab/Operational"
    path = tmp_path / "some.json"
    lines = [evtx(channel, {"User": "CORP\\eva", "ProcessId": "0x10", "Weight": "1"}), evtx(channel, {"List": [1]})]
    path.write_bytes(b"\n".join(map(orjson.dumps, lines)))
    (source,) = sniff_file(path, None, {}).sources
    fields = {f.name: (f.type_name, f.ecs, f.is_indexed) for f in source.fields[-4:]}
    assert source.name == "windows.lab" and fields == {
        "User": ("string", "user.name", True),
        "ProcessId": ("int", "process.pid", False),
        "Weight": ("string", "", False),
        "extra": ("string", "", False),
    }
    rows = parse_file(path).rows()
    assert [row.get("ProcessId") for row in rows] == [16, None] and '"List":[1]' in rows[1]["extra"]


def test_a_definition_of_ones_own_has_its_channel(tmp_path: Path) -> None:
    shipped = builtin_definitions()["windows.application"].definition
    own = parse_definition({**shipped, "name": "lab.doors", "parser": {"format": "windows", "channels": ["Doors"]}})
    path = tmp_path / "some.json"
    path.write_bytes(orjson.dumps(nxlog("doors", {})) + b"\n" + orjson.dumps(nxlog("Security", {})))
    found = sniff_file(path, None, {own.name: own})
    assert {source.name for source in found.sources} == {"lab.doors", "windows.security"}


def test_lines_that_are_no_events() -> None:
    lines = [b'{"EventID":1}', b'{"Channel":"Security"}', b"[]", b'{"Channel":["Security"],"EventID":1}', b"\xff{}"]
    loaded = parse("windows", b"\n".join(lines))
    assert loaded.count == 0 and loaded.lines == len(lines)
    assert [reason.split(":")[0] for _, reason in loaded.faults()] == [
        "none of Channel, winlog.channel, Event.System.Channel, log_name names the channel of a Windows event",
        "field TimeCreated",
        "not a JSON object but a JSON array",
        "none of Channel, winlog.channel, Event.System.Channel, log_name names the channel of a Windows event",
        "not UTF-8",
    ]


def test_the_time_is_found_in_each_form() -> None:
    finder = WindowsFormat().open_time_finder(b"", builtin_definitions()["windows.security"])
    for record in (evtx("Security", {}), winlogbeat("Security", {}), nxlog("Security", {})):
        place = finder.find_time(orjson.dumps(record))
        assert place is not None and place.micros == 1_772_697_600_000_000


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("covenant_dcom_iertutil_dll_hijack", 37_814),
        ("empire_mimikatz_sam_access", 12_349),
        ("empire_persistence_registry_modification_run_keys_standard_user", 40_569),
        ("empire_wmic_add_user_backdoor", 12_278),
    ],
)
def test_real_events(name: str, lines: int, tmp_path: Path) -> None:
    """The second reader is Python's; Sysmon's own UTC time tells that the zone was found."""
    path = unzip_log(f"windows/{name}.zip", tmp_path)
    loaded = parse_file(path)
    assert (loaded.count, loaded.rejected) == (lines, [])
    values = {"EventID": "EventID", "Hostname": "Computer", "Message": "Message", "Image": "Image", "IpPort": "IpPort"}
    for (offset, line), row in zip(log_lines(path), loaded.rows(), strict=True):
        raw = json.loads(line)
        assert row["(offset)"] == offset and row["source"].startswith("windows.")
        for key, field in values.items():
            if raw.get(key, "-") != "-":
                assert str(row[field]) == str(raw[key])
        if row["source"] == "windows.sysmon":
            assert abs(row["TimeCreated"] - row["UtcTime"]) < 30_000_000
