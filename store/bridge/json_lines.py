"""Reads lines of JSON objects into typed columns, in the JVM. Java's ``LineReader`` documents what is accepted."""

from __future__ import annotations

from collections.abc import Mapping

import jpype
import numpy as np
import pyarrow as pa

from . import jvm
from .call import BatchTransfer, call_java, to_java_strings


class JsonLines:
    """Reads lines into the columns of a source's fields. Must not be used by several threads at once.

    The JVM must run already: a process that has no store starts it by ``jvm.start_jvm``.
    """

    def __init__(self, columns: Mapping[str, str], names: Mapping[str, str | None], power: int | None) -> None:
        """Sets up a reader of lines into ``columns``.

        ``columns`` maps the name of a column to its type: ``string``, ``ip``, ``int``, ``port``, ``float``, ``bool`` or
        ``time``, or ``list:`` and one of these. ``names`` maps a name in the lines, with dots where objects may be
        nested, to its column; to None if its value, a string, is skipped. ``power`` is the power of ten by which
        numbers that are times become microseconds; None if times are text.
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
        """Returns a row for each line, and a boolean per line that is true if Java did not accept it.

        ``data`` is UTF-8, and its lines begin at ``starts``. The row of a line that was not accepted has no meaning. If
        all were accepted, None is returned instead of the booleans.
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
