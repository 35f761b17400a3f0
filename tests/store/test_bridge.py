"""The bridge against real servers: what goes in comes out, and what is refused is said."""

from __future__ import annotations

import json
import os
import signal
import struct
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

import jpype
import pyarrow as pa
import pytest
from scan_sessions import assert_scans_end

from watchfloor.schema.errors import InternalError, StoreError
from watchfloor.schema.field import Field, FieldType
from watchfloor.schema.settings.credentials import Credentials
from watchfloor.schema.settings.settings import Settings
from watchfloor.store.bridge import jvm
from watchfloor.store.bridge.connection import Connection
from watchfloor.store.bridge.requests import EntryScan, EventScan, ServerIterator, ServerOptions
from watchfloor.store.bridge.sinks import EntrySink
from watchfloor.store.bridge.streams import EntryStream, EventStream
from watchfloor.store.encoding.ranges import Ranges
from watchfloor.store.encoding.values import bridge_type, encode_column, to_arrow_type
from watchfloor.store.stack.stack import up

pytestmark = pytest.mark.stack

MAX_TIME = (1 << 63) - 1
START = 1_456_000_000_000_000
SHARDS = 2
EVENTS = 3000
CELLS = "watchfloor.cell.CellStream"


def connect(settings: Settings, more: str = "", role: str = "ingest") -> Connection:
    properties = settings.client_properties.read_text() + more
    return Connection.connect(settings, properties, settings.credentials(role))


@pytest.fixture(scope="module")
def connection(store_settings: Settings) -> Iterator[Connection]:
    with connect(store_settings) as opened:
        yield opened


@pytest.fixture
def table(connection: Connection, request: pytest.FixtureRequest) -> Iterator[str]:
    name = f"bridge_{request.node.name.split('[')[0]}"
    operations = connection.client.tableOperations()
    if operations.exists(name):
        operations.delete(name)
    operations.create(name)
    yield name
    if operations.exists(name):
        operations.delete(name)


def sink(connection: Connection) -> EntrySink:
    return EntrySink(connection, 16 << 20, 2, 30_000)


def binary(values: Sequence[bytes | None]) -> pa.Array:
    return pa.array(values, pa.binary())


def entries(**columns: Sequence[bytes]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict({name: binary(values) for name, values in columns.items()})


def everything() -> Ranges:
    ranges = Ranges()
    ranges.add_rows(b"", None)
    return ranges


def read(
    connection: Connection,
    table: str,
    ranges: Ranges | None = None,
    labels: Sequence[str] = (),
    iterators: Sequence[ServerIterator] = (),
    ordered: bool = True,
    batch_rows: int = 1000,
) -> list[tuple[bytes, ...]]:
    ranges = everything() if ranges is None else ranges
    request = EntryScan(table, ranges, iterators, ordered, batch_rows, requests=2)
    with EntryStream(connection, labels, request) as stream:
        batches = list(stream)
    assert all(0 < len(batch) <= batch_rows for batch in batches)
    return [tuple(row.values()) for batch in batches for row in batch.to_pylist()]


# Events


def row_of(i: int) -> bytes:
    return b"%04d" % (i % SHARDS) + struct.pack(">qQ", MAX_TIME - (START + i * 1000), i)


def host_of(i: int) -> bytes:
    return b"rare" if i % 500 == 7 else b"host-%d" % (i % 10)


def note_of(i: int) -> bytes | None:
    return b"n\x00%d" % i if i % 3 else None


def events_batch(count: int = EVENTS) -> pa.RecordBatch:
    """Events with a dictionary column, one with nulls and NUL bytes, and a labelled one."""
    numbers = range(count)
    host = binary([host_of(i) for i in numbers]).dictionary_encode()
    columns = [
        binary([row_of(i) for i in numbers]),
        host,
        binary([note_of(i) for i in numbers]),
        binary([b"s"] * count),
    ]
    fields = [
        pa.field("row", pa.binary()),
        pa.field("0", host.type, metadata={"qualifier": "host", "visibility": ""}),
        pa.field("note", pa.binary()),
        pa.field("2", pa.binary(), metadata={"qualifier": "secret", "visibility": "red"}),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=pa.schema(fields))


@pytest.fixture(scope="module")
def events(connection: Connection) -> Iterator[str]:
    name = "bridge_events"
    operations = connection.client.tableOperations()
    if operations.exists(name):
        operations.delete(name)
    operations.create(name)
    security = connection.client.securityOperations()
    authorizations = jpype.JClass("org.apache.accumulo.core.security.Authorizations")
    user = connection.client.whoami()
    before = [str(label) for label in security.getUserAuthorizations(user)]
    security.changeUserAuthorizations(user, authorizations(jpype.JArray(jpype.JString)([*before, "red"])))
    with sink(connection) as writer:
        batch = events_batch()
        writer.write_rows(name, batch.slice(0, 1001))
        writer.write_rows(name, batch.slice(1001))
    yield name
    operations.delete(name)


def equals(field: str, value: bytes) -> bytes:
    return struct.pack(">BBH", 0x14, 0, len(field)) + field.encode() + struct.pack(">I", len(value)) + value


def shards() -> Ranges:
    ranges = Ranges()
    for shard in range(SHARDS):
        ranges.add_prefix(b"%04d" % shard)
    return ranges


def scan_events(
    connection: Connection,
    table: str,
    ranges: Ranges,
    columns: Sequence[str],
    program: bytes | None = None,
    labels: Sequence[str] = (),
    rows: tuple[int, int] = (10, 700),
    ordered: bool = True,
) -> list[pa.RecordBatch]:
    wanted = dict.fromkeys(columns, "bytes")
    request = EventScan(CELLS, table, ranges, wanted, *rows, ordered, 2, ServerOptions(program, "ts"))
    with EventStream(connection, labels, request) as stream:
        return list(stream)


def request_hosts(table: str, kind: str = "bytes") -> EventScan:
    """Asks for the hosts of all events, one event a batch."""
    return EventScan(CELLS, table, shards(), {"host": kind}, 1, 1, True, 2, ServerOptions(time="ts"))


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


def test_exact_rows_are_looked_up(connection: Connection, events: str) -> None:
    wanted = [row_of(i) for i in range(0, EVENTS, 7)]
    ranges = Ranges.exact_rows(binary([*wanted, b"0000none"]))
    batches = scan_events(connection, events, ranges, [], ordered=False)
    assert sorted(row for batch in batches for row in batch.column("row").to_pylist()) == sorted(wanted)


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


# Entries


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


# What is refused


def refused(connection: Connection, table: str, batch: pa.RecordBatch, cause: str) -> None:
    writer = sink(connection)
    with pytest.raises(StoreError, match=rf"{table}.*{cause}"):
        writer.write_entries(table, batch)
        writer.flush()
    with pytest.raises(StoreError, match="failed before"):
        writer.write_entries(table, batch)
    with pytest.raises(StoreError, match="failed before"):
        writer.flush()
    writer.close()


def test_a_missing_table(connection: Connection) -> None:
    refused(connection, "bridge_none", entries(row=[b"r"]), "does not exist")
    with pytest.raises(StoreError, match=r"bridge_none.*does not exist"):
        read(connection, "bridge_none")


def test_a_bad_visibility(connection: Connection, table: str) -> None:
    refused(connection, table, entries(row=[b"r"], visibility=[b"a&"]), "visibility")


def test_a_violated_constraint(connection: Connection, table: str) -> None:
    constraint = "org.apache.accumulo.core.data.constraints.DefaultKeySizeConstraint"
    operations = connection.client.tableOperations()
    if constraint not in {str(name) for name in operations.listConstraints(table)}:
        operations.addConstraint(table, constraint)
    refused(connection, table, entries(row=[b"r" * (1 << 20 | 1)]), "DefaultKeySizeConstraint")


def test_no_permission(store_settings: Settings, table: str) -> None:
    with connect(store_settings, role="query") as reader:
        refused(reader, table, entries(row=[b"r"]), "PERMISSION")
        with pytest.raises(StoreError, match=f"{table}.*PERMISSION"):
            read(reader, table)


def test_a_wrong_password(store_settings: Settings) -> None:
    with pytest.raises(StoreError, match="wrong password"):
        Connection.connect(store_settings, store_settings.client_properties.read_text(), Credentials("root", "guess"))


def test_a_store_that_is_down_is_said_so_at_once(store_settings: Settings) -> None:
    properties = "instance.name=none\ninstance.zookeepers=127.0.0.1:1\nwatchfloor.connect.timeout=2\n"
    # The client goes on trying for twice this, and holds up all other connections of the process meanwhile.
    properties += "instance.zookeepers.timeout=2s\n"
    begin = time.monotonic()
    with pytest.raises(StoreError, match=r"none at 127\.0\.0\.1:1 does not answer"):
        Connection.connect(store_settings, properties, Credentials("root", "secret"))
    assert time.monotonic() - begin < 10


def test_a_row_without_cells_is_our_error(connection: Connection, table: str) -> None:
    batch = pa.RecordBatch.from_arrays([binary([b"r"]), binary([None])], names=["row", "field"])
    writer = sink(connection)
    with pytest.raises(InternalError, match="no cell"):
        writer.write_rows(table, batch)
    writer.close()


# Cancelling


def test_close_from_another_thread_ends_a_scan(connection: Connection, events: str) -> None:
    stream = EventStream(connection, [], request_hosts(events))
    batches = iter(stream)
    next(batches)
    closer = threading.Timer(0.2, stream.close)
    closer.start()
    with pytest.raises(StoreError, match="closed before its end"):
        for _ in batches:
            time.sleep(0.05)
    closer.join()
    stream.close()
    assert_scans_end(connection, events)


def test_a_scan_closed_at_its_start_leaves_nothing_on_the_servers(connection: Connection, events: str) -> None:
    for millis in range(40):
        stream = EventStream(connection, [], request_hosts(events))
        time.sleep(millis / 4000)
        stream.close()
    assert_scans_end(connection, events)


# The JVM's life


def test_no_memory_is_left_at_exit(store_settings: Settings, events: str) -> None:
    """A process that ends with a scan half read, batches in hand and a sink open ends quietly, with its own status."""
    credentials = store_settings.credentials("ingest")
    program = textwrap.dedent(f"""
        import sys
        from watchfloor.schema.settings.settings import load_settings
        from watchfloor.schema.settings.credentials import Credentials
        from watchfloor.store.bridge.connection import Connection
        from watchfloor.store.bridge.requests import EntryScan
        from watchfloor.store.bridge.sinks import EntrySink
        from watchfloor.store.bridge.streams import EntryStream
        from watchfloor.store.encoding.ranges import Ranges
        settings = load_settings({str(store_settings.home)!r})
        credentials = Credentials({credentials.user!r}, sys.stdin.read())
        connection = Connection.connect(settings, settings.client_properties.read_text(), credentials)
        ranges = Ranges()
        ranges.add_rows(b"", None)
        kept = iter(EntryStream(connection, [], EntryScan({events!r}, ranges, batch_rows=10)))
        first = next(kept)
        sink = EntrySink(connection, 1 << 20, 1, 0)
        sys.exit(7)
    """)
    done = subprocess.run(
        [sys.executable, "-c", program],
        input=credentials.password,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (7, "", "")


def test_java_holds_no_vectors(connection: Connection, table: str, events: str) -> None:
    batches = scan_events(connection, events, shards(), ["host"])
    with sink(connection) as writer:
        writer.write_rows(table, events_batch(100))
    allocated = jpype.JClass("watchfloor.bridge.columns.ArrowMemory").allocated
    assert allocated() > 0
    del batches
    assert allocated() == 0


def test_a_forked_process_is_refused(connection: Connection) -> None:
    child = os.fork()
    if child == 0:
        try:
            jvm.java_class("java.lang.String")
        except InternalError:
            os._exit(0)
        os._exit(1)
    assert os.waitpid(child, 0)[1] == 0


@pytest.mark.crash
def test_a_killed_server_is_said_within_the_time_out(store_settings: Settings, table: str) -> None:
    """Last in this file: it leaves the stack to be repaired."""
    with connect(store_settings, "\nwatchfloor.write.timeout=4\nwatchfloor.connect.timeout=4\n") as brief:
        writer = sink(brief)
        writer.write_rows(table, events_batch(100))
        writer.flush()
        servers = [json.loads(path.read_text())["pid"] for path in (store_settings.home / "run").glob("tserver*.json")]
        assert servers
        for pid in servers:
            os.kill(pid, signal.SIGKILL)
        try:
            begin = time.monotonic()
            with pytest.raises(StoreError, match=table):
                writer.write_rows(table, events_batch())
                writer.flush()
            writer.close()
            assert time.monotonic() - begin < 30
        finally:
            up(store_settings)
    with connect(store_settings) as again:
        assert len({row[0] for row in read(again, table)}) >= 100
