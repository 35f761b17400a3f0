"""The cell layout's keys, index entries and counts agree with plain Python, without a server.

In `make test`: it needs no servers.
"""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from watchfloor.schema.definition import parse_definition
from watchfloor.store.encoding import keys
from watchfloor.store.encoding.values import encode_value
from watchfloor.store.index.count_buckets import BucketCover, cover_range
from watchfloor.store.layouts.cell.cell_layout import CellEncoder
from watchfloor.store.layouts.cell.event_rows import make_event_rows

SOURCE = parse_definition(
    {
        "name": "test.cell_one",
        "parser": {"format": "json"},
        "timestamp": {"field": "ts"},
        "shards": 3,
        "visibility": "staff",
        "fields": [
            {"name": "ts", "type": "time"},
            {"name": "row", "type": "string", "indexed": True},
            {"name": "size", "type": "int", "visibility": "secret"},
            {"name": "tags", "type": "list", "items": "string", "indexed": True},
        ],
    }
)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
FILE, ITEM = b"f" * 16, b"i" * 8

EVENTS = st.lists(
    st.tuples(
        st.integers(0, 5 * keys.DAY).map(lambda t: t // (keys.MINUTE * 7) * keys.MINUTE * 7),
        st.none() | st.sampled_from(["a", "b", "nul\0sep\x1f", ""]),
        st.none() | st.integers(-5, 5),
        st.none() | st.lists(st.none() | st.sampled_from(["x", "y"]), max_size=3),
    ),
    min_size=1,
    max_size=40,
)


def to_batch(events: list[tuple[Any, ...]]) -> pa.RecordBatch:
    times, names, sizes, tags = zip(*events, strict=True)
    moments = [EPOCH + timedelta(microseconds=t) for t in times]
    columns = [pa.array(c, f.arrow) for c, f in zip((moments, names, sizes, tags), SOURCE.fields, strict=True)]
    return pa.RecordBatch.from_arrays(
        [*columns, pa.array(range(0, 10 * len(events), 10), pa.int64())],
        schema=SOURCE.arrow_schema.append(pa.field("(offset)", pa.int64())),
    )


def long_entries(writes: list[Any], table: str) -> list[tuple[bytes, ...]]:
    names = ("row", "family", "qualifier", "visibility", "value")
    found = []
    for write in writes:
        if write.table == table:
            columns = [
                write.batch.column(n).to_pylist() if n in write.batch.schema.names else [b""] * len(write.batch)
                for n in names
            ]
            found += list(zip(*columns, strict=True))
            assert write.entries == len(write.batch)
    return found


@given(EVENTS)
def test_entries_are_those_of_plain_python(events: list[tuple[Any, ...]]) -> None:
    encoder = CellEncoder(SOURCE, FILE, ITEM)
    batch = to_batch(events)
    half = len(events) // 2
    writes = encoder.encode(batch.slice(0, half)) + encoder.encode(batch.slice(half)) if half else encoder.encode(batch)
    wide = [w for w in writes if w.wide]
    rows = [row for w in wide for row in w.batch.column(0).to_pylist()]
    assert len(set(rows)) == len(events)
    for (time, *_), row in zip(events, rows, strict=True):
        assert row[4:12] == keys.reverse_time(time)
        low, high = keys.key_bounds(time, time + 1)
        assert low <= row[4:] < high
        assert int(row[:4]) < SOURCE.shards
    cells = 0
    for w in wide:
        columns = list(zip(w.batch.schema, w.batch.columns, strict=True))[1:]
        filled = [sum(c[i].is_valid for _, c in columns) for i in range(len(w.batch))]
        assert all(filled), "every event has a cell"
        cells += sum(filled)
        for field, _ in columns:
            assert field.metadata[b"visibility"] == (b"secret" if field.name == "size" else b"staff")
    assert cells == sum(w.entries for w in wide)

    expected = set()
    for (_, name, _, tags), row in zip(events, rows, strict=True):
        for field, values in (("row", [name]), ("tags", tags or [])):
            expected |= {
                (row[:4] + field.encode() + b"\0" + v.encode(), b"", row[4:], b"staff", b"")
                for v in values
                if v is not None
            }
    index = long_entries(writes, keys.index_table(SOURCE))
    assert set(index) == expected and len(index) == len(expected)

    counted: Counter[tuple[str, bytes, str, int]] = Counter()
    for time, name, _, tags in events:
        terms = {("", b"")}
        terms |= {("row", name.encode())} if name is not None else set()
        terms |= {("tags", t.encode()) for t in tags or [] if t is not None}
        for field, value in terms:
            for family, width in (("m", keys.MINUTE), ("h", keys.HOUR), ("d", keys.DAY)):
                if family != "m" or not field:
                    counted[field, value, family, time // width * width] += 1
    got: Counter[tuple[str, bytes, str, int]] = Counter()
    for row, family, qualifier, visibility, value in long_entries(encoder.finish(), keys.aggregate_table(SOURCE)):
        assert visibility == b"staff" and qualifier[8:] == ITEM
        field, _, word = row[4:].partition(b"\0")
        assert row[:4] == keys.aggregate_shard(field.decode(), word, SOURCE.shards)
        start = keys.MAX_TIME - int.from_bytes(qualifier[:8], "big")
        count = int.from_bytes(value, "big")
        if family == b"s":  # one cell for the hour and for its day
            got[field.decode(), word, "h", start] += count
            got[field.decode(), word, "d", start // keys.DAY * keys.DAY] += count
        else:
            got[field.decode(), word, family.decode(), start] += count
    assert got == counted


@given(st.lists(st.integers(0, 1 << 40), min_size=1, max_size=200, unique=True), st.integers(1, 50))
def test_hashes_of_a_file_are_distinct_and_pure(offsets: list[int], shards: int) -> None:
    array = np.array(offsets, np.int64)
    hashes = keys.event_hashes(FILE, array)
    assert len(set(hashes.tolist())) == len(offsets)
    assert (keys.event_hashes(FILE, array[::-1])[::-1] == hashes).all()
    assert (keys.event_hashes(b"g" * 16, array) != hashes).any()
    rows, numbers = make_event_rows(FILE, array, array, shards)
    assert [int(bytes(r[:4])) for r in rows] == numbers.tolist() and numbers.max() < shards


@given(st.integers(0, 10 * keys.DAY), st.integers(0, 10 * keys.DAY))
def test_a_cover_is_the_range(a: int, b: int) -> None:
    since, until = min(a, b), max(a, b)
    parts = cover_range(since, until)
    spans = sorted(parts.days + parts.hours + parts.edges)
    assert sum(end - start for start, end in spans) == until - since
    for (_, end), (start, _) in pairwise(spans):
        assert end == start
    if spans:
        assert spans[0][0] == since and spans[-1][1] == until
    assert all(start % keys.DAY == 0 and end % keys.DAY == 0 for start, end in parts.days)
    assert all(start % keys.HOUR == 0 and end % keys.HOUR == 0 for start, end in parts.hours)
    assert all(end - start <= 2 * keys.HOUR for start, end in parts.edges)
    assert cover_range(0, keys.DAY) == BucketCover(((0, keys.DAY),), (), ())


def test_names_of_tables_never_meet() -> None:
    assert keys.source_namespace("a.b_c") == "a_b__c" != keys.source_namespace("a_b.c") == "a__b_c"


def test_constants_sort_in_the_index() -> None:
    field = SOURCE.find_field("size")
    assert encode_value(field.scalar, -1) < encode_value(field.scalar, 0) < encode_value(field.scalar, 300)
