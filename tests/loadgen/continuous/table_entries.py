"""Reads and damages the tables of the continuous suite, and verifies them in plain Python."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from watchfloor.store.bridge.connection import Connection
from watchfloor.store.bridge.requests import EntryScan
from watchfloor.store.bridge.sinks import EntrySink
from watchfloor.store.bridge.streams import EntryStream
from watchfloor.store.encoding.ranges import Ranges

KEY = ("row", "family", "qualifier", "visibility")


@dataclass(frozen=True)
class Entry:
    """An entry as it stands in the table."""

    row: bytes
    family: bytes
    qualifier: bytes
    visibility: bytes
    value: bytes

    @property
    def previous(self) -> bytes | None:
        """The row to which the entry points: the third part of its value."""
        return self.value.split(b":")[2] or None

    @property
    def is_intact(self) -> bool:
        """True if the value ends with the checksum of all before, or with no checksum."""
        end = self.value.rindex(b":") + 1
        sum_ = zlib.crc32(self.row + self.family + self.qualifier + self.visibility + self.value[:end])
        return self.value[end:] in (b"", b"%08x" % sum_)


def read_entries(connection: Connection, table: str, labels: Sequence[str] = ()) -> list[Entry]:
    ranges = Ranges()
    ranges.add_rows(b"", None)
    with EntryStream(connection, labels, EntryScan(table, ranges)) as stream:
        rows = [row for batch in stream for row in batch.to_pylist()]
    return [Entry(*(row[name] for name in (*KEY, "value"))) for row in rows]


def count_rows(entries: Sequence[Entry]) -> dict[str, int]:
    """Returns what the verification must find, by sets of rows."""
    intact = [entry for entry in entries if entry.is_intact]
    rows = {entry.row for entry in intact}
    pointed = {entry.previous for entry in intact if entry.previous}
    return {
        "undefined": len(pointed - rows),
        "unreferenced": len(rows - pointed),
        "referenced": len(rows & pointed),
        "corrupt": len(entries) - len(intact),
        "entries": len(entries),
    }


def delete_entries(connection: Connection, table: str, entries: Sequence[Entry]) -> None:
    with EntrySink(connection, 1 << 20, 1, 0) as sink:
        sink.delete_entries(table, _make_batch(entries, KEY))
        sink.flush()


def overwrite_entries(connection: Connection, table: str, entries: Sequence[Entry]) -> None:
    with EntrySink(connection, 1 << 20, 1, 0) as sink:
        sink.write_entries(table, _make_batch(entries, (*KEY, "value")))
        sink.flush()


def _make_batch(entries: Sequence[Entry], names: Sequence[str]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict(
        {name: pa.array([getattr(entry, name) for entry in entries], pa.binary()) for name in names}
    )
