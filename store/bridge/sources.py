"""Python's half of the bridge: record batches in, record batches out.

Nothing here is called per entry or per event. A batch changes sides through Arrow's C data interface, which hands over
addresses and copies nothing. Java's ``StoreException`` becomes ``StoreError``; anything else that Java throws is a
broken promise of ours and becomes ``InternalError``.
"""

from __future__ import annotations

import base64
import ctypes
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, TypeVar

import jpype
import pyarrow as pa

from watchfloor.schema.errors import InternalError, StoreError
from watchfloor.schema.settings.settings import Settings

from . import jvm

T = TypeVar("T")
# Java is asked in steps of this, so that Python can handle its signals while a scan is silent.
_STEP_MILLIS = 200
# ScanStream.END and LAST_BATCH; 0 is nothing yet.
_END, _LAST_BATCH = 1, 3
# sizeof(struct ArrowArray) and sizeof(struct ArrowSchema), rounded up; the specification fixes their layout.
_STRUCT_BYTES = 128


def _java(call: Callable[..., T], *arguments: object) -> T:
    """Calls into Java and translates what it throws."""
    try:
        return call(*arguments)
    except jpype.JException as error:
        text = str(error.getMessage())
        if str(error.getClass().getName()) == "watchfloor.bridge.StoreException":
            raise StoreError(text) from error
        raise InternalError(f"{error.getClass().getName()}: {text}") from error


class _Handover:
    """The two structures through which one batch changes sides; they must live until the other side has taken it."""

    def __init__(self) -> None:
        self._array = ctypes.create_string_buffer(_STRUCT_BYTES)
        self._schema = ctypes.create_string_buffer(_STRUCT_BYTES)
        self.addresses = (ctypes.addressof(self._array), ctypes.addressof(self._schema))

    def give(self, batch: pa.RecordBatch) -> tuple[int, int]:
        """Exports a batch; who is given the addresses must import it, and releases it."""
        if any(column.offset for column in batch.columns):
            batch = pa.RecordBatch.from_arrays([_whole(column) for column in batch.columns], schema=batch.schema)
        batch._export_to_c(*self.addresses)
        return self.addresses

    def take(self) -> pa.RecordBatch:
        """The batch that Java has exported."""
        return pa.RecordBatch._import_from_c(*self.addresses)


def _whole(column: pa.Array) -> pa.Array:
    """A copy of a slice: Java imports arrays that begin at their buffers' beginning."""
    return column.take(pa.array(range(len(column)), pa.int64())) if column.offset else column


class Connection:
    """A client of one Accumulo instance as one user. ``client`` is its ``AccumuloClient``."""

    def __init__(self, java: Any) -> None:
        self.java = java
        self.client = java.client()

    @classmethod
    def open(cls, settings: Settings, user: str, password: str) -> Connection:
        """Starts the JVM, connects, and checks the password. ``StoreError`` within seconds if the store is down."""
        try:
            properties = settings.client_properties.read_text("utf-8")
        except OSError as error:
            raise StoreError(f"no client properties of the store: {error}; has `watchfloor up` been run?") from error
        return cls.connect(settings, properties, user, password)

    @classmethod
    def connect(cls, settings: Settings, properties: str, user: str, password: str) -> Connection:
        """As ``open``, with the text of the client properties at hand."""
        jvm.start(settings.jars, settings.jvm_heap)
        return cls(_java(jvm.java_class("watchfloor.bridge.Connection").open, properties, user, password))

    def swap(
        self, table: str, row: bytes, family: bytes, qualifier: bytes, expected: bytes | None, value: bytes
    ) -> bool:
        """Writes a cell if its value is ``expected`` (None: if it is not there), durably; whether it was."""
        key, values = map(_octets, (row, family, qualifier)), map(_octets, (expected, value))
        return bool(_java(self.java.swap, table, *key, *values))

    def close(self) -> None:
        _java(self.java.close)

    def __enter__(self) -> Connection:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class EntrySink:
    """Writes record batches as entries. Not for use by several threads at once.

    After a ``StoreError`` the sink refuses all further use: what it held back may be lost, so its user writes again
    from the last ``flush`` on, with another sink.
    """

    def __init__(self, connection: Connection, memory_bytes: int, threads: int, latency_millis: int) -> None:
        """``memory_bytes`` and ``threads`` are per table; ``latency_millis`` 0 means entries go when memory is full."""
        sink = jvm.java_class("watchfloor.bridge.sink.EntrySink")
        self._java = _java(sink, connection.java, memory_bytes, threads, latency_millis)

    def write_entries(self, table: str, batch: pa.RecordBatch) -> None:
        """A row per entry: ``row``, ``family``, ``qualifier``, ``visibility``, ``value`` and int64 ``timestamp``.

        Columns are binary or dictionaries of binary; all but ``row`` may be missing. Entries of one row should
        follow each other.
        """
        handover = _Handover()
        _java(self._java.writeEntries, table, *handover.give(batch))

    def write_rows(self, table: str, batch: pa.RecordBatch) -> None:
        """First column the row, each other one a cell per value that is not null.

        A field's metadata ``qualifier`` (else the column's name) and ``visibility`` are those of its cells.
        """
        handover = _Handover()
        _java(self._java.writeRows, table, *handover.give(batch))

    def delete_entries(self, table: str, batch: pa.RecordBatch) -> None:
        """As ``write_entries``, with entries that shall be no more: their keys, without value and timestamp."""
        handover = _Handover()
        _java(self._java.deleteEntries, table, *handover.give(batch))

    def flush(self) -> None:
        """Returns when all that was written is durable."""
        _java(self._java.flush)

    def close(self) -> None:
        """Flushes, unless the sink has failed."""
        _java(self._java.close)

    def __enter__(self) -> EntrySink:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self.close()
            return
        try:
            self.close()
        except StoreError as second:
            error.add_note(f"and closing the sink: {second}")


class _Source:
    """A scan as an iterator of record batches, closed at its end, at an error, and by ``close`` from any thread."""

    def __init__(self, java: Any) -> None:
        self._java = java
        self._ended = False

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        try:
            while not self._ended:
                handover = _Handover()
                while not (state := _java(self._java.next, _STEP_MILLIS, *handover.addresses)):
                    pass
                self._ended = state in (_END, _LAST_BATCH)
                if state != _END:
                    yield handover.take()
        finally:
            self.close()

    def close(self) -> None:
        """Ends the scan, on the servers too; who waits for its next batch gets a ``StoreError``."""
        if not self._ended:
            _java(self._java.close)

    def __enter__(self) -> _Source:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class EntrySource(_Source):
    """Entries as batches of ``row, family, qualifier, visibility, value``, all binary.

    ``ranges`` has the columns start_row, start_qualifier, end_row, end_qualifier (``store.ranges``); an iterator is
    ``[priority, name, class, key, value, …]``. Ordered: range after range, keys in order, one request after the other;
    else any order, by so many ``requests`` at once, or one a tablet server if these are more.
    """

    def __init__(
        self,
        connection: Connection,
        table: str,
        authorizations: Sequence[str],
        ranges: pa.RecordBatch,
        iterators: Sequence[Sequence[str]],
        batch_rows: int,
        requests: int,
        ordered: bool,
    ) -> None:
        source = jvm.java_class("watchfloor.bridge.scan.EntrySource")
        settings = jpype.JArray(jpype.JString, 2)([list(setting) for setting in iterators])
        handover = _Handover()
        given = handover.give(ranges)
        super().__init__(
            _java(
                source,
                connection.java,
                table,
                _strings(authorizations),
                *given,
                settings,
                batch_rows,
                requests,
                ordered,
            )
        )


class EventSource(_Source):
    """Events that satisfy a filter program, as batches of ``row`` and a nullable column per wanted field.

    Ordered: ``ranges`` are one a shard and events come newest first over all of them. Else they are looked up in any
    order. The first batch has at most ``first_rows`` rows and goes out as soon as it can, later ones ``batch_rows``.
    Where a layout's rows are blocks of events these numbers count blocks; a batch has a row for each event.
    """

    def __init__(
        self,
        connection: Connection,
        reader: str,
        table: str,
        authorizations: Sequence[str],
        ranges: pa.RecordBatch,
        columns: Mapping[str, str],
        program: bytes | None,
        time_field: str | None,
        first_rows: int,
        batch_rows: int,
        requests: int,
        ordered: bool,
        most: int | None = None,
    ) -> None:
        """``reader``: the Java class by which a layout's answers are read.

        ``columns``: fields and what they come as, see ``values.comes_as``.
        ``most``: how many events of a block are wanted at most, the newest.
        """
        source = jvm.java_class(reader)
        filter_program = None if program is None else base64.b64encode(program).decode()
        options = _strings([filter_program, time_field, None if most is None else str(most)])
        names, types = _strings(list(columns)), _strings(list(columns.values()))
        handover = _Handover()
        given = handover.give(ranges)
        super().__init__(
            _java(
                source,
                connection.java,
                table,
                _strings(authorizations),
                *given,
                names,
                types,
                options,
                first_rows,
                batch_rows,
                requests,
                ordered,
            )
        )


def _octets(value: bytes | None) -> Any:
    return None if value is None else jpype.JArray(jpype.JByte)(value)


def _strings(values: Sequence[str | None]) -> Any:
    return jpype.JArray(jpype.JString)(list(values))
