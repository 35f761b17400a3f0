"""Tables of events and entries that tests of the bridge write and read."""

from __future__ import annotations

import struct
from collections.abc import Sequence

import pyarrow as pa

from watchfloor.schema.settings.settings import Settings
from watchfloor.store.bridge.connection import Connection
from watchfloor.store.bridge.requests import EntryScan, EventScan, ServerIterator, ServerOptions
from watchfloor.store.bridge.sinks import EntrySink
from watchfloor.store.bridge.streams import EntryStream, EventStream
from watchfloor.store.encoding.ranges import Ranges

MAX_TIME = (1 << 63) - 1
START = 1_456_000_000_000_000
SHARDS = 2
EVENTS = 3000
CELLS = "watchfloor.cell.CellStream"


def connect(settings: Settings, more: str = "", role: str = "ingest") -> Connection:
    properties = settings.client_properties.read_text() + more
    return Connection.connect(settings, properties, settings.read_credentials(role))


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
