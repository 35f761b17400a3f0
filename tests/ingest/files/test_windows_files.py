"""Windows event log files and events as XML become the lines of JSON that evtx_dump writes; damage costs only itself.

In `make test`: it needs no servers.
"""

from __future__ import annotations

import gzip
import json
import zipfile
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from evtx_file import CHUNK_BYTES, HEADER_BYTES, Node, write_evtx
from hypothesis import given, settings
from hypothesis import strategies as st
from parsing_support import MemoryCatalog, parse_chunks

from watchfloor.ingest.files.containers.xml_events import XmlEvents
from watchfloor.ingest.files.file_scan import scan_file
from watchfloor.ingest.files.lines import read_chunks
from watchfloor.ingest.files.open_file import open_log_file
from watchfloor.ingest.intake.logs_in_file import sniff_logs
from watchfloor.ingest.intake.sniff import sniff_file

NAMESPACE = "http://schemas.microsoft.com/win/2004/08/events/event"
TEXTS = st.text(st.sampled_from("ab <>&\"'é\n{}%1")).map(str.strip)
NAMES = st.sampled_from(["SubjectUserName", "Image", "CommandLine", "LogonType", "Hashes"])


def event(number: int, data: dict[str, str], loose: tuple[str, ...] = ()) -> Node:
    return Node(
        "Event",
        {"xmlns": NAMESPACE},
        [
            Node(
                "System",
                {},
                [
                    Node("Provider", {"Name": "Microsoft-Windows-Security-Auditing", "Guid": "{0f}"}),
                    Node("EventID", {"Qualifiers": "16384"} if loose else {}, "4624"),
                    Node("Level", {}, "0"),
                    Node("Keywords", {}, "0x8020000000000000"),
                    Node("TimeCreated", {"SystemTime": f"2026-03-05T08:00:{number % 60:02d}.123456Z"}),
                    Node("EventRecordID", {}, str(number)),
                    Node("Correlation"),
                    Node("Execution", {"ProcessID": "4", "ThreadID": "88"}),
                    Node("Channel", {}, "Security"),
                    Node("Computer", {}, "ws7.corp.example"),
                ],
            ),
            Node(
                "EventData",
                {},
                [
                    *(Node("Data", {"Name": name}, text) for name, text in data.items()),
                    *(Node("Data", {}, text) for text in loose),
                ],
            ),
        ],
    )


def as_element(node: Node) -> ElementTree.Element:
    element = ElementTree.Element(node.name, node.attributes)
    if isinstance(node.content, str):
        element.text = node.content or None
    else:
        element.extend(map(as_element, node.content))
    return element


def as_xml(node: Node) -> bytes:
    return ElementTree.tostring(as_element(node), encoding="utf-8").removeprefix(
        b"<?xml version='1.0' encoding='utf-8'?>\n"
    )


def read(path: Path) -> tuple[list[Any], list[str]]:
    """Returns the records of a file, and what is wrong with it."""
    chunks = list(read_chunks(path))
    lines = b"".join(chunk.data for chunk in chunks).splitlines()
    return [json.loads(line) for line in lines], [r.reason for chunk in chunks for r in chunk.rejected]


def with_texts(value: Any) -> Any:
    """Returns a value with all numbers as texts."""
    if isinstance(value, dict):
        return {name: with_texts(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [with_texts(inner) for inner in value]
    return str(value) if isinstance(value, int) else value


def ids_of(records: list[Any]) -> list[int]:
    return [int(record["Event"]["System"]["EventRecordID"]) for record in records]


EVENTS = [event(number, {"TargetUserName": f"user{number}", "IpAddress": "192.0.2.7"}) for number in range(1, 91)]
CHUNKS = [EVENTS[:50], EVENTS[50:]]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("windows") / "Security.evtx"


@pytest.mark.parametrize("packed", ["", "gz", "zip"])
def test_an_evtx_file_is_read_as_windows_events(tmp_path: Path, packed: str) -> None:
    data, path, member = write_evtx(CHUNKS), tmp_path / "log", ""
    if packed == "zip":
        member = "logs/Security.evtx"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(member, data)
    else:
        path.write_bytes(gzip.compress(data) if packed else data)
    with open_log_file(str(path)) as file:
        found = sniff_logs(file, None, {})
        sniffed = found.logs[member]
        file.member = member
        scan = scan_file(file, 10)
        parsed = parse_chunks(read_chunks(file), sniffed.feed, sniffed.header, MemoryCatalog(sniffed.sources))
    assert (sniffed.feed, sniffed.splittable, [source.name for source in sniffed.sources]) == (
        "windows",
        False,
        ["windows.security"],
    )
    assert (scan.compressed, scan.damaged, len(scan.ranges)) == (True, False, 1)
    ((source, batch),) = [*parsed.events]
    assert source.name == "windows.security" and not parsed.rejected
    assert batch.column("TargetUserName").to_pylist() == [f"user{number}" for number in range(1, 91)]
    assert batch.column("EventID").to_pylist() == [4624] * 90


@pytest.mark.parametrize(
    ("place", "lost"),
    [
        (HEADER_BYTES, range(1, 51)),
        (HEADER_BYTES + CHUNK_BYTES, range(51, 91)),
        (HEADER_BYTES + 600, [1]),
        (HEADER_BYTES + CHUNK_BYTES + 600, [51]),
    ],
)
def test_damage_in_an_evtx_file_costs_its_chunk_or_record_and_is_told(path: Path, place: int, lost: range) -> None:
    data = bytearray(write_evtx(CHUNKS))
    data[place : place + 8] = b"\xff" * 8
    path.write_bytes(data)
    records, (fault,) = read(path)
    assert ids_of(records) == [number for number in range(1, 91) if number not in lost]
    assert fault.startswith("a part of the EVTX file cannot be read, the others are (Failed to parse")
    assert scan_file(path, 10).damaged


def test_an_evtx_file_that_is_cut_off_is_told(path: Path) -> None:
    path.write_bytes(write_evtx(CHUNKS)[: HEADER_BYTES + CHUNK_BYTES + 3_000])
    records, (fault,) = read(path)
    assert ids_of(records) == list(range(1, 51)) and "it ends early: its header tells of 2 chunks" in fault
    path.write_bytes(write_evtx(CHUNKS)[: HEADER_BYTES + CHUNK_BYTES])
    records, (fault,) = read(path)
    assert ids_of(records) == list(range(1, 51)) and "it ends early" in fault


@settings(max_examples=100, deadline=None)
@given(data=st.binary(max_size=5_000), cut=st.integers(8, 5_000))
def test_anything_that_begins_as_an_evtx_file_gives_no_exception(path: Path, data: bytes, cut: int) -> None:
    path.write_bytes(b"ElfFile\0" + data)
    records, faults = read(path)
    assert not records and faults
    path.write_bytes(write_evtx([EVENTS[:3]])[:cut] + data)
    records, faults = read(path)
    assert set(ids_of(records)) <= {1, 2, 3} and faults


@settings(max_examples=60, deadline=None)
@given(events=st.lists(st.dictionaries(NAMES, TEXTS) | st.lists(TEXTS, max_size=3), min_size=1, max_size=5))
def test_xml_and_evtx_of_the_same_events_are_the_same_lines(
    path: Path, events: list[dict[str, str] | list[str]]
) -> None:
    nodes = [
        event(number, data) if isinstance(data, dict) else event(number, {}, tuple(data))
        for number, data in enumerate(events, 1)
    ]
    path.write_bytes(write_evtx([nodes]))
    of_evtx, faults = read(path)
    assert not faults and len(of_evtx) == len(nodes)
    path.write_bytes(b"<Events>" + b"\n".join(map(as_xml, nodes)) + b"</Events>\n")
    of_xml, faults = read(path)
    assert not faults
    assert with_texts(of_xml) == with_texts(of_evtx)
    system = of_xml[0]["Event"]["System"]
    assert (system["EventRecordID"], system["Execution"]) == (1, {"#attributes": {"ProcessID": 4, "ThreadID": 88}})


HEADS = [
    b"",
    b"<?xml version='1.0' encoding='utf-8'?>\n",
    b"\xef\xbb\xbf",
    b"<!-- exported -->\n<Events>\n",
    b"<Events>",
]


@pytest.mark.parametrize("head", HEADS)
def test_xml_is_recognised_and_read_as_windows_events(tmp_path: Path, head: bytes) -> None:
    path = tmp_path / "events.xml"
    path.write_bytes(head + b"\r\n".join(map(as_xml, EVENTS)) + (b"</Events>" if b"<Events>" in head else b""))
    sniffed = sniff_file(path, None, {})
    assert (sniffed.feed, sniffed.splittable) == ("windows", False)
    records, faults = read(path)
    assert (ids_of(records), faults) == (list(range(1, 91)), [])


class Blocks:
    """The blocks of a file, of one size."""

    fault = ""
    breaks_off = False

    def __init__(self, data: bytes, size: int) -> None:
        self.blocks = [data[at : at + size] for at in range(0, len(data), size)]

    def __iter__(self):  # type: ignore[no-untyped-def]
        return iter(self.blocks)


@settings(max_examples=60, deadline=None)
@given(size=st.integers(1, 3_000))
def test_xml_does_not_depend_on_the_blocks_that_are_read(size: int) -> None:
    data = b"<Events>" + b"".join(map(as_xml, EVENTS[:5])) + b"</Events>"
    assert b"".join(XmlEvents(Blocks(data, size))) == b"".join(XmlEvents(Blocks(data, 1 << 20)))


def lines_of(data: bytes) -> tuple[list[bytes], str]:
    events = XmlEvents(Blocks(data, 1 << 16))
    return b"".join(events).splitlines(), events.fault


def test_what_is_no_event_is_a_line_of_its_own_and_costs_no_other() -> None:
    one, two = map(as_xml, EVENTS[:2])
    broken = b"<Event xmlns='x'><System></Event>"
    lines, fault = lines_of(b"<Events>" + one + b"rub\nbish" + broken + two + b"<Event><System>\n<EventID>4")
    assert [line for line in lines if not line.startswith(b"{")] == [b"rub bish", broken, b"<Event><System> <EventID>4"]
    assert ids_of([json.loads(line) for line in lines if line.startswith(b"{")]) == [1, 2]
    assert fault == "the last event ends early"


def test_entities_and_document_types_bring_nothing_in(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("very secret")
    head = (
        b'<!DOCTYPE Events [<!ENTITY x SYSTEM "file://%s"><!ENTITY a "&b;&b;"><!ENTITY b "lol">]>'
        % str(secret).encode()
    )
    event = as_xml(EVENTS[0]).replace(b"user1", b"&x;&a;")
    inner = b"<Event>" + head + b"&x;</Event>"
    lines, _ = lines_of(head + event + inner + as_xml(EVENTS[1]))
    assert not [line for line in lines if b"very secret" in line or (line.startswith(b"{") and b"lol" in line)]
    assert ids_of([json.loads(line) for line in lines if line.startswith(b"{")]) == [2]


def test_an_event_that_never_ends_is_passed_on_in_bounded_pieces() -> None:
    data = b"<Event><System>" + b"x" * (20 << 20)
    events = XmlEvents(Blocks(data, 1 << 20))
    pieces = list(events)
    assert max(map(len, pieces)) <= 6 << 20 and b"".join(pieces).replace(b"\n", b"") == data
