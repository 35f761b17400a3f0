"""A scan of blocks knows the next row, so events are given out before the following block is read.

In `make test`: it is short, on the stack of the run.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as examples
from hypothesis import strategies as st
from ingest_support import RUN
from loaded import batch_of, write

from watchfloor.schema.definition import parse_definition
from watchfloor.schema.filter.tree import Compare, Condition
from watchfloor.schema.settings.settings import Settings
from watchfloor.schema.source import Source
from watchfloor.schema.times import to_micros
from watchfloor.store.bridge import jvm
from watchfloor.store.bridge.streams import NEXT_ROW
from watchfloor.store.encoding.keys import SHARD_BYTES, event_table, shard_names
from watchfloor.store.encoding.ranges import Ranges
from watchfloor.store.layout import ReadRequest
from watchfloor.store.layouts.block import block_layout
from watchfloor.store.layouts.block.block_layout import BlockLayout, _BlockReader
from watchfloor.store.layouts.block.blocks.block_keys import find_block_bounds
from watchfloor.store.store import Store

pytestmark = pytest.mark.stack

EVENTS, ITEMS, BLOCK_ROWS = 1200, 6, 20
SCANS = 100
START = datetime(2024, 3, 1, tzinfo=UTC)
SOURCE = parse_definition(
    {
        "name": f"next{RUN}.rows",
        "parser": {"format": "json"},
        "timestamp": {"field": "ts"},
        "shards": 3,
        "layout": "block",
        "fields": [{"name": "ts", "type": "time"}, {"name": "number", "type": "int"}],
    }
)


@pytest.fixture(scope="module")
def store(store_settings: Settings) -> Iterator[Store]:
    with Store.open(store_settings) as writer, writer.sink() as sink:
        kind = writer.catalog.register(SOURCE)
        for item in range(ITEMS):
            mine = [n for n in range(EVENTS) if n // 100 % ITEMS == item or n % 7 == item]
            events = [{"ts": START + timedelta(seconds=n), "number": n} for n in mine]
            write(sink, kind, item, batch_of(kind, events), BLOCK_ROWS)
        sink.flush()
    with Store.open(store_settings, role="query") as opened:
        yield opened


@pytest.mark.parametrize("where", [None, Compare("number", "<", 900), Compare("number", "=", 30)])
@pytest.mark.parametrize("first_rows", [1, 1000])
def test_what_a_batch_says_comes_next_is_true(
    store: Store, where: Condition | None, first_rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(block_layout, "MANY_EVENTS", 4 * BLOCK_ROWS)
    source: Source = store.catalog.find_source(SOURCE.name)
    since, until = to_micros(START), to_micros(START + timedelta(seconds=EVENTS))
    wanted = ReadRequest(since, until, where, ["ts", "number"], first_rows)
    low, high = find_block_bounds(since, until)
    ranges = Ranges()
    for shard in shard_names(source.shards):
        ranges.add_rows(shard + low, shard + high)
    told: list[bytes | None] = []
    rows: list[list[bytes]] = []
    with _BlockReader(store, source, wanted).begin_read(ranges, ordered=True) as begun:
        for batch in begun:
            named = (batch.schema.metadata or {}).get(NEXT_ROW)
            told.append(None if named is None else bytes.fromhex(named.decode()))
            rows.append(batch.column(0).drop_null().to_pylist())
    assert sum(map(len, rows)) >= 1
    assert len(told) > 3 or where == Compare("number", "=", 30)
    # A feed whose last block of a tablet is out does not know what comes: one of each shard at most.
    assert sum(row is None for row in told[:-1]) <= source.shards
    for number, row in enumerate(told[:-1]):
        if row is None:
            continue
        following = rows[number + 1][0]
        assert row[SHARD_BYTES:] <= following[SHARD_BYTES:]
        assert where is not None or row == following, "all blocks answer: the next one is known by its name"
    if told[-1] is not None:
        # The range's end: no block is so old.
        assert rows[-1][-1][SHARD_BYTES:] < told[-1][SHARD_BYTES:]
    found = list(BlockLayout().scan_events(store, source, wanted))
    numbers = [n for batch in found for n in batch.column("number").to_pylist()]
    expected = [e for e in range(EVENTS) for i in range(ITEMS) if e // 100 % ITEMS == i or e % 7 == i]
    if where is not None:
        expected = [n for n in expected if (n < 900 if where == Compare("number", "<", 900) else n == 30)]
    assert numbers == sorted(expected, reverse=True)


def read_blocks(store: Store, source: Source, wanted: ReadRequest) -> list[list[bytes]]:
    """The rows of the blocks in each batch of a scan of all shards, without their shards and with them at the end."""
    low, high = find_block_bounds(wanted.since, wanted.until)
    ranges = Ranges()
    for shard in shard_names(source.shards):
        ranges.add_rows(shard + low, shard + high)
    with _BlockReader(store, source, wanted).begin_read(ranges, ordered=True) as begun:
        batches = [batch.column(0).drop_null().to_pylist() for batch in begun]
    return [[row[SHARD_BYTES:] + row[:SHARD_BYTES] for row in rows] for rows in batches]


def test_a_first_batch_has_what_is_at_hand_of_all_shards(store: Store) -> None:
    source: Source = store.catalog.find_source(SOURCE.name)
    since, until = to_micros(START), to_micros(START + timedelta(seconds=EVENTS))
    wanted = [ReadRequest(since, until, None, ["ts", "number"], 1, limit) for limit in (100, None)]
    (first, *_), every = (read_blocks(store, source, request) for request in wanted)
    left: dict[bytes, list[bytes]] = {}
    for row in itertools.chain.from_iterable(every):
        left.setdefault(row[-SHARD_BYTES:], []).append(row)
    # Blocks are taken as long as none that has not been read yet may come before them.
    to_come = min(rows[1] for rows in left.values() if rows[0] in first)
    assert first == sorted(rows[0] for rows in left.values() if rows[0] < to_come)


def write_run(store: Store, kind: Source, item: int, seconds: Sequence[int]) -> None:
    """Writes blocks of an item, which are all in one shard, with an event at each of some seconds."""
    events = [{"ts": START + timedelta(seconds=n), "number": n} for n in seconds]
    with store.sink() as sink:
        write(sink, kind, item, batch_of(kind, events), BLOCK_ROWS)
        sink.flush()


def test_scans_note_the_newest_block_and_the_next_ones_find_the_same(store_settings: Settings) -> None:
    until = to_micros(START) + 10**12
    wanted = ReadRequest(to_micros(START), until, None, ["ts", "number"], 1, 1000)
    with Store.open(store_settings) as writer, Store.open(store_settings, "query", authorizations=[]) as reader:
        kind = writer.catalog.register(parse_definition({**SOURCE.definition, "name": f"again{RUN}.rows"}))
        nobody = jvm.java_class("org.apache.accumulo.core.security.Authorizations").EMPTY
        view = jvm.java_class("watchfloor.bridge.NewestBlocks$View")(event_table(kind), nobody)
        newest = reader.connection.java.newestBlocks()
        assert newest.findOldest(view, until) is None
        # Items of 20 minutes, each in one shard, and 200 seconds to a block: no two blocks overlap.
        for item in range(ITEMS):
            write_run(writer, kind, item, range(1200 * item, 1200 * item + 1200, 10))
            batches = [list(itertools.chain.from_iterable(read_blocks(reader, kind, wanted))) for _ in range(3)]
            assert len(batches[0]) == 6 * (item + 1)
            assert batches[0] == sorted(batches[0]) == batches[1] == batches[2]
            oldest = to_micros(START) + (1200 * item + 1000) * 1_000_000
            assert newest.findOldest(view, until) == oldest
            # Of a scan of older events nothing is noted, and it takes no notice.
            older = replace(wanted, until=to_micros(START) + 300_000_000)
            assert len(list(itertools.chain.from_iterable(read_blocks(reader, kind, older)))) == 2
            assert newest.findOldest(view, older.until) is None
            assert newest.findOldest(view, until) == oldest


def test_pages_are_right_whatever_was_written_since_the_last_one(store_settings: Settings) -> None:
    steps = st.one_of(
        st.tuples(st.just("write"), st.integers(0, 5000), st.integers(1, 90)),
        st.tuples(st.just("page"), st.integers(0, 6000), st.sampled_from([1, 7, 60, 400])),
        st.tuples(st.just("filtered"), st.sampled_from([2500, 6000]), st.sampled_from([3, 50])),
    )
    numbers: set[int] = set()
    items = itertools.count()
    with Store.open(store_settings) as writer, Store.open(store_settings, role="query") as reader:
        kind = writer.catalog.register(parse_definition({**SOURCE.definition, "name": f"drawn{RUN}.rows"}))

        @examples(deadline=None, max_examples=25, suppress_health_check=list(HealthCheck))
        @given(st.lists(steps, min_size=4, max_size=12))
        def check(drawn: list[tuple[str, int, int]]) -> None:
            for what, at, many in drawn:
                if what == "write":
                    seconds = [n for n in range(at, at + many) if n not in numbers]
                    numbers.update(seconds)
                    if seconds:
                        write_run(writer, kind, next(items), seconds)
                    continue
                where = Compare("number", "<", at // 3) if what == "filtered" else None
                until = to_micros(START) + at * 1_000_000
                request = ReadRequest(to_micros(START), until, where, ["number"], 20, many)
                batches = BlockLayout().scan_events(reader, kind, request)
                found = list(itertools.islice((n for b in batches for n in b.column("number").to_pylist()), many))
                expected = sorted((n for n in numbers if n < at and (where is None or n < at // 3)), reverse=True)
                assert found == expected[:many]

        check()


def test_blocks_that_are_written_during_a_scan_break_no_order(store: Store, store_settings: Settings) -> None:
    # A server names the next row, and a block that is then written before it comes with the following request.
    ended = threading.Event()

    def write_blocks() -> None:
        with writer.sink() as sink:
            for number in itertools.count(100):
                if ended.is_set():
                    return
                time = START + timedelta(milliseconds=10 * number)
                write(sink, kind, number, batch_of(kind, [{"ts": time, "number": number}]), BLOCK_ROWS)
                sink.flush()

    with Store.open(store_settings) as writer:
        kind = writer.catalog.register(parse_definition({**SOURCE.definition, "name": f"late{RUN}.rows", "shards": 1}))
        with writer.sink() as sink:
            # The newest block covers the whole range, so its events wait for the next row.
            events = [{"ts": START + timedelta(milliseconds=10 * n + 5), "number": n} for n in range(20_000)]
            write(sink, kind, 0, batch_of(kind, events), len(events))
            sink.flush()
        thread = threading.Thread(target=write_blocks)
        thread.start()
        try:
            source = store.catalog.find_source(kind.name)
            request = ReadRequest(to_micros(START), to_micros(START) + EVENTS * 1_000_000, None, ["ts"], 1)
            for _ in range(SCANS):
                batches = list(BlockLayout().scan_events(store, source, request))
                times = [t for batch in batches for t in batch.column("ts").cast("int64").to_pylist()]
                assert times == sorted(times, reverse=True)
        finally:
            ended.set()
            thread.join()
