"""Results come out of each streamed format as they went in, and an answer that was cut off differs from a whole one.

In `make test`: it needs no servers.
"""

from __future__ import annotations

import csv
import io
import json
import zlib
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from watchfloor.api.formats import parquet_writer
from watchfloor.api.formats.compression import ENCODINGS
from watchfloor.api.formats.stream_encoder import MEDIA_TYPES, SUMMARY_KEY, StreamEncoder

SCHEMA = pa.schema(
    [
        ("ts", pa.timestamp("us", tz="UTC")),
        ("text", pa.string()),
        ("size", pa.int64()),
        ("share", pa.float64()),
        ("port", pa.uint16()),
        ("tags", pa.list_(pa.string())),
        ("event", pa.json_(pa.string())),
    ]
)
SUMMARY = {"status": "complete", "rows": 3, "plan": {"text": 'a\nb,"c"'}}
FAILED = {"status": "failed", "rows": 3, "problem": {"type": "tag:watchfloor,2026:busy"}}
END_OF_STREAM = b"\xff\xff\xff\xff\x00\x00\x00\x00"
MOMENT = datetime(2026, 1, 8, 12, tzinfo=UTC)
ROW = {"ts": MOMENT, "text": "a", "size": 1, "share": 0.5, "port": 53, "tags": ["x", None], "event": '{"a":1}'}


def batch_of(rows: list[dict[str, Any]]) -> pa.RecordBatch:
    columns = [
        pa.array([row.get(field.name) for row in rows], getattr(field.type, "storage_type", field.type))
        for field in SCHEMA
    ]
    columns[-1] = pa.ExtensionArray.from_storage(SCHEMA.field("event").type, columns[-1])
    return pa.RecordBatch.from_arrays(columns, schema=SCHEMA)


def encode(form: str, batches: list[pa.RecordBatch], summary: Any = SUMMARY, encoding: str | None = None) -> bytes:
    encoder = StreamEncoder(form, encoding)
    return b"".join(map(encoder.encode, batches)) + encoder.finish(summary, SCHEMA)


def decompress(data: bytes, encoding: str, step: int = 1 << 16) -> bytes:
    """Returns what is there of a compressed stream, which may be cut off; of zstd all but the last bytes of a step."""
    if encoding == "gzip":
        return zlib.decompressobj(31).decompress(data)
    stream, parts = pa.CompressedInputStream(pa.BufferReader(data), "zstd"), []
    try:
        while part := stream.read(step):
            parts.append(part)
    except OSError:  # it ends too early
        pass
    return b"".join(parts)


def plain_rows(batch: pa.RecordBatch) -> list[dict[str, Any]]:
    return [{name: value for name, value in row.items() if value is not None} for row in batch.to_pylist()]


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
rows = st.fixed_dictionaries(
    {},
    optional={
        "ts": st.datetimes(datetime(1970, 1, 1), datetime(2260, 1, 1)).map(lambda ts: ts.replace(tzinfo=UTC)),
        "text": texts
        | st.sampled_from(["=1+1", "+1", "-1", "@SUM(A1)", "\tx", "\rx", "# status=complete", "", "null"]),
        "size": st.integers(-(2**63), 2**63 - 1),
        "share": st.floats(allow_nan=False),
        "port": st.integers(0, 65535),
        "tags": st.lists(texts | st.none(), max_size=3),
    },
)
batches = st.lists(st.lists(rows, max_size=6), max_size=4)


@given(batches)
def test_arrow_and_parquet_keep_every_value(drawn: list[list[dict[str, Any]]]) -> None:
    encoded = [batch_of(some) for some in drawn]
    expected = pa.Table.from_batches(encoded, SCHEMA).to_pylist()
    reader = pa.ipc.open_stream(encode("arrow", encoded))
    assert reader.read_all().to_pylist() == expected
    found = pq.read_table(io.BytesIO(encode("parquet", encoded)))
    assert found.to_pylist() == expected


@given(batches)
def test_csv_has_a_line_for_each_row_and_no_formula(drawn: list[list[dict[str, Any]]]) -> None:
    text = encode("csv", [batch_of(some) for some in drawn]).decode()
    header, *found, last = csv.reader(io.StringIO(text, newline=""))
    expected = [row for some in drawn for row in some]
    assert header == SCHEMA.names and len(found) == len(expected)
    assert last == ["# status=complete rows=3"]
    for cells, row in zip(found, expected, strict=True):
        by_name = dict(zip(header, cells, strict=True))
        written = row.get("text", "")
        assert by_name["text"] == (f"'{written}" if written[:1] in tuple("=+-@\t\r\n") else written)
        assert not by_name["tags"].startswith(tuple("=+-@\t\r\n"))
        assert by_name["size"] == str(row.get("size", "")) and by_name["port"] == str(row.get("port", ""))


def test_ndjson_ends_with_the_summary() -> None:
    *found, last = encode("ndjson", [batch_of([ROW, {}])]).splitlines()
    assert json.loads(last) == {"summary": SUMMARY}
    assert json.loads(found[0])["event"] == {"a": 1} and json.loads(found[1]) == {}


@pytest.mark.parametrize("form", MEDIA_TYPES)
def test_an_answer_without_rows_has_its_columns_and_its_end(form: str) -> None:
    data = encode(form, [])
    if form == "arrow":
        assert pa.ipc.open_stream(data).read_all().schema == SCHEMA
    elif form == "parquet":
        assert pq.read_table(io.BytesIO(data)).schema.names == SCHEMA.names
    elif form == "csv":
        assert data.decode().splitlines() == [",".join(f'"{n}"' for n in SCHEMA.names), "# status=complete rows=3"]
    encoder = StreamEncoder(form)
    assert encoder.finish(SUMMARY, pa.schema([])) or form == "parquet"


def test_the_summary_is_metadata_of_arrow_and_parquet() -> None:
    reader = pa.ipc.open_stream(encode("arrow", [batch_of([ROW])]))
    found = [reader.read_next_batch_with_custom_metadata() for _ in range(2)]
    assert [len(one.batch) for one in found] == [1, 0]
    assert json.loads(found[1].custom_metadata[SUMMARY_KEY.encode()]) == SUMMARY
    metadata = pq.read_metadata(io.BytesIO(encode("parquet", [batch_of([ROW])]))).metadata
    assert json.loads(metadata[SUMMARY_KEY.encode()]) == SUMMARY


def is_whole(form: str, data: bytes) -> bool:
    """Returns whether an answer tells that it is whole, as ``docs/using/rest.md`` has it."""
    if form == "arrow":
        return data.endswith(END_OF_STREAM)
    if form == "parquet":
        try:
            pq.read_metadata(io.BytesIO(data))
        except pa.ArrowInvalid:
            return False
        return True
    last = data.decode(errors="replace").rpartition("\n")[0].rpartition("\n")[2] if data.endswith(b"\n") else ""
    return last.startswith("# status=complete") if form == "csv" else last.startswith('{"summary":')


@pytest.mark.parametrize("form", MEDIA_TYPES)
@pytest.mark.parametrize("encoding", [None, *ENCODINGS])
def test_a_cut_is_seen_wherever_it_is(form: str, encoding: str | None) -> None:
    rows = [{**ROW, "text": "# status=complete rows=3\n"}, {}, {**ROW, "text": '{"summary":1}\n'}]
    data = encode(form, [batch_of(rows[:2]), batch_of(rows[2:])], encoding=encoding)

    def read(length: int) -> bytes:
        return data[:length] if encoding is None else decompress(data[:length], encoding)

    assert is_whole(form, read(len(data)))
    plain = read(len(data))
    for length in range(len(data)):
        part = read(length)
        assert plain.startswith(part)
        assert part == plain or not is_whole(form, part), length


@pytest.mark.parametrize("form", ["arrow", "parquet", "csv"])
def test_a_failed_answer_is_not_whole(form: str) -> None:
    data = encode(form, [batch_of([ROW])], FAILED)
    assert not is_whole(form, data)
    if form == "csv":
        assert data.decode().splitlines()[-1] == "# status=failed rows=3 problem=busy"


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("form", ["ndjson", "csv", "arrow"])
def test_each_batch_can_be_read_before_the_next(form: str, encoding: str) -> None:
    """First rows are on a client's screen while the query runs."""
    plain, packed = StreamEncoder(form), StreamEncoder(form, encoding)
    sent, received = b"", b""
    for n in range(4):
        batch = batch_of([{**ROW, "size": n}])
        sent += plain.encode(batch)
        received += packed.encode(batch)
        assert decompress(received, encoding, step=1) == sent


def test_row_groups_are_of_bounded_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet_writer, "GROUP_ROWS", 10)
    encoder = StreamEncoder("parquet")
    chunks = [encoder.encode(batch_of([{**ROW, "size": n}] * 4)) for n in range(10)]
    data = b"".join(chunks) + encoder.finish(SUMMARY, SCHEMA)
    assert sum(map(bool, chunks)) >= 3
    file = pq.ParquetFile(io.BytesIO(data))
    assert [file.metadata.row_group(n).num_rows for n in range(file.num_row_groups)] == [12, 12, 12, 4]
    assert file.read().column("size").to_pylist() == [n for n in range(10) for _ in range(4)]
