"""Scans as iterators of record batches."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from functools import cache, lru_cache
from typing import Any
from weakref import WeakKeyDictionary

import jpype
import pyarrow as pa

from watchfloor.store.encoding.ranges import Ranges
from watchfloor.store.encoding.value_sets import ValueSet

from . import jvm
from .call import BatchTransfer, JavaResource, array_class, call_java, to_java_strings
from .connection import Connection
from .requests import EntryScan, EventScan, ServerIterator, ServerOption, ServerOptions

NEXT_ROW = b"next row"
"""Key in the metadata of a batch of ordered blocks. Its value is a row in hexadecimal; no later row is less."""
# Each call into Java waits this long at most, so that Python can handle signals while a scan is silent.
_STEP_MILLIS = 200
# Java's ScanStream.END and LAST_BATCH; 0 means that no batch is there yet.
_END, _LAST_BATCH = 1, 3
# Java's ValueSets.PREFIX.
_SET_PREFIX = "set:"
FEW_RANGES = 32
"""Up to this number, ranges are handed to Java as bytes, and as a record batch if they are more."""
_SET_TEXTS: WeakKeyDictionary[ValueSet, Any] = WeakKeyDictionary()


class ScanStream(JavaResource):
    """A scan that reads ahead. It is closed at its end and at an error; any thread may close it by ``close``."""

    def __init__(self, java: Any) -> None:
        super().__init__(java)
        self._ended = False

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        try:
            while not self._ended:
                transfer = BatchTransfer()
                while not (state := call_java(self._java.next, _STEP_MILLIS, *transfer.addresses)):
                    pass
                self._ended = state in (_END, _LAST_BATCH)
                if state != _END:
                    yield transfer.import_batch()
        finally:
            self.close()

    def close(self) -> None:
        """Ends the scan, on the servers too. A thread that waits for its next batch gets a ``StoreError``."""
        if not self._ended:
            super().close()


class EntryStream(ScanStream):
    """Entries as batches of ``row, family, qualifier, visibility, value``, all binary."""

    def __init__(self, connection: Connection, authorizations: Sequence[str], request: EntryScan) -> None:
        stream = jvm.java_class("watchfloor.bridge.scan.EntryStream")
        super().__init__(call_java(stream, connection.java, to_java_request(authorizations, request)))


class EventStream(ScanStream):
    """Events as batches of ``row`` and a nullable column per field of the request.

    If a row of the table is a block of events, the batch has a row for each event, and ``row`` is null except at the
    first event of each block.
    """

    def __init__(self, connection: Connection, authorizations: Sequence[str], request: EventScan) -> None:
        stream = jvm.java_class(request.stream)
        super().__init__(call_java(stream, connection.java, to_java_request(authorizations, request)))


def to_java_request(authorizations: Sequence[str], request: EntryScan | EventScan) -> Any:
    """Returns Java's ``ScanRequest`` with every field of a request under its name."""
    values = {f.name: getattr(request, f.name) for f in fields(request)}
    transfer = BatchTransfer()
    java_values = [to_java_strings(authorizations), *(_to_java_value(value, transfer) for value in values.values())]
    of = jvm.java_class("watchfloor.bridge.scan.ScanRequest").of
    return call_java(of, _name_values(tuple(values)), array_class(jpype.JObject)(java_values))


@cache
def _name_values(names: tuple[str, ...]) -> Any:
    """Returns the names of a request's values for Java, which does not change them."""
    return to_java_strings(["authorizations", *names])


@lru_cache(maxsize=256)
def _to_java_columns(names: tuple[str, ...], types: tuple[str, ...]) -> Any:
    """Returns names and types of columns for Java, which does not change them."""
    return array_class(jpype.JString, 2)([names, types])


def _to_java_value(value: Any, transfer: BatchTransfer) -> Any:
    """Returns a field of a request as Java expects it. The call converts numbers, strings, booleans and None itself."""
    match value:
        case Ranges() if len(value) <= FEW_RANGES:
            return array_class(jpype.JByte)(value.pack())
        case Ranges():
            return array_class(jpype.JLong)(transfer.export_batch(value.to_batch()))
        case ServerOptions():
            given = {f.name: getattr(value, f.name) for f in fields(value)}
            return to_java_strings(_flatten_options({n: option for n, option in given.items() if option is not None}))
        case Mapping():
            return _to_java_columns(tuple(value), tuple(value.values()))
        case str() | int() | None:
            return value
    return array_class(jpype.JString, 2)([_describe_iterator(iterator) for iterator in value])


def _describe_iterator(iterator: ServerIterator) -> list[str]:
    """Returns priority, name and class of an iterator, followed by the names and values of its options."""
    return [str(iterator.priority), iterator.name, iterator.java_class, *_flatten_options(iterator.options)]


def _flatten_options(options: Mapping[str, ServerOption | int]) -> list[Any]:
    """Returns names and values alternately, as strings; bytes and sets become base64."""
    flat: list[Any] = []
    for name, option in options.items():
        if isinstance(option, tuple):
            for one in option:
                flat += [_SET_PREFIX + one.digest.hex(), _to_java_text(one)]
        else:
            flat += [name, base64.b64encode(option).decode() if isinstance(option, bytes) else str(option)]
    return flat


def _to_java_text(values: ValueSet) -> Any:
    """Returns a packed set in base64 as a Java string, which is made once: a conversion takes longer than a scan."""
    if values not in _SET_TEXTS:
        encoder = jpype.JClass("java.util.Base64").getEncoder()
        _SET_TEXTS[values] = encoder.encodeToString(array_class(jpype.JByte)(values.packed))
    return _SET_TEXTS[values]
