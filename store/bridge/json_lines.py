"""Lines of JSON objects read into typed columns, in the JVM: Java's ``LineReader`` says what it takes."""

from __future__ import annotations

from collections.abc import Mapping

import jpype
import numpy as np
import pyarrow as pa

from watchfloor.schema.settings.settings import load_settings

from . import jvm
from .sources import _Handover, _java, _strings


class JsonLines:
    """Reads lines into the columns of a source's fields. Not for use by several threads at once."""

    def __init__(self, columns: Mapping[str, str], names: Mapping[str, str | None], power: int | None) -> None:
        """``columns``: ``string ip int port float bool time`` or ``list:`` and one of these, by name.

        ``names``: as lines spell them, dots where objects may be nested, and the column of each; None if its value, a
        string, is read past. ``power``: of ten, from numbers that are times to microseconds; None if times are text.
        """
        if not jvm.is_running():  # it is in a process with a store
            settings = load_settings()
            jvm.start(settings.jars, settings.jvm_heap)
        places = {name: place for place, name in enumerate(columns)}
        fields = [-1 if column is None else places[column] for column in names.values()]
        self._java = _java(
            jvm.java_class("watchfloor.json.JsonLines"),
            _strings(list(columns)),
            _strings(list(columns.values())),
            _strings(list(names)),
            jpype.JArray(jpype.JInt)(fields),
            -1 if power is None else power,
        )

    def read(self, data: bytes, starts: np.ndarray) -> tuple[pa.RecordBatch, np.ndarray | None]:
        """The lines that begin at ``starts``, of UTF-8, as a row each, and which are odd, if any.

        What is in the row of an odd line, which is not taken, means nothing.
        """
        bounds = np.append(starts, len(data)).astype(np.int32)
        lines = pa.BinaryArray.from_buffers(pa.binary(), len(starts), [None, pa.py_buffer(bounds), pa.py_buffer(data)])
        given, taken = _Handover(), _Handover()
        _java(self._java.read, *given.give(pa.record_batch([lines], ["line"])), *taken.addresses)
        batch = taken.take()
        odd = batch.column(batch.num_columns - 1)
        batch = batch.select(range(batch.num_columns - 1))
        if odd.null_count == len(odd):
            return batch, None
        return batch, odd.is_valid().to_numpy(zero_copy_only=False)
