"""A store of blocks in memory: what a layout writes can be read by it without a server.

It does what the tablet servers do, in plain Python: ranges, the filter program over each block's vectors, the sums of
the aggregate table.
"""

from __future__ import annotations

import struct
import time
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from watchfloor.schema.field import Field
from watchfloor.schema.source import Source
from watchfloor.store.bridge.requests import EntryScan, EventScan
from watchfloor.store.bridge.streams import NEXT_ROW
from watchfloor.store.encoding.keys import UNKNOWN_HASH, event_hashes, reverse_time
from watchfloor.store.encoding.ranges import Ranges
from watchfloor.store.encoding.values import encode_column, encode_elements
from watchfloor.store.layout import TableWrite
from watchfloor.store.layouts.block.blocks.block_keys import FILE, ITEM, OFFSET, OFFSET_FIELD
from watchfloor.store.layouts.block.epochs.block_view import DIED_FAMILY, STATE_FAMILY, EpochState
from watchfloor.store.layouts.block.vectors.vector import decode_binary, decode_vector
from watchfloor.store.reader import Batches, CatalogRow, Slot

T = TypeVar("T")
HIT_BYTES = 24
"""Length of the key of a block and its number of hits, in the index."""
Key = tuple[bytes, bytes, bytes]
"""Row, family, qualifier."""


def hits_of_blocks(qualifier: bytes, value: bytes) -> dict[bytes, int]:
    """The number of hits by block, by its key, that an entry of the index has."""
    joined = qualifier + value
    hits = [joined[at : at + HIT_BYTES] for at in range(0, len(joined), HIT_BYTES)]
    return {hit[:-4]: int.from_bytes(hit[-4:], "big") for hit in hits}


class BlockStore:
    """A ``Reader`` of one source."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self.tables: dict[str, dict[Key, tuple[bytes, bytes]]] = defaultdict(dict)
        """By table the visibility and the value of each entry."""
        self.blocks_read = 0
        self.state = EpochState()
        self.died: list[bytes] = []
        """Rows of blocks that the catalog names as replaced, with the epoch in front."""
        self.grace = float("inf")
        self.authorizations = ()

    def snapshot(self) -> BlockStore:
        return self

    def get_slot(self, slot: Slot[T]) -> T:
        return slot.make()

    def read_catalog_row(self, source: str, max_age: float = 0.0) -> CatalogRow:
        cells = [(STATE_FAMILY, b"state", self.state.to_json()), *((DIED_FAMILY, name, b"") for name in self.died)]
        columns = [pa.array(column, pa.binary()) for column in zip(*cells, strict=True)]
        entries = pa.RecordBatch.from_arrays(columns, names=["family", "qualifier", "value"])
        return CatalogRow(entries, time.monotonic())

    def put(self, writes: Sequence[TableWrite]) -> None:
        for write in writes:
            table = self.tables[write.table]
            if write.wide:
                rows = write.batch.column(0).to_pylist()
                for field, column in list(zip(write.batch.schema, write.batch.columns, strict=True))[1:]:
                    for row, value in zip(rows, column.to_pylist(), strict=True):
                        if value is not None:
                            key = row, field.metadata.get(b"family", b""), field.metadata[b"qualifier"]
                            table[key] = field.metadata[b"visibility"], value
                continue
            columns = {name: write.batch.column(name).to_pylist() for name in write.batch.schema.names}
            families = columns.get("family", [b""] * len(write.batch))
            for row, family, qualifier, visibility, value in zip(
                columns["row"], families, columns["qualifier"], columns["visibility"], columns["value"], strict=True
            ):
                table[row, family, qualifier] = visibility, value

    def scan(self, request: EntryScan) -> Iterator[pa.RecordBatch]:
        found = self._found(request.table, request.ranges)
        if request.family is not None:
            found = [entry for entry in found if entry[0][1] == request.family.encode()]
        if request.iterators:
            (iterator,) = request.iterators
            answers = {"CountIterator": _summed, "HitsIterator": _packed}
            found = answers[iterator.java_class.rpartition(".")[2]](found, iterator.options)
        for start in range(0, len(found), 7):
            part = found[start : start + 7]
            names = ("row", "family", "qualifier", "visibility", "value")
            columns = zip(*((*key, *cell) for key, cell in part), strict=True)
            yield pa.RecordBatch.from_arrays([pa.array(c, pa.binary()) for c in columns], names=names)

    def begin_scan(self, request: EntryScan) -> Batches:
        return nullcontext(self.scan(request))

    def begin_events(self, request: EventScan) -> Batches:
        return nullcontext(self._events(request))

    def _events(self, request: EventScan) -> Iterator[pa.RecordBatch]:
        assert request.stream == "watchfloor.block.BlockStream"
        ordered, columns = request.ordered, request.columns
        assert request.server.filter is not None
        found: dict[bytes, dict[str, bytes]] = defaultdict(dict)
        for (row, family, qualifier), (_, value) in self._found(request.table, request.ranges):
            if not family:
                found[row][qualifier.decode()] = value
        answers = []
        for row in sorted(found, key=(lambda r: (r[4:], r)) if ordered else (lambda r: r[16:])):
            self.blocks_read += 1
            answer = self._answer(found[row], request.server.filter, columns, request.server.most)
            if answer is not None:
                rows = pa.array([row] + [None] * (len(answer[0]) - 1), pa.binary())
                time, file, offset, *others = answer
                names = [name for name in columns if name not in (FILE, OFFSET)]
                arrays = [rows, time, _make_keys(time, file, offset), *others]
                answers.append(pa.RecordBatch.from_arrays(arrays, names=["row", names[0], "(key)", *names[1:]]))
        size, start = request.first_rows, 0
        while start < len(answers):
            batch = pa.concat_batches(answers[start : start + size])
            start += size
            # The bridge counts the events of later batches, not their blocks.
            size, events = 1, 0
            for answer in answers[start:]:
                events += len(answer)
                if events >= request.batch_rows:
                    break
                size += 1
            # As the bridge: it mostly knows which row comes next.
            told = ordered and start < len(answers) and start % 3 > 0
            yield batch.replace_schema_metadata({NEXT_ROW: answers[start].column(0)[0].as_py().hex()} if told else None)

    def _found(self, table: str, ranges: Ranges) -> list[tuple[Key, tuple[bytes, bytes]]]:
        entries = self.tables[table]
        keys = sorted(entries)
        found = []
        for start, after, end, before in zip(*(c.to_pylist() for c in ranges.to_batch().columns), strict=True):
            first = bisect_left(keys, (start, b"", after or b""))
            last = len(keys) if end is None else bisect_left(keys, (end, b"", before or b""))
            found += [(key, entries[key]) for key in keys[first:last]]
        return found

    def _answer(
        self, block: dict[str, bytes], program: bytes, columns: Mapping[str, str], most: int | None
    ) -> list[pa.Array] | None:
        """The wanted values, as the bridge hands them over, of the first events that satisfy the program, if any do."""
        source = self._source
        values: dict[str, pa.Array] = {}
        for name, vector in block.items():
            if name not in (FILE, ITEM):
                values[name] = decode_vector(OFFSET_FIELD if name == OFFSET else source.find_field(name), vector)
        encoded: dict[str, list[set[bytes]]] = {}

        def of(name: str) -> list[set[bytes]]:
            """The encoded values that each event has."""
            if name not in encoded:
                column, field = values[name], source.find_field(name)
                lists = column if field.is_list else [pa.array([value], field.arrow) for value in column]
                encoded[name] = [_distinct(field, v.values if field.is_list else v) for v in lists]
            return encoded[name]

        rows = len(values[source.time_field])
        holds, end = _condition(program, 0, lambda name, event: of(name)[event] if name in values else set())
        assert end == len(program)
        events = np.array([event for event in range(rows) if holds(event)][:most], np.int64)
        if not len(events):
            return None
        answer = []
        for name, kind in columns.items():
            if name == FILE:
                answer.append(decode_binary(block[name]).take(pa.array(events)))
                continue
            field = OFFSET_FIELD if name == OFFSET else source.find_field(name)
            column = values[name].take(pa.array(events)) if name in block else pa.nulls(len(events), field.arrow)
            answer.append(encode_column(field, column) if kind == "bytes" else column)
        return answer


def _make_keys(times: pa.Array, files: pa.Array, offsets: pa.Array) -> pa.Array:
    """The keys of events, as the bridge makes them of the time, FILE and OFFSET."""
    keys = []
    lists = (column.to_pylist() for column in (times.cast(pa.int64()), files, offsets))
    for moment, file, offset in zip(*lists, strict=True):
        known = file is not None and offset is not None
        number = int(event_hashes(file, np.array([offset]))[0]) if known else UNKNOWN_HASH
        keys.append(reverse_time(moment) + number.to_bytes(8, "big"))
    return pa.array(keys, pa.binary())


def _distinct(field: Field, values: pa.Array | None) -> set[bytes]:
    return set() if values is None else set(encode_elements(field, values).drop_null().to_pylist())


Having = Callable[[str, int], set[bytes]]


def _condition(program: bytes, at: int, having: Having) -> tuple[Callable[[int], bool], int]:
    """The and, equalities, ranges and existences of a filter program as a function of an event."""
    kind = program[at]
    if kind == 0x01:
        (count,) = struct.unpack_from(">H", program, at + 1)
        children, at = [], at + 3
        for _ in range(count):
            child, at = _condition(program, at, having)
            children.append(child)
        return lambda event: all(child(event) for child in children), at
    (length,) = struct.unpack_from(">H", program, at + 2)
    name = program[at + 4 : at + 4 + length].decode()
    at += 4 + length

    def constant() -> bytes:
        nonlocal at
        (size,) = struct.unpack_from(">I", program, at)
        at += 4 + size
        return program[at - size : at]

    if kind == 0x14:
        wanted = constant()
        return lambda event: wanted in having(name, event), at
    if kind == 0x13:
        return lambda event: bool(having(name, event)), at
    assert kind == 0x10, f"no {kind:#x} in this test"
    flags = program[at]
    at += 1
    low = constant() if flags & 1 else None
    high = constant() if flags & 4 else None

    def within(value: bytes) -> bool:
        above = low is None or value > low or (bool(flags & 2) and value == low)
        return above and (high is None or value < high or (bool(flags & 8) and value == high))

    return lambda event: any(map(within, having(name, event))), at


def _summed(
    found: list[tuple[Key, tuple[bytes, bytes]]], options: Mapping[str, Any]
) -> list[tuple[Key, tuple[bytes, bytes]]]:
    """Returns what ``CountIterator`` answers."""
    ranges = [struct.unpack_from(">B1sQQ", options["ranges"], at) for at in range(0, len(options["ranges"]), 18)]
    sums: Counter[Key] = Counter()
    for (row, family, qualifier), (_, value) in found:
        start = int.from_bytes(qualifier[:8], "big")
        if any(family == f and low <= start < high for _, f, low, high in ranges):
            by_row = options["by"] == "row"
            sums[row, b"" if by_row else family, b"" if by_row else qualifier[:8]] += int.from_bytes(value, "big")
    return [(key, (b"", count.to_bytes(8, "big"))) for key, count in sorted(sums.items())]


def _packed(
    found: list[tuple[Key, tuple[bytes, bytes]]], _: Mapping[str, Any]
) -> list[tuple[Key, tuple[bytes, bytes]]]:
    """Returns what ``HitsIterator`` answers if an answer has at most three entries."""
    answers: list[tuple[Key, tuple[bytes, bytes]]] = []
    count = 0
    for key, (visibility, value) in found:
        before = answers[-1][1][1] if answers and answers[-1][0][0] == key[0] and count % 3 else b""
        count = count + 1 if before else 1
        answers[len(answers) - bool(before) :] = [(key, (visibility, before + key[2] + value))]
    return answers
