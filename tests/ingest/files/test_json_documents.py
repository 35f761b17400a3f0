"""JSON arrays, wrapped, pretty-printed and concatenated objects become a line for each record, at its own place.

In `make test`: it needs no servers.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from watchfloor.ingest.files.containers.json_documents import JsonDocuments, is_json_document
from watchfloor.ingest.files.file_scan import WHOLE, scan_file
from watchfloor.ingest.files.lines import read_chunks
from watchfloor.ingest.intake.sniff import sniff_file

TEXTS = st.text(st.sampled_from('ab{}[]",:\\\n\té ')) | st.just("C:\\") | st.just('\\"')
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
RECORDS = st.lists(st.dictionaries(TEXTS, VALUES, min_size=1, max_size=4), min_size=1, max_size=8)
EVENT = {
    "event_type": "flow",
    "timestamp": "2024-03-05T08:00:00Z",
    "src_ip": "192.0.2.1",
    "inner": {"a": [1, {"b": "}"}]},
}


Records = list[dict[str, Any]]


class Blocks:
    """The blocks of a file, of one size."""

    fault = ""
    breaks_off = False

    def __init__(self, data: bytes, size: int) -> None:
        self._data, self._size = data, size

    def __iter__(self) -> Iterator[bytes]:
        yield from (self._data[at : at + self._size] for at in range(0, len(self._data), self._size))


def read(data: bytes, block: int = 1 << 16) -> tuple[bytes, str]:
    documents = JsonDocuments(Blocks(data, block))
    return b"".join(documents), documents.fault


def lines_of(text: bytes) -> list[bytes]:
    return [line.strip() for line in text.split(b"\n") if line.strip()]


def write_documents(records: Records, form: str, indent: int | None, **options: Any) -> str:
    """Writes records in one of the forms that are found."""
    options = {"indent": indent, "ensure_ascii": False, **options}
    match form:
        case "array":
            return json.dumps(records, **options)
        case "wrapped":
            return json.dumps({"Records": records, "nextToken": None}, **options)
        case "wrapped and told":
            return json.dumps({"@odata.context": "x/$y[]", "count": len(records), "value": records}, **options)
        case "wrapped twice":
            return "\n".join(json.dumps({"records": [record]}, **options) for record in records)
        case "arrays":
            return "\n".join(json.dumps([record], **options) for record in records)
        case _:
            return {"touching": "", "apart": " ", "by commas": ",\n", "on lines": "\n"}[form].join(
                json.dumps(record, **options) for record in records
            )


FORMS = [
    "array",
    "wrapped",
    "wrapped and told",
    "wrapped twice",
    "arrays",
    "touching",
    "apart",
    "by commas",
    "on lines",
]


@pytest.mark.parametrize("form", FORMS)
@settings(max_examples=40, deadline=None)
@given(records=RECORDS, indent=st.sampled_from([None, 0, 2]), block=st.integers(1, 50), mark=st.booleans())
def test_each_record_is_a_line(form: str, records: Records, indent: int | None, block: int, mark: bool) -> None:
    data = write_documents(records, form, indent).encode("utf-8-sig" if mark else "utf-8")
    text, fault = read(data, block)
    assert [json.loads(line) for line in lines_of(text)] == records
    assert fault == ""
    assert text == read(data)[0]


@pytest.mark.parametrize("form", [form for form in FORMS if form != "touching"])
@settings(max_examples=40, deadline=None)
@given(records=RECORDS, indent=st.sampled_from([None, 2]))
def test_a_record_stays_at_its_place(form: str, records: Records, indent: int | None) -> None:
    data = write_documents(records, form, indent).encode()
    text, _ = read(data)
    if len(text) == len(data):
        flat = data.replace(b"\n", b" ").replace(b"\r", b" ")
        for line in lines_of(text):
            at = text.index(line)
            assert flat[at : at + len(line)] == line
    else:  # records that touch or stand on one line are given an end
        assert form == "apart" and len(text) < len(data) + len(records)


@settings(max_examples=200, deadline=None)
@given(
    form=st.sampled_from(FORMS),
    records=RECORDS,
    indent=st.sampled_from([None, 2]),
    cut=st.floats(0, 1),
    block=st.integers(1, 50),
)
def test_of_a_document_that_is_cut_off_the_whole_records_are_read(
    form: str, records: Records, indent: int | None, cut: float, block: int
) -> None:
    whole = write_documents(records, form, indent)
    data = whole[: int(len(whole) * cut)].encode()
    text, fault = read(data, block)
    lines = lines_of(text)
    read_whole = []
    for line in lines:
        try:
            read_whole.append(json.loads(line))
        except json.JSONDecodeError:
            break
    if form in ("array", "touching", "apart", "by commas", "on lines"):
        assert read_whole == records[: len(read_whole)]
        assert len(lines) - len(read_whole) <= 1
        assert len(lines) == len(read_whole) or fault
    if form == "array" and 1 <= len(data) < len(whole):
        assert fault == "the JSON document ends early"


@settings(max_examples=200, deadline=None)
@given(data=st.lists(st.sampled_from([*'[]{},":\\ \n', "a", '"Records":', '{"a":1}']), max_size=40).map("".join))
def test_nothing_of_what_is_no_json_is_lost(data: str) -> None:
    text, _ = read(data.encode(), 7)
    assert text == read(data.encode())[0] or "\\" in data or '"' in data
    if '"Records"' not in data:
        kept = text.translate(None, b" \n,[]")
        assert kept == data.encode().translate(None, b" \n,[]")


def test_what_stands_between_records_is_a_line_of_its_own() -> None:
    text, _ = read(b'[{"a":1}, 7, "x", {"b":2}] rubbish {"c":3}more\n{"d":4}] {"e":5}')
    assert lines_of(text) == [
        b'{"a":1}',
        b"7",
        b'"x"',
        b'{"b":2}',
        b"rubbish",
        b'{"c":3}',
        b"more",
        b'{"d":4}',
        b"]",
        b'{"e":5}',
    ]


@pytest.mark.parametrize(
    "data",
    [
        b'[{"a": 1}]',
        b'\xef\xbb\xbf[\n  {\n "a": 1}]',
        b"[]\n",
        b'{\n  "a": 1\n}\n',
        b'{"a": 1,\n "b": 2}\n',
        b'{"a": 1}{"a": 2}\n',
        b'{"a": 1} {"a": 2}\n',
        b'{"Records": [{"a": 1}]}',
        b'{"Records": []}',
        b'{"@odata.count": 1, "value": [{"a": 1}]}\n',
        b'{"kind": "EventList", "apiVersion": "audit.k8s.io/v1", "metadata": {"a": [1]}, "items": [{"a": 1}]}',
        b'{"Records": [' + b'{"a": 1},' * 20_000,
    ],
)
def test_documents_are_told_from_lines(data: bytes) -> None:
    assert is_json_document(data[: 64 << 10])


@pytest.mark.parametrize(
    "data",
    [
        b'{"a": 1}\n{"a": 2}\n',
        b'{"a": [{"b": 1}]}\n',
        b'{"id": {"time": 1}, "actor": "x", "events": [{"b": 1}]}\n',
        b'{"ts": 1, "records": [{"b": 1}]}\n',
        b'{"records": ["a"]}\n{"records": ["b"]}\n',
        b'{"a": 1, "b": "tor\n{"a": 1}\n',
        b'{"a": 1, "b":2,\n{"a": 1}\n',
        b'{"a": 1} rubbish\n',
        b"[Tue Mar 05 08:00:00 2024] [error] x\n",
        b"[1, 2]\n",
        b"{ words }\n",
        b"{",
        b"[",
        b"",
        b"\n\n",
    ],
)
def test_lines_are_left_as_they_are(data: bytes) -> None:
    assert not is_json_document(data)


@pytest.mark.parametrize("form", ["array", "wrapped", "touching"])
@pytest.mark.parametrize("packed", [False, True])
def test_a_file_of_documents_is_recognised_and_read_whole(tmp_path: Path, form: str, packed: bool) -> None:
    data = write_documents([EVENT] * 3_000, form, 2).encode()
    path = tmp_path / "events.json"
    path.write_bytes(gzip.compress(data) if packed else data)
    sniffed = sniff_file(path, None, {})
    assert (sniffed.feed, sniffed.splittable) == ("suricata", False)
    scan = scan_file(path, 1 << 10)
    assert (scan.compressed, scan.damaged, scan.split) == (True, False, WHOLE)
    chunks = list(read_chunks(path, chunk_bytes=1 << 16))
    assert [json.loads(line) for chunk in chunks for line in lines_of(chunk.data)] == [EVENT] * 3_000
    assert not [rejected for chunk in chunks for rejected in chunk.rejected]


def test_a_record_over_the_limit_is_rejected_and_the_next_is_read(tmp_path: Path) -> None:
    long = {"a": "x" * 10_000_000, "b": ["\n", {"c": 1}]}
    (tmp_path / "a.json").write_text(json.dumps([EVENT, long, EVENT], indent=1))
    chunks = list(read_chunks(tmp_path / "a.json"))
    assert [json.loads(line) for chunk in chunks for line in lines_of(chunk.data)] == [EVENT, EVENT]
    (rejected,) = [rejected for chunk in chunks for rejected in chunk.rejected]
    assert "bytes long; the limit is 1048576" in rejected.reason and len(rejected.raw) <= 1 << 20


def test_an_array_is_read_in_bounded_memory(tmp_path: Path) -> None:
    with (tmp_path / "a.json").open("w") as file:
        file.write("[" + json.dumps(EVENT))
        for _ in range(40):
            file.write(("," + json.dumps(EVENT)) * 10_000)
        file.write("]")
    most = records = 0
    for chunk in read_chunks(tmp_path / "a.json", chunk_bytes=1 << 18):
        most, records = max(most, len(chunk.data)), records + len(lines_of(chunk.data))
    assert records == 400_001 and most < 1 << 20
