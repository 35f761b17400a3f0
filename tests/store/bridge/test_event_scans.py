"""Events and entries written through the bridge come back: in order, typed, filtered and labelled.

In `make test`: it is short, on the stack of the run.
"""

from __future__ import annotations

import struct
from datetime import UTC, datetime

import pyarrow as pa
import pytest
from bridge_tables import (
    CELLS,
    EVENTS,
    START,
    binary,
    entries,
    host_of,
    note_of,
    read,
    request_hosts,
    row_of,
    scan_events,
    shards,
    sink,
)

from watchfloor.schema.errors import InternalError, StoreError
from watchfloor.schema.field import Field, FieldType
from watchfloor.store.bridge.connection import Connection
from watchfloor.store.bridge.requests import EventScan, ServerIterator, ServerOptions
from watchfloor.store.bridge.streams import FEW_RANGES, EventStream
from watchfloor.store.encoding.ranges import Ranges
from watchfloor.store.encoding.values import bridge_type, encode_column, to_arrow_type

pytestmark = pytest.mark.stack


def equals(field: str, value: bytes) -> bytes:
    return struct.pack(">BBH", 0x14, 0, len(field)) + field.encode() + struct.pack(">I", len(value)) + value


def test_events_come_newest_first_over_all_shards(connection: Connection, events: str) -> None:
    batches = scan_events(connection, events, shards(), ["note", "host", "ts", "secret"])
    assert 0 < len(batches[0]) <= 10
    assert max(map(len, batches)) <= 700
    found = [tuple(row.values()) for batch in batches for row in batch.to_pylist()]
    sortable = [struct.pack(">Q", START + i * 1000 + (1 << 63)) for i in range(EVENTS)]
    newest_first = reversed(range(EVENTS))
    assert found == [(row_of(i), note_of(i), host_of(i), sortable[i], None) for i in newest_first]


TYPED: dict[str, list[object]] = {
    "string": ["", "naïve \x00", "z" * 300],
    "int": [0, -1, (1 << 63) - 1, -(1 << 63)],
    "float": [0.0, -1.5, float("inf"), -float("inf"), 5e-324],
    "bool": [True, False],
    "time": [datetime(1970, 1, 1, tzinfo=UTC), datetime(2016, 2, 20, 20, 26, 40, 1, UTC)],
    "port": [0, 443, 65535],
    "ip": ["10.0.0.1", "2001:db8::1"],
    "list": [[], [1, None, -7]],
}
"""Values of fields named like their types."""


def test_values_come_typed(connection: Connection, table: str) -> None:
    count = 1000
    fields = [Field(name, FieldType(name)) for name in TYPED if name != "list"]
    fields.append(Field("list", FieldType.LIST, items=FieldType.INT))
    columns = [
        pa.array([TYPED[f.name][i % len(TYPED[f.name])] if (i + n) % 7 else None for i in range(count)], f.arrow)
        for n, f in enumerate(fields)
    ]
    rows = binary([row_of(i) for i in range(count)])
    encoded = [encode_column(field, column) for field, column in zip(fields, columns, strict=True)]
    with sink(connection) as writer:
        names = ["row", *(field.name for field in fields)]
        writer.write_rows(table, pa.RecordBatch.from_arrays([rows, *encoded], names=names))
    wanted = {field.name: bridge_type(field) for field in fields}
    with EventStream(connection, [], EventScan(CELLS, table, shards(), wanted, 10, 700, True, 2)) as stream:
        found = pa.concat_batches(list(stream))
    newest_first = pa.array(range(count - 1, -1, -1))
    assert found.column("row").equals(rows.take(newest_first))
    for field, column in zip(fields, columns, strict=True):
        came = to_arrow_type(field, found.column(field.name))
        came.validate(full=True)
        assert came.equals(column.take(newest_first)), field.name


def test_a_value_of_another_width_is_an_error(connection: Connection, events: str) -> None:
    with (
        EventStream(connection, [], request_hosts(events, "port")) as stream,
        pytest.raises(StoreError, match="a value of field host has 6 bytes, not 2"),
    ):
        list(stream)


@pytest.mark.parametrize("ordered", [True, False])
def test_filters_run_on_the_servers(connection: Connection, events: str, ordered: bool) -> None:
    batches = scan_events(connection, events, shards(), ["host"], equals("host", b"rare"), ordered=ordered)
    found = [row for batch in batches for row in batch.column("row").to_pylist()]
    wanted = [row_of(i) for i in reversed(range(EVENTS)) if host_of(i) == b"rare"]
    assert found == wanted if ordered else sorted(found) == sorted(wanted)
    assert scan_events(connection, events, shards(), [], equals("host", b"none"), ordered=ordered) == []


@pytest.mark.parametrize("every", [7, 997])
def test_exact_rows_are_looked_up(connection: Connection, events: str, every: int) -> None:
    wanted = [row_of(i) for i in range(0, EVENTS, every)]
    assert (len(wanted) > FEW_RANGES) == (every == 7)
    ranges = Ranges.exact_rows(binary([*wanted, b"0000none"]))
    batches = scan_events(connection, events, ranges, [], ordered=False)
    assert sorted(row for batch in batches for row in batch.column("row").to_pylist()) == sorted(wanted)


@pytest.mark.parametrize("limit", [1, 60])
def test_what_is_beyond_a_limit_comes_to_those_who_read_on(connection: Connection, events: str, limit: int) -> None:
    wanted = {"host": "bytes"}
    request = EventScan(CELLS, events, shards(), wanted, 10, 700, True, 2, ServerOptions(time="ts"), limit=limit)
    with EventStream(connection, [], request) as stream:
        batches = list(stream)
    assert max(map(len, batches)) <= max(10, limit * 5 // 4)
    found = [row for batch in batches for row in batch.column("row").to_pylist()]
    assert found == [row_of(i) for i in reversed(range(EVENTS))]


def test_labels_hide_fields(connection: Connection, events: str) -> None:
    hidden = scan_events(connection, events, shards(), ["secret"], equals("secret", b"s"))
    shown = scan_events(connection, events, shards(), ["secret"], equals("secret", b"s"), labels=["red"])
    assert hidden == []
    assert sum(map(len, shown)) == EVENTS


def test_a_scan_without_ranges_is_empty(connection: Connection, events: str) -> None:
    assert scan_events(connection, events, Ranges(), ["host"]) == []
    assert read(connection, events, Ranges.exact_rows(binary([])), ordered=False) == []


def test_a_pattern_that_is_not_linear_is_refused_before_it_is_sent(connection: Connection, events: str) -> None:
    program = struct.pack(">BBH", 0x12, 0, 4) + b"host" + struct.pack(">BI", 0, 5) + rb"(a)\1"
    with pytest.raises(InternalError, match="RE2"):
        scan_events(connection, events, shards(), [], program)


def test_entries_go_in_and_come_out(connection: Connection, table: str) -> None:
    batch = entries(
        row=[b"a", b"a", b"a\x00b", b"\xff"],
        family=[b"", b"f", b"", b""],
        qualifier=[b"q1", b"q\x00", b"", b"\xff\xff"],
        visibility=[b"", b"", b"", b""],
        value=[b"1", b"", b"\x00", b"v" * 100_000],
    )
    dictionary = pa.RecordBatch.from_arrays([c.dictionary_encode() for c in batch.columns], names=batch.schema.names)
    wanted = sorted(tuple(row.values()) for row in batch.to_pylist())
    for written in (batch, dictionary, batch.slice(1, 2)):
        with sink(connection) as writer:
            writer.write_entries(table, written)
            writer.flush()
    assert read(connection, table) == wanted
    assert read(connection, table, batch_rows=1) == wanted
    assert sorted(read(connection, table, ordered=False)) == wanted


def test_many_entries_of_one_row(connection: Connection, table: str) -> None:
    qualifiers = [b"%06d" % i for i in range(25_000)]
    with sink(connection) as writer:
        writer.write_entries(table, entries(row=[b"r"] * len(qualifiers), qualifier=qualifiers))
    ranges = Ranges()
    ranges.add_qualifiers(b"r", b"000100", b"020000")
    assert [row[2] for row in read(connection, table, ranges)] == qualifiers[100:20_000]


def test_timestamps_are_written(connection: Connection, table: str) -> None:
    for value, timestamp in ((b"new", 2), (b"old", 1)):
        batch = entries(row=[b"r"], value=[value]).append_column("timestamp", pa.array([timestamp], pa.int64()))
        with sink(connection) as writer:
            writer.write_entries(table, batch)
    assert [row[4] for row in read(connection, table)] == [b"new"]


def test_counts_are_summed_by_the_servers(connection: Connection, table: str) -> None:
    qualifiers = [struct.pack(">QQ", bucket, item) for bucket in range(50) for item in range(40)]
    ones = [struct.pack(">Q", 1)] * len(qualifiers)
    for row in (b"a", b"b"):
        with sink(connection) as writer:
            family = [b"d"] * len(qualifiers)
            writer.write_entries(
                table, entries(row=[row] * len(qualifiers), family=family, qualifier=qualifiers, value=ones)
            )

    def count_by(what: str) -> list[ServerIterator]:
        return [ServerIterator(30, "counts", "watchfloor.iterators.CountIterator", {"mode": "cells", "by": what})]

    # The server is made to tear the scan down after each answer.
    connection.client.tableOperations().setProperty(table, "table.scan.max.memory", "1")
    for ordered in (True, False):
        rows = read(connection, table, iterators=count_by("row"), ordered=ordered)
        assert sorted((r[0], r[4]) for r in rows) == [(b"a", struct.pack(">Q", 2000)), (b"b", struct.pack(">Q", 2000))]
        buckets = read(connection, table, iterators=count_by("bucket"), ordered=ordered)
        assert len(buckets) == 100
        assert {r[4] for r in buckets} == {struct.pack(">Q", 40)}
