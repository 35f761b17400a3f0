"""Reads the answers of tablet servers about groups of events (Java's ``StatsTable``).

A key of a group is its encoded value after the byte 1, or nothing if it is null, so that keys are never null and sort
as their values do, with null first. Columns of keys have dictionaries, so that grouping compares numbers and no bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from watchfloor.schema.field import FieldType
from watchfloor.store.encoding.numbers import from_numbers

from .program import StateKind, StatsProgram

GROUP = "group"
"""The key column of groups without keys, of which there is one."""


def name_keys(program: StatsProgram) -> list[str]:
    """Returns the names of the key columns: ``k0``, ``k1``, …"""
    return [f"k{i}" for i in range(len(program.keys))] or [GROUP]


@dataclass(frozen=True)
class PartialGroups:
    """The groups of some events.

    ``groups`` has a row for each group, with its keys and the columns of its plain states: ``s0``, and for sums of
    whole numbers ``s0`` and ``s0low``. ``values`` has, by the number of a state, a row for each value of a group:
    keys, ``value`` (of sets with a dictionary) and, for histograms, ``count``, or for the first and last values
    ``time``. ``sketches`` has, by the number of a state, keys and ``sketch`` of the groups that are kept as sketches.
    """

    events: int
    groups: pa.Table
    values: dict[int, pa.Table] = field(default_factory=dict)
    sketches: dict[int, pa.Table] = field(default_factory=dict)


class _AnswerReader:
    def __init__(self, data: memoryview) -> None:
        self._data, self._at = data, 0

    def take(self, dtype: str, count: int) -> np.ndarray:
        array = np.frombuffer(self._data, dtype, count, self._at)
        self._at += array.nbytes
        return array.copy()  # Arrow wants numbers at addresses that are multiples of their width

    def take_number(self, dtype: str = "<u4") -> int:
        return int(self.take(dtype, 1)[0])

    def take_bytes(self, length: int) -> pa.Buffer:
        self._at += length
        return pa.py_buffer(self._data[self._at - length : self._at])

    def take_dictionary(self) -> pa.BinaryArray:
        """Reads the number of values, the ends of all values, and the values."""
        count = self.take_number()
        offsets = np.concatenate((np.zeros(1, np.int32), self.take("<i4", count)))
        return pa.Array.from_buffers(
            pa.binary(), count, [None, pa.py_buffer(offsets), self.take_bytes(int(offsets[-1]))]
        )

    def take_values(self, count: int) -> pa.BinaryArray:
        """Reads the lengths of some values, -1 for null, and the values."""
        lengths = self.take("<i4", count)
        offsets = np.concatenate((np.zeros(1, np.int32), np.cumsum(np.maximum(lengths, 0), dtype=np.int32)))
        valid = pa.py_buffer(np.packbits(lengths >= 0, bitorder="little"))
        return pa.Array.from_buffers(
            pa.binary(), count, [valid, pa.py_buffer(offsets), self.take_bytes(int(offsets[-1]))]
        )


def read_answers(entries: pa.RecordBatch, program: StatsProgram) -> Iterator[PartialGroups]:
    """Yields the groups of each answer among the entries of a scan; heartbeats, of one byte, are left out."""
    for value in entries.column("value"):
        data = value.as_buffer()
        if data.size > 1:
            yield read_answer(memoryview(data), program)


def read_answer(value: bytes | memoryview, program: StatsProgram) -> PartialGroups:
    """Returns the groups of one answer."""
    reader = _AnswerReader(memoryview(value))
    count, events = reader.take_number(), reader.take_number("<u8")
    keys = _read_keys(reader, program, count)
    columns = dict(zip(name_keys(program), keys, strict=True))
    values, sketches = {}, {}
    for number, state in enumerate(program.states):
        name = f"s{number}"
        match state.kind:
            case StateKind.SUM_INT:
                columns[name] = pa.array(reader.take("<i8", count))
                columns[f"{name}low"] = pa.array(reader.take("<i8", count))
            case StateKind.SUM_FLOAT:
                columns[name] = pa.array(reader.take("<f8", count))
            case StateKind.MIN | StateKind.MAX:
                columns[name] = reader.take_values(count)
            case StateKind.FIRST | StateKind.LAST:
                times, found = pa.array(reader.take("<i8", count)), reader.take_values(count)
                table = _make_table(program, keys, {"time": times, "value": found})
                values[number] = table.filter(found.is_valid())
            case StateKind.SET:
                values[number], sketches[number] = _read_set(reader, program, keys)
            case StateKind.HISTOGRAM_INT | StateKind.HISTOGRAM_FLOAT:
                values[number], sketches[number] = _read_histogram(reader, program, keys)
            case _:
                columns[name] = pa.array(reader.take("<i8", count))
    return PartialGroups(events, pa.table(columns), values, sketches)


def _read_keys(reader: _AnswerReader, program: StatsProgram, count: int) -> list[pa.DictionaryArray]:
    """Returns the key columns of the groups of an answer."""
    if not program.keys:
        return [pa.array([b""] * count, pa.binary()).dictionary_encode()]
    keys = []
    for _ in program.keys:
        values = pc.binary_join_element_wise(b"\x01", reader.take_dictionary(), b"")
        numbers = reader.take("<i4", count)
        # Null has the number -1, and the last value stands for it.
        values = pa.concat_arrays([values.cast(pa.binary()), pa.array([b""], pa.binary())])
        places = pa.array(np.where(numbers < 0, len(values) - 1, numbers).astype(np.int32))
        keys.append(pa.DictionaryArray.from_arrays(places, values))
    return keys


def decode_numbers(is_float: bool, numbers: np.ndarray) -> pa.Array:
    """Returns the numbers of histograms, which are encoded in 8 bytes whatever their type."""
    return from_numbers(FieldType.FLOAT if is_float else FieldType.INT, numbers)


def decode_floats(is_float: bool, numbers: np.ndarray) -> np.ndarray:
    """Returns the numbers of histograms as floats, as sketches hold them."""
    values: np.ndarray = decode_numbers(is_float, numbers).to_numpy(zero_copy_only=False).astype(np.float64)
    return values


def _make_table(program: StatsProgram, keys: list[pa.Array], columns: dict[str, pa.Array]) -> pa.Table:
    return pa.table(dict(zip(name_keys(program), keys, strict=True)) | columns)


def _read_set(reader: _AnswerReader, program: StatsProgram, keys: list[pa.Array]) -> tuple[pa.Table, pa.Table]:
    """Returns the distinct values of groups, and the sketches of those with many."""
    known = reader.take_dictionary()
    count = reader.take_number()
    of, numbers = pa.array(reader.take("<i4", count)), pa.array(reader.take("<i4", count))
    found = pa.DictionaryArray.from_arrays(numbers, known)
    values = _make_table(program, [key.take(of) for key in keys], {"value": found})
    return values, _read_sketches(reader, program, keys)


def _read_histogram(reader: _AnswerReader, program: StatsProgram, keys: list[pa.Array]) -> tuple[pa.Table, pa.Table]:
    """Returns the distinct numbers of groups with their counts, and the sketches of those with many."""
    count = reader.take_number()
    of = pa.array(reader.take("<i4", count))
    columns = {"value": pa.array(reader.take("<u8", count)), "count": pa.array(reader.take("<i8", count))}
    return _make_table(program, [key.take(of) for key in keys], columns), _read_sketches(reader, program, keys)


def _read_sketches(reader: _AnswerReader, program: StatsProgram, keys: list[pa.Array]) -> pa.Table:
    of, sketches = [], []
    for _ in range(reader.take_number()):
        of.append(reader.take_number())
        sketches.append(reader.take_bytes(reader.take_number()).to_pybytes())
    groups = pa.array(of, pa.int32())
    return _make_table(program, [key.take(groups) for key in keys], {"sketch": pa.array(sketches, pa.binary())})
