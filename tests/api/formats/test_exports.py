"""Exports over REST in every format are complete and equal, for queries of one and of several sources and for stats.

In `make test`: it is short, on the stack of the run.
"""

from __future__ import annotations

import csv
import io
import json
import zlib
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from flask.testing import FlaskClient
from ingest_support import RUN
from loaded import LAYOUTS, batch_of, write
from rest_fakes import check_problem
from served import AnyToken

from watchfloor.api.formats.compression import ENCODINGS
from watchfloor.api.formats.stream_encoder import MEDIA_TYPES, SUMMARY_KEY
from watchfloor.api.rest.app import create_app
from watchfloor.api.rest.store_services import StoreServices
from watchfloor.schema.definition import parse_definition
from watchfloor.schema.settings.settings import Settings
from watchfloor.store.store import Store

pytestmark = pytest.mark.stack

EVENTS = 20_000
START = datetime(2026, 1, 8, tzinfo=UTC)
BEARER = {"Authorization": "Bearer analyst"}
BOTH = ",".join(f"export{RUN}.{layout}" for layout in LAYOUTS)


@pytest.fixture(scope="module")
def client(store_settings: Settings) -> Iterator[FlaskClient]:
    with Store.open(store_settings) as store, store.sink() as sink:
        for layout in LAYOUTS:
            kind = parse_definition(
                {
                    "name": f"export{RUN}.{layout}",
                    "parser": {"format": "json"},
                    "timestamp": {"field": "ts"},
                    "layout": layout,
                    "fields": [
                        {"name": "ts", "type": "time"},
                        {"name": "n", "type": "int", "indexed": True},
                        {"name": "text", "type": "string"},
                    ],
                }
            )
            rows = [
                {"ts": START + timedelta(seconds=n // 3), "n": n, "text": f"=line\n{n}" if n % 5 else None}
                for n in range(EVENTS)
            ]
            stored = store.catalog.register(kind)
            write(sink, stored, 0, batch_of(stored, rows), block_rows=2000)
        sink.flush()
    services = StoreServices(store_settings)
    yield create_app(services, AnyToken()).test_client()
    services.close()


def ask(client: FlaskClient, form: str, path: str = "query", encoding: str = "", **body: Any) -> bytes:
    headers = {**BEARER, "Accept": MEDIA_TYPES[form], **({"Accept-Encoding": encoding} if encoding else {})}
    answer = client.post(f"/api/v1/{path}", json=body, headers=headers)
    assert (answer.status_code, answer.content_type) == (200, MEDIA_TYPES[form]), answer.text
    used = answer.headers.get("Content-Encoding", "")
    assert used == ("" if form == "parquet" else encoding)
    assert answer.headers["Vary"] == "Accept, Accept-Encoding"
    if used == "gzip":
        return zlib.decompress(answer.data, 31)
    return pa.CompressedInputStream(pa.BufferReader(answer.data), "zstd").read() if used == "zstd" else answer.data


def read_rows(form: str, data: bytes) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Returns the rows of an answer, without nulls, and its summary."""
    if form == "ndjson":
        *rows, last = map(json.loads, data.splitlines())
        return rows, last["summary"]
    if form == "csv":
        reader = csv.reader(io.StringIO(data.decode(), newline=""))
        header, *lines, last = reader
        summary = dict(part.split("=", 1) for part in last[0].removeprefix("# ").split())
        return [{k: v for k, v in zip(header, line, strict=True) if v} for line in lines], summary
    if form == "arrow":
        assert data.endswith(b"\xff\xff\xff\xff\x00\x00\x00\x00")
        batches = list(pa.ipc.open_stream(data).iter_batches_with_custom_metadata())
        table, summary = pa.Table.from_batches([one.batch for one in batches]), batches[-1].custom_metadata
    else:
        table, summary = pq.read_table(io.BytesIO(data)), pq.read_metadata(io.BytesIO(data)).metadata
    rows = [{k: v for k, v in row.items() if v is not None} for row in table.to_pylist()]
    return rows, json.loads(summary[SUMMARY_KEY.encode()])


def sum_ids(rows: list[dict[str, Any]]) -> int:
    """Returns a checksum of the IDs, whatever their order is."""
    return sum(int.from_bytes(blake2b(row["_id"].encode(), digest_size=8).digest()) for row in rows)


@pytest.mark.parametrize("encoding", ["", *ENCODINGS])
def test_every_format_has_every_event(client: FlaskClient, layout: str, encoding: str) -> None:
    source, sums = f"export{RUN}.{layout}", set()
    for form in MEDIA_TYPES:
        data = ask(client, form, encoding=encoding, source=source, columns=["n", "text"], ids=True)
        rows, summary = read_rows(form, data)
        assert summary["status"] == "complete" and int(summary["rows"]) == len(rows) == EVENTS
        assert len({row["_id"] for row in rows}) == EVENTS
        assert sum(int(row["n"]) for row in rows) == EVENTS * (EVENTS - 1) // 2
        quote = "'" if form == "csv" else ""
        assert all(row.get("text", f"{quote}=line\n{row['n']}") == f"{quote}=line\n{row['n']}" for row in rows)
        assert sum("text" in row for row in rows) == EVENTS * 4 // 5
        sums.add(sum_ids(rows))
    assert len(sums) == 1


def test_several_sources_and_their_own_columns(client: FlaskClient) -> None:
    for form in MEDIA_TYPES:
        for more in ({}, {"own_columns": True}, {"columns": ["_source", "n"]}):
            rows, summary = read_rows(form, ask(client, form, source=BOTH, where="n < 50", ids=True, **more))
            assert int(summary["rows"]) == len(rows) == len({row["_id"] for row in rows}) == 100


def test_the_format_may_be_in_the_address(client: FlaskClient) -> None:
    for form, media_type in MEDIA_TYPES.items():
        answer = client.post(f"/api/v1/query?format={form}", json={"source": BOTH, "limit": 3}, headers=BEARER)
        assert (answer.status_code, answer.content_type) == (200, media_type)
        rows, summary = read_rows(form, answer.data)
        assert (len(rows), summary["status"]) == (3, "limit") and summary["cursor"]
    check_problem(client.post("/api/v1/query?format=xlsx", json={"source": BOTH}, headers=BEARER), "bad-request")
    answer = client.post("/api/v1/query", json={"source": BOTH, "limit": 3}, headers={**BEARER, "Accept": "text/html"})
    assert answer.content_type == MEDIA_TYPES["ndjson"]


def test_stats_are_tables(client: FlaskClient, layout: str) -> None:
    body = {"source": f"export{RUN}.{layout}", "stats": "count(), max(n) by bucket(1h) as hour | sort hour"}
    *records, last = map(json.loads, ask(client, "ndjson", "stats", **body).splitlines())
    expected = [row for record in records for row in record["rows"]]
    assert len(expected) == 2 and last["summary"]["rows"] == 2
    for form in ("csv", "arrow", "parquet"):
        rows, summary = read_rows(form, ask(client, form, "stats", **body))
        assert [int(row["count"]) for row in rows] == [row["count"] for row in expected]
        assert summary["status"] == "complete" and int(summary["rows"]) == 2
        partial = {**body, "partial": True}
        check_problem(client.post(f"/api/v1/stats?format={form}", json=partial, headers=BEARER), "bad-request")
        nothing, summary = read_rows(form, ask(client, form, "stats", **{**body, "where": "n > 99999999"}))
        assert nothing == [] and summary["status"] == "complete"


def test_a_deadline_is_told_in_every_format(client: FlaskClient) -> None:
    for form in MEDIA_TYPES:
        rows, summary = read_rows(form, ask(client, form, source=BOTH, deadline=1e-6))
        assert (rows, summary["status"]) == ([], "deadline")


def test_a_watch_streams_in_formats_that_can(client: FlaskClient) -> None:
    body = {"source": f"export{RUN}.block", "watch": True, "since": "2026-01-08", "limit": 5, "columns": ["n"]}
    for form in ("ndjson", "csv", "arrow"):
        rows, summary = read_rows(form, ask(client, form, **body))
        assert len(rows) == 5 and summary["status"] == "limit"
    check_problem(client.post("/api/v1/query?format=parquet", json=body, headers=BEARER), "bad-request")
