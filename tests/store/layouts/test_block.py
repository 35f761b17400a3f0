"""The block layout's entries and what is read from them agree with plain Python, without a server.

In `make test`: it needs no servers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from block_store import BlockStore, hits_of_blocks
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import holds
from test_cell import EPOCH, FILE, ITEM

from watchfloor.query.preparation.read_range import intersect_ids, unite_ids
from watchfloor.schema.definition import parse_definition
from watchfloor.schema.filter.tree import And, Compare, Filter
from watchfloor.schema.source import Source
from watchfloor.store.encoding import keys
from watchfloor.store.encoding.byte_arrays import to_binary_array
from watchfloor.store.encoding.index_values import to_index_value
from watchfloor.store.layout import IndexCount, ReadRequest, TableWrite
from watchfloor.store.layouts.block.block_encoder import SLAB_BLOCKS, BlockEncoder
from watchfloor.store.layouts.block.block_layout import BlockLayout
from watchfloor.store.layouts.block.blocks.block_keys import FILE as FILE_COLUMN
from watchfloor.store.layouts.block.blocks.block_keys import OFFSET, OFFSET_FIELD
from watchfloor.store.layouts.block.blocks.event_order import EventMerger
from watchfloor.store.layouts.block.vectors.vector import decode_binary, decode_vector
from watchfloor.store.layouts.count_reader import BUCKET_WIDTHS, CountReader
from watchfloor.store.layouts.registry import find_layout

SOURCE = parse_definition(
    {
        "name": "test.block_one",
        "parser": {"format": "json"},
        "timestamp": {"field": "ts"},
        "layout": "block",
        "shards": 3,
        "visibility": "staff",
        "fields": [
            {"name": "ts", "type": "time"},
            {"name": "row", "type": "string", "indexed": True},
            {"name": "size", "type": "int", "indexed": True, "visibility": "secret"},
            {"name": "tags", "type": "list", "items": "string", "indexed": True},
            {"name": "rare", "type": "float"},
        ],
    }
)
NAMES = [field.name for field in SOURCE.fields]
BLOCK_ROWS = 4

Event = tuple[Any, ...]
times = st.one_of(
    st.integers(0, 3 * keys.DAY).map(lambda t: t // (keys.MINUTE * 9) * keys.MINUTE * 9),
    st.integers(0, 3 * keys.DAY),
    st.sampled_from([0, keys.DAY - 1, keys.DAY, 2 * keys.DAY]),
)
events_of = st.lists(
    st.tuples(
        times,
        st.none() | st.sampled_from(["a", "b", "nul\0sep\x1f", "", "long" * 400]),
        st.none() | st.integers(-2, 2),
        st.none() | st.lists(st.none() | st.sampled_from(["x", "y"]), max_size=3),
        st.none() | st.sampled_from([0.5, -1.0]),
    ),
    min_size=1,
    max_size=60,
)


def to_batch(events: list[Event]) -> pa.RecordBatch:
    moments, *others = zip(*events, strict=True)
    columns = [[EPOCH + timedelta(microseconds=t) for t in moments], *others]
    arrays = [pa.array(c, f.arrow) for c, f in zip(columns, SOURCE.fields, strict=True)]
    return pa.RecordBatch.from_arrays(
        [*arrays, pa.array(range(0, 10 * len(events), 10), pa.int64())],
        schema=SOURCE.arrow_schema.append(pa.field("(offset)", pa.int64())),
    )


def encoded(
    events: list[Event],
    cuts: list[int] = [],  # noqa: B006
    item: bytes = ITEM,
    file: bytes = FILE,
) -> list[TableWrite]:
    encoder = BlockEncoder(SOURCE, file, item, BLOCK_ROWS)
    batch, writes, start = to_batch(events), [], 0
    for end in [*sorted(cuts), len(events)]:
        writes += encoder.encode(batch.slice(start, end - start))
        start = end
    return writes + encoder.finish()


def stored(*items: list[TableWrite]) -> BlockStore:
    store = BlockStore(SOURCE)
    for writes in items:
        store.put(writes)
    return store


def as_dicts(events: list[Event]) -> list[dict[str, Any]]:
    return to_batch(events).drop_columns("(offset)").to_pylist()


def elements(value: Any) -> set[Any]:
    return set(value if isinstance(value, list) else [value]) - {None}


def hashable(row: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(tuple(v) if isinstance(v, list) else v for v in (row[name] for name in NAMES))


@given(events_of)
@settings(max_examples=60)
def test_entries_are_those_of_plain_python(events: list[Event]) -> None:
    writes = encoded(events)
    store = stored(writes)
    assert sum(w.entries for w in writes) == sum(map(len, store.tables.values())), "no key is written twice"
    blocks: dict[bytes, dict[str, bytes]] = {}
    for (row, family, qualifier), (visibility, value) in store.tables[keys.event_table(SOURCE)].items():
        assert visibility == (b"secret" if qualifier == b"size" else b"staff")
        assert (row, b"zone" if family == b"" else b"", qualifier) in store.tables[keys.event_table(SOURCE)]
        if not family:
            blocks.setdefault(row, {})[qualifier.decode()] = value
    seen: list[tuple[Any, ...]] = []
    hits: Counter[tuple[bytes, bytes, bytes]] = Counter()
    shards: dict[int, set[int]] = {}
    for row, cells in blocks.items():
        columns = {n: decode_vector(SOURCE.find_field(n), v).to_pylist() for n, v in cells.items() if n in NAMES}
        moments = [(t - EPOCH) // timedelta(microseconds=1) for t in columns["ts"]]
        count = len(moments)
        assert 0 < count <= BLOCK_ROWS and {len(c) for c in columns.values()} == {count}
        offsets = decode_vector(OFFSET_FIELD, cells[OFFSET]).to_pylist()
        assert decode_binary(cells[FILE_COLUMN]).to_pylist() == [FILE] * count
        hashes = keys.event_hashes(FILE, np.array(offsets)).tolist()
        order = [(-t, h) for t, h in zip(moments, hashes, strict=True)]
        assert order == sorted(order), "newest first, ties by hash"
        assert len(row) == 24
        slab = {offset // 10 // (SLAB_BLOCKS * BLOCK_ROWS) for offset in offsets}
        assert len(slab) == 1, "a block is of one slab"
        shards.setdefault(slab.pop(), set()).add(int(row[:4]))
        assert row[4:12] == keys.reverse_time(moments[0])
        span = int.from_bytes(row[12:16], "big")
        assert (span - 1) * 10**6 < moments[0] - moments[-1] <= span * 10**6
        assert len({t // keys.DAY for t in moments}) == 1, "a block is of one day"
        for place in range(count):
            event = {n: columns[n][place] if n in columns else None for n in NAMES}
            assert moments[place] == events[offsets[place] // 10][0]
            seen.append((*hashable(event), offsets[place]))
            for name in ("row", "size", "tags"):
                for value in elements(event[name]):
                    plain = value.encode() if isinstance(value, str) else (value + (1 << 63)).to_bytes(8, "big")
                    hits[row[:4] + name.encode() + b"\0" + to_index_value(plain), row[4:], b"x"] += 1
    assert Counter(seen) == Counter((*hashable(e), 10 * i) for i, e in enumerate(as_dicts(events)))
    assert all(len(found) == 1 for found in shards.values()), "the blocks of a slab stand together"
    assert len(set.union(*shards.values())) == min(len(shards), SOURCE.shards), "slabs take shards in turn"
    index = store.tables[keys.index_table(SOURCE)]
    assert {(r, block): n for (r, _, q), (_, v) in index.items() for block, n in hits_of_blocks(q, v).items()} == {
        (r, block): n for (r, block, _), n in hits.items()
    }
    assert all(label == (b"secret" if b"size\0" in r[:9] else b"staff") for (r, _, _), (label, _) in index.items())
    for write in writes:
        if write.table == keys.index_table(SOURCE):
            rows = write.batch.column("row").to_pylist()
            changes = sum(one != other for one, other in pairwise(rows))
            assert changes == len(set(rows)) - 1, "entries of one row follow each other"
    totals: Counter[tuple[bytes, int]] = Counter()
    for (row, family, qualifier), (_, value) in store.tables[keys.aggregate_table(SOURCE)].items():
        assert row[4:] == b"\0" and qualifier[8:] == ITEM, "only the total has counts"
        totals[family, keys.MAX_TIME - int.from_bytes(qualifier[:8], "big")] += int.from_bytes(value, "big")
    widths = {b"m": keys.MINUTE, b"h": keys.HOUR, b"d": keys.DAY}
    assert totals == Counter((f, t // w * w) for t, *_ in events for f, w in widths.items())


@given(events_of)
@settings(max_examples=40)
def test_an_index_entry_has_the_blocks_of_a_slab_and_day(events: list[Event]) -> None:
    store = stored(encoded(events))
    parts: dict[bytes, tuple[int, int]] = {}
    """By block its slab and its day."""
    for (row, family, qualifier), (_, value) in store.tables[keys.event_table(SOURCE)].items():
        if qualifier == OFFSET.encode() and not family:
            first = decode_vector(OFFSET_FIELD, value)[0].as_py() // 10
            parts[row] = first // (SLAB_BLOCKS * BLOCK_ROWS), events[first][0] // keys.DAY
    index = store.tables[keys.index_table(SOURCE)]
    for (row, _, key), (_, value) in index.items():
        found = list(hits_of_blocks(key, value))
        assert found == sorted(found), "newest first"
        assert {parts[row[:4] + block] for block in found} == {parts[row[:4] + key]}
    assert len(index) == len({(row, parts[row[:4] + key]) for row, _, key in index})


@given(events_of, st.data())
@settings(max_examples=60)
def test_batches_make_no_difference_and_a_replay_changes_nothing(events: list[Event], data: st.DataObject) -> None:
    cuts = data.draw(st.lists(st.integers(0, len(events)), max_size=6))
    whole, pieces = stored(encoded(events)), stored(encoded(events, cuts))
    assert whole.tables == pieces.tables
    whole.put(encoded(events, cuts))
    assert whole.tables == pieces.tables
    assert encoded(events, item=b"j" * 8) != []
    others = stored(encoded(events, item=b"j" * 8))
    rows = keys.event_table(SOURCE)
    assert not set(whole.tables[rows]) & set(others.tables[rows]), "another item's blocks have other rows"


ends = st.one_of(times, st.integers(-1, 3 * keys.DAY + 1))
trees = st.sampled_from(
    [
        None,
        Compare("row", "=", "a"),
        Compare("row", "=", "long" * 400),
        Compare("tags", "=", "x"),
        And((Compare("size", "=", 1), Compare("tags", "=", "y"))),
        And((Compare("row", "=", ""), Compare("size", "<", 1))),
    ]
)


def micros_of(events: list[dict[str, Any]]) -> list[int]:
    return [(event["ts"] - EPOCH) // timedelta(microseconds=1) for event in events]


def matching(events: list[Event], since: int, until: int, tree: Filter | None) -> list[dict[str, Any]]:
    return [
        event
        for (time, *_), event in zip(events, as_dicts(events), strict=True)
        if since <= time < until and (tree is None or holds(tree, event))
    ]


def check(batches: list[pa.RecordBatch], expected: list[dict[str, Any]]) -> None:
    rows = [row for batch in batches for row in batch.to_pylist()]
    assert Counter(map(hashable, rows)) == Counter(map(hashable, expected))
    order = [row["(key)"] for row in rows]
    assert order == sorted(order)
    for row in rows:
        assert row["(key)"][:8] == keys.reverse_time((row["ts"] - EPOCH) // timedelta(microseconds=1))


@given(st.lists(events_of, min_size=1, max_size=3), st.tuples(ends, ends), trees)
@settings(max_examples=80)
def test_scans_and_fetches_find_every_event(
    items: list[list[Event]], ends: tuple[int, int], tree: Filter | None
) -> None:
    """Late events too: items overlap in time in any way."""
    since, until = min(ends), max(ends)
    store: Any = stored(*(encoded(events, item=bytes([i]) * 8) for i, events in enumerate(items)))
    layout = BlockLayout()
    expected = [event for events in items for event in matching(events, since, until, tree)]
    check(list(layout.scan_events(store, SOURCE, ReadRequest(since, until, tree, NAMES, 20))), expected)
    terms = tree.children if isinstance(tree, And) else (tree,) if isinstance(tree, Compare) else ()
    equal = [t for t in terms if isinstance(t, Compare) and t.op == "="]
    if equal:
        found = layout.find_hits(store, SOURCE, equal, since, until)
        hits = intersect_ids(found)
        assert hits.to_pylist() == sorted(hits.to_pylist())
        check(list(layout.fetch_events(store, SOURCE, hits, ReadRequest(since, until, tree, NAMES, 20))), expected)
        either = unite_ids(found)
        assert set(hits.to_pylist()) <= set(either.to_pylist()) and either.to_pylist() == sorted(either.to_pylist())
        some = [e for events in items for e in matching(events, since, until, equal[0])]
        check(
            list(
                layout.fetch_events(
                    store, SOURCE, either, ReadRequest(since, until, equal[0], ["rare", "ts", *NAMES[1:4]], 20)
                )
            ),
            some,
        )


@given(st.lists(events_of, min_size=1, max_size=3), st.tuples(ends, ends), st.integers(1, 12))
@settings(max_examples=60)
def test_the_newest_events_are_there_whatever_the_limit(
    items: list[list[Event]], ends: tuple[int, int], limit: int
) -> None:
    since, until = min(ends), max(ends)
    # Of a file each, so that no two events have one key and any order would do.
    writes = (encoded(events, item=bytes([i]) * 8, file=bytes([i]) * 16) for i, events in enumerate(items))
    store: Any = stored(*writes)
    layout, tree = BlockLayout(), Compare("row", "=", "a")

    def rows(batches: Iterator[pa.RecordBatch]) -> list[dict[str, Any]]:
        return [row for batch in batches for row in batch.to_pylist()]

    (hits,) = layout.find_hits(store, SOURCE, [Compare("row", "=", "a")], since, until)
    for where in (None, tree):
        newest = rows(layout.scan_events(store, SOURCE, ReadRequest(since, until, where, NAMES, 20)))[:limit]
        assert (
            rows(layout.scan_events(store, SOURCE, ReadRequest(since, until, where, NAMES, 20, limit)))[:limit]
            == newest
        )
    assert (
        rows(layout.fetch_events(store, SOURCE, hits, ReadRequest(since, until, tree, NAMES, 20, limit)))[:limit]
        == newest
    )


@given(st.lists(events_of, min_size=1, max_size=2), st.tuples(ends, ends), st.data())
@settings(max_examples=80)
def test_counts_are_exact(items: list[list[Event]], ends: tuple[int, int], data: st.DataObject) -> None:
    since, until = max(0, min(ends)), max(0, *ends)
    store: Any = stored(*(encoded(events, item=bytes([i]) * 8) for i, events in enumerate(items)))
    reader = CountReader(store, SOURCE)
    inside = [event for events in items for event in matching(events, since, until, None)]
    assert reader.count_events(since, until) == len(inside)
    field = SOURCE.find_field(data.draw(st.sampled_from(["row", "size", "tags"])))
    counted = Counter(value for event in inside for value in elements(event[field.name]))
    value = data.draw(st.sampled_from({"row": ["a", "b", "no"], "size": [0, 1], "tags": ["x", "y"]}[field.name]))
    assert reader.count_events(since, until, field, value) == counted[value]
    bucket = data.draw(st.sampled_from(sorted(BUCKET_WIDTHS)))
    having = [e for e in inside if value in elements(e[field.name])]
    for events, more in ((inside, ()), (having, (field, value))):
        expected = Counter(t // BUCKET_WIDTHS[bucket] * BUCKET_WIDTHS[bucket] for t in micros_of(events))
        assert dict(reader.count_over_time(bucket, since, until, *more)) == expected
    shown = {(v[:1000] + "…" if v == "long" * 400 else v): n for v, n in counted.items()}
    assert dict(reader.rank_values(field, since, until, 9)) == shown
    survey = reader.read_survey([Compare(field.name, "=", value)], since, until)
    assert survey.counts[0] is not None and (survey.counts[0].events > 0 or not having)
    assert survey.total >= len(inside)
    assert all(any(low <= t < high for low, high in survey.busy) for t in micros_of(inside))


def test_an_estimate_of_whole_hours_is_exact() -> None:
    events = [(i * keys.MINUTE, "a" if i % 3 else "b", 1, None, None) for i in range(600)]
    store: Any = stored(encoded(events))
    reader = CountReader(store, SOURCE)
    terms = [Compare("row", "=", "a"), Compare("row", "=", "b"), Compare("tags", "=", "x")]
    blocks = len(BlockLayout().find_hits(store, SOURCE, terms[:1], 0, 10 * keys.HOUR)[0])
    newest = 599 * keys.MINUTE
    counts = [IndexCount(400, blocks, blocks, newest), IndexCount(200, blocks, blocks, newest), IndexCount(0, 0, 0)]
    for asked in ((0, 10 * keys.HOUR), (None, None)):
        survey = reader.read_survey(terms, *asked)
        assert (survey.since, survey.until, survey.busy) == (0, 10 * keys.HOUR, [(0, 10 * keys.HOUR)])
        assert dict(zip(survey.hours.tolist(), survey.events.tolist(), strict=True)) == {
            hour * keys.HOUR: 60 for hour in range(10)
        }
        assert (survey.total, survey.counts) == (600, counts)
        assert [survey.estimate_newer(time) for time in (-1, 0, 90 * keys.MINUTE, 10 * keys.HOUR)] == [600, 600, 510, 0]
    part = reader.read_survey(terms, 2 * keys.HOUR, 5 * keys.HOUR)
    assert part.busy == [(2 * keys.HOUR, 5 * keys.HOUR)]
    found = [count.events for count in part.counts if count is not None]
    assert part.total == 180 and 118 <= found[0] <= 124 and found[2] == 0


def test_first_events_need_few_blocks() -> None:
    events = [(i * 1000, "a", 1, None, None) for i in range(400)]
    store: Any = stored(encoded(events))
    (hits,) = BlockLayout().find_hits(store, SOURCE, [Compare("row", "=", "a")], 0, keys.DAY)
    assert len(hits) == 100
    first = next(iter(BlockLayout().fetch_events(store, SOURCE, hits, ReadRequest(0, keys.DAY, None, ["ts"], 20))))
    assert len(first) == 8 and store.blocks_read == 2


def test_runs_hold_back_what_may_not_be_newest() -> None:
    def run(*moments: int) -> pa.RecordBatch:
        key = np.zeros((len(moments), 16), np.uint8)
        key[:, :8] = keys.reverse_times(np.array(moments, np.int64))
        return pa.RecordBatch.from_arrays([pa.array(moments), to_binary_array(key)], names=["t", "(key)"])

    def taken(upto: int | None) -> list[int]:
        return [t for piece in runs.take_newer(upto) for t in piece.column(0).to_pylist()]

    runs = EventMerger()
    runs.add_run(run(9, 7, 5, 5, 1))
    assert taken(9) == []
    runs.add_run(run(8, 6, 5))
    assert taken(6) == [9, 8, 7]
    assert taken(6) == []
    runs.add_run(run())
    runs.add_run(run(4))
    assert taken(None) == [6, 5, 5, 5, 4, 1] and taken(None) == []


def test_the_layout_is_known_by_its_name() -> None:
    assert find_layout(SOURCE).name == "block" and not find_layout(SOURCE).hits_exact
    assert find_layout(SOURCE.replace_layout("cell")).name == "cell"


@pytest.mark.parametrize("shift", [0, 1])
def test_an_event_of_midnight_starts_a_block(shift: int) -> None:
    source: Source = SOURCE
    events = [(keys.DAY - shift, "a", 1, None, None), (keys.DAY - 2, "b", 1, None, None)]
    rows = {row for row, _, _ in stored(encoded(events)).tables[keys.event_table(source)]}
    assert len(rows) == 2 - shift
