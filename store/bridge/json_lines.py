"""Lines of JSON objects read into typed columns, in the JVM: Java's ``LineReader`` says what it takes."""

from __future__ import annotations

from collections.abc import Mapping

import jpype
import numpy as np
import pyarrow as pa

from . import jvm
from .call import BatchTransfer, call_java, to_java_strings


class JsonLines:
    """Reads lines into the columns of a source's fields. Not for use by several threads at once.

    The JVM must run: a process that has no store starts it by ``jvm.start_jvm``.
    """

    def __init__(self, columns: Mapping[str, str], names: Mapping[str, str | None], power: int | None) -> None:
        """``columns``: by name ``string ip int port float bool time``, or ``list:`` and one of these.

        ``names``: names as lines spell them, with dots where objects may be nested, and the column of each; None if
        its value, a string, is skipped. ``power``: numbers that are times become microseconds by this power of ten;
        None if times are text.
        """
        numbers = {name: number for number, name in enumerate(columns)}
        fields = [-1 if column is None else numbers[column] for column in names.values()]
        self._java = call_java(
            jvm.java_class("watchfloor.json.JsonLines"),
            to_java_strings(list(columns)),
            to_java_strings(list(columns.values())),
            to_java_strings(list(names)),
            jpype.JArray(jpype.JInt)(fields),
            -1 if power is None else power,
        )

    def read_lines(self, data: bytes, starts: np.ndarray) -> tuple[pa.RecordBatch, np.ndarray | None]:
        """Returns a row for each of the lines of UTF-8 that begin at ``starts``, and which are odd, if any are.

        The row of an odd line, which is not taken, has no meaning.
        """
        bounds = np.append(starts, len(data)).astype(np.int32)
        lines = pa.BinaryArray.from_buffers(pa.binary(), len(starts), [None, pa.py_buffer(bounds), pa.py_buffer(data)])
        given, taken = BatchTransfer(), BatchTransfer()
        call_java(self._java.read, *given.export_batch(pa.record_batch([lines], ["line"])), *taken.addresses)
        batch = taken.import_batch()
        odd = batch.column(batch.num_columns - 1)
        batch = batch.select(range(batch.num_columns - 1))
        if odd.null_count == len(odd):
            return batch, None
        return batch, odd.is_valid().to_numpy(zero_copy_only=False)
