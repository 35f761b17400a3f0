"""Calls from Python into Java: errors are translated, and record batches are handed over without a copy.

No function here is called per entry or per event. Arrow's C data interface hands over the addresses of a batch's
buffers.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import cache
from types import TracebackType
from typing import Any, Self, TypeVar

import jpype
import pyarrow as pa

from watchfloor.schema.errors import InternalError, StoreError

T = TypeVar("T")
# sizeof(struct ArrowArray) and sizeof(struct ArrowSchema), rounded up; the specification fixes their layout.
_STRUCT_BYTES = 128


def call_java(call: Callable[..., T], *arguments: object) -> T:
    """Calls a Java method or constructor and translates what it throws.

    Raises ``StoreError`` for Java's ``StoreException``. Anything else that Java throws is a defect of this project and
    becomes ``InternalError``.
    """
    try:
        return call(*arguments)
    except jpype.JException as error:
        text = str(error.getMessage())
        if str(error.getClass().getName()) == "watchfloor.bridge.StoreException":
            raise StoreError(text) from error
        raise InternalError(f"{error.getClass().getName()}: {text}") from error


def to_java_bytes(value: bytes | None) -> Any:
    """Returns a Java byte array, or null for None."""
    return None if value is None else array_class(jpype.JByte)(value)


def to_java_strings(values: Sequence[str | None]) -> Any:
    """Returns a Java array of strings; None becomes null."""
    return array_class(jpype.JString)(list(values))


@cache
def array_class(kind: Any, dimensions: int = 1) -> Any:
    """Returns the Java class of arrays of a type. JPype makes a new Python class each time that it is asked for one."""
    return jpype.JArray(kind, dimensions)


class BatchTransfer:
    """The two C structures through which one record batch is handed to Java or comes from Java.

    They must live until the receiver has imported the batch.
    """

    def __init__(self) -> None:
        self._array = ctypes.create_string_buffer(_STRUCT_BYTES)
        self._schema = ctypes.create_string_buffer(_STRUCT_BYTES)
        self.addresses = (ctypes.addressof(self._array), ctypes.addressof(self._schema))

    def export_batch(self, batch: pa.RecordBatch) -> tuple[int, int]:
        """Exports a batch for Java and returns the addresses. Java must import it once, and releases it."""
        if any(column.offset for column in batch.columns):
            batch = pa.RecordBatch.from_arrays([_copy_slice(column) for column in batch.columns], schema=batch.schema)
        batch._export_to_c(*self.addresses)
        return self.addresses

    def import_batch(self) -> pa.RecordBatch:
        """Returns the batch that Java has exported to ``addresses``."""
        return pa.RecordBatch._import_from_c(*self.addresses)


def _copy_slice(column: pa.Array) -> pa.Array:
    """Returns a copy of a slice, because Java imports only arrays that begin at the start of their buffers."""
    return column.take(pa.array(range(len(column)), pa.int64())) if column.offset else column


class JavaResource:
    """A Java object that is closed when its ``with`` block is left."""

    def __init__(self, java: Any) -> None:
        self._java = java

    def close(self) -> None:
        call_java(self._java.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
