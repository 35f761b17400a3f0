"""Merges of blocks are planned, give the right blocks, and are seen by the right views, without a server.

In `make test`: it needs no servers.
"""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from block_store import BlockStore, hits_of_blocks
from hypothesis import given, settings
from hypothesis import strategies as st
from test_block import NAMES, SOURCE, as_dicts, check, elements, encoded, events_of, stored
from test_cell import FILE

from watchfloor.schema.filter.tree import Compare
from watchfloor.store.bridge.requests import EntryScan
from watchfloor.store.encoding import keys
from watchfloor.store.encoding.ranges import Ranges
from watchfloor.store.layout import ReadRequest, TableWrite
from watchfloor.store.layouts.block.block_layout import BlockLayout
from watchfloor.store.layouts.block.blocks.block_keys import (
    BLOCK_ROW_BYTES,
    is_merged,
    make_block_row,
    make_epoch_tag,
    make_item_tag,
    read_epochs,
)
from watchfloor.store.layouts.block.blocks.hit_entries import choose_hits
from watchfloor.store.layouts.block.blocks.stored_blocks import BlockCells, group_by_labels, make_hits_of, read_blocks
from watchfloor.store.layouts.block.compaction.merge import ItemOrigin, has_events_of, write_merged
from watchfloor.store.layouts.block.compaction.merge_plan import BlockListing, MergeGroup, cut_into_rounds, plan_merges
from watchfloor.store.layouts.block.epochs.block_view import BlockView, EpochState, make_died_name, read_epochs_of_names
from watchfloor.store.layouts.count_reader import CountReader

EPOCH = 3
ITEMS = [bytes([number]) * 8 for number in range(3)]
Events = list[tuple[Any, ...]]


def hits_in(store: BlockStore) -> dict[tuple[bytes, bytes, bytes], int]:
    """The hits in the index by row, label and key of the block."""
    entries = store.tables[keys.index_table(SOURCE)].items()
    hits = (
        ((row, label, block), count)
        for (row, _, key), (label, value) in entries
        for block, count in hits_of_blocks(key, value).items()
    )
    return {place: count for place, count in hits if count}


class Sink:
    """Puts entries into a ``BlockStore``."""

    def __init__(self, store: BlockStore) -> None:
        self._store = store

    def write_rows(self, table: str, batch: pa.RecordBatch) -> None:
        self._store.put([TableWrite(table, batch, True, 0)])

    def write_entries(self, table: str, batch: pa.RecordBatch) -> None:
        self._store.put([TableWrite(table, batch, False, 0)])

    def flush(self) -> None:
        """All is written."""


def blocks_of(store: Any) -> dict[bytes, BlockCells]:
    rows = {row for row, _, _ in store.tables[keys.event_table(SOURCE)]}
    return read_blocks(store, SOURCE, rows)


def merge(items: list[Events], without: ItemOrigin | None = None) -> tuple[Any, dict[bytes, BlockCells]]:
    """A store with the items' blocks and what they are merged into, and the blocks that were merged."""
    store: Any = stored(*(encoded(events, item=item) for item, events in zip(ITEMS, items, strict=False)))
    old = blocks_of(store)
    sink: Any = Sink(store)
    write_merged(sink, SOURCE, old, EPOCH, 16, without)
    return store, old


def set_view(store: Any, old: dict[bytes, BlockCells], state: EpochState) -> None:
    """Has the catalog say that an epoch has replaced the ``old`` blocks."""
    store.state, store.died = state, [make_died_name(EPOCH, row) for row in old]
    assert set(read_epochs_of_names(pa.array(store.died, pa.binary())).tolist()) <= {EPOCH}


BEFORE, AFTER = EpochState(EPOCH - 1, EPOCH, 0, "me"), EpochState(EPOCH, EPOCH)
ABORTED = EpochState(EPOCH + 1, EPOCH + 1, 0, "", (EPOCH,))


@pytest.mark.parametrize("state", [BEFORE, AFTER, ABORTED], ids=["before", "after", "aborted"])
@given(items=st.lists(events_of, min_size=1, max_size=3))
@settings(max_examples=30)
def test_a_view_sees_each_event_once(state: EpochState, items: list[Events]) -> None:
    store, old = merge(items)
    set_view(store, old, state)
    events = [event for item in items for event in item]
    layout = BlockLayout()
    check(list(layout.scan_events(store, SOURCE, ReadRequest(0, 4 * keys.DAY, None, NAMES, 20))), as_dicts(events))
    (hits,) = layout.find_hits(store, SOURCE, [Compare("row", "=", "a")], 0, 4 * keys.DAY)
    having = [e for e in as_dicts(events) if e["row"] == "a"]
    check(
        list(
            layout.fetch_events(store, SOURCE, hits, ReadRequest(0, 4 * keys.DAY, Compare("row", "=", "a"), NAMES, 20))
        ),
        having,
    )
    reader = CountReader(store, SOURCE)
    assert reader.count_events(0, 4 * keys.DAY, SOURCE.find_field("row"), "a") == len(having)
    counted = Counter(tag for event in as_dicts(events) for tag in elements(event["tags"]))
    assert dict(reader.rank_values(SOURCE.find_field("tags"), 0, 4 * keys.DAY, 9)) == dict(counted)


@given(st.lists(events_of, min_size=1, max_size=3))
@settings(max_examples=40)
def test_merged_blocks_are_full_and_keep_labels_and_origins(items: list[Events]) -> None:
    store, old = merge(items)
    new = {row: cells for row, cells in blocks_of(store).items() if row not in old}
    days: Counter[int] = Counter(event[0] // keys.DAY for events in items for event in events)
    assert len(new) == sum(-(-count // 16) for count in days.values())
    for row, cells in new.items():
        assert is_merged(row) and read_epochs(np.frombuffer(row[4:], np.uint8).reshape(1, -1)) == EPOCH
        assert {name: label for name, (label, _) in cells.items()} == {
            name: "secret" if name == "size" else "staff" for name in cells
        }
    for number, item in enumerate(ITEMS):
        origin = ItemOrigin(make_item_tag(item), FILE)
        held = [row for row, cells in new.items() if has_events_of(origin, row, cells)]
        assert bool(held) == (number < len(items))
        assert not any(has_events_of(ItemOrigin(origin.tag, b"x" * 16), row, cells) for row, cells in new.items())


@given(st.lists(events_of, min_size=2, max_size=3))
@settings(max_examples=30)
def test_an_item_is_taken_out_of_merged_blocks(items: list[Events]) -> None:
    store, old = merge(items)
    merged = {row: cells for row, cells in blocks_of(store).items() if row not in old}
    rest: Any = BlockStore(SOURCE)
    write_merged(Sink(rest), SOURCE, merged, EPOCH + 1, 16, ItemOrigin(make_item_tag(ITEMS[1]), FILE))  # type: ignore[arg-type]
    rest.state = EpochState(EPOCH + 1, EPOCH + 1)
    left = [event for number, events in enumerate(items) if number != 1 for event in events]
    check(list(BlockLayout().scan_events(rest, SOURCE, ReadRequest(0, 4 * keys.DAY, None, NAMES, 20))), as_dicts(left))


@given(st.lists(events_of, min_size=1, max_size=2))
@settings(max_examples=30)
def test_the_hits_of_stored_blocks_are_those_that_were_written(items: list[Events]) -> None:
    store, _ = merge(items)
    found: Any = BlockStore(SOURCE)
    for group in group_by_labels(blocks_of(store)):
        found.put(list(make_hits_of(SOURCE, group)))
    assert hits_in(found) == hits_in(store)


@given(st.lists(events_of, min_size=1, max_size=2), st.data())
@settings(max_examples=60)
def test_hits_of_some_blocks_are_taken_away(items: list[Events], data: st.DataObject) -> None:
    """Twice, with other blocks: entries that have lost hits lose others."""
    store, _ = merge(items)
    table = store.tables[keys.index_table(SOURCE)]
    for _ in range(2):
        before = hits_in(store)
        blocks = sorted({row[:4] + block for row, _, block in before})
        dead = data.draw(st.sets(st.sampled_from(blocks))) if blocks else set()
        ids = pa.array([row[4:] + row[:4] for row in dead], pa.binary())
        for batch in store.scan(EntryScan(keys.index_table(SOURCE), Ranges.everything())):
            found = choose_hits(batch, partial(_are_others, ids))
            assert len(found.kept) + len(found.emptied) == len(batch)
            for row, key in zip(
                *(found.emptied.column(name).to_pylist() for name in ("row", "qualifier")), strict=True
            ):
                del table[row, b"", key]
            store.put([TableWrite(keys.index_table(SOURCE), found.changed, False, 0)])
            kept = BlockStore(SOURCE)
            kept.put([TableWrite(keys.index_table(SOURCE), found.kept, False, 0)])
            assert hits_in(kept).items() <= hits_in(store).items(), "what is kept are the changed and the unchanged"
        assert hits_in(store) == {
            (row, label, block): hits for (row, label, block), hits in before.items() if row[:4] + block not in dead
        }


def _are_others(ids: pa.BinaryArray, some: pa.BinaryArray) -> pa.BooleanArray:
    return pc.invert(pc.is_in(some, value_set=ids))


def test_blocks_with_other_labels_are_not_merged_with_each_other() -> None:
    cells: list[BlockCells] = [
        {"a": ("x", b"")},
        {"a": ("y", b"")},
        {"b": ("", b"")},
        {"a": ("y", b""), "b": ("", b"")},
    ]
    groups = group_by_labels({bytes([number]): cell for number, cell in enumerate(cells)})
    assert [list(group) for group in groups] == [[b"\0", b"\2"], [b"\1", b"\3"]]


# What is planned

TAGS = [make_item_tag(bytes([i])) for i in range(4)]
planned = st.lists(
    st.tuples(
        st.integers(0, 4 * keys.DAY - 1),
        st.integers(1, 40),
        st.sampled_from([*TAGS, make_epoch_tag(1), make_epoch_tag(9)]),
    ),
    max_size=60,
)


def listing(blocks: list[tuple[int, int, bytes]]) -> BlockListing:
    rows = [
        make_block_row(0, time, time, tag + number.to_bytes(4, "big")) for number, (time, _, tag) in enumerate(blocks)
    ]
    array = np.frombuffer(b"".join(rows), np.uint8).reshape(-1, BLOCK_ROW_BYTES)
    seen = read_epochs(array[:, keys.SHARD_BYTES :]) <= 1
    return BlockListing(
        BlockView(EpochState(1, 1)), array, np.array([events for _, events, _ in blocks], np.int64), seen
    )


@given(planned)
@settings(max_examples=200)
def test_groups_are_small_settled_neighbours_of_one_closed_day(blocks: list[tuple[int, int, bytes]]) -> None:
    settled, closed, full = set(TAGS[:2]), 3 * keys.DAY, 16
    known = listing(blocks)
    groups = plan_merges(known, settled, closed, full)
    chosen = [int.from_bytes(row[-4:], "big") for group in groups for row in group.rows]
    assert len(chosen) == len(set(chosen))
    may = {
        number
        for number, (time, events, tag) in enumerate(blocks)
        if time < closed and events < full / 2 and (tag in settled or tag == make_epoch_tag(1))
    }
    assert set(chosen) <= may
    days = Counter(blocks[number][0] // keys.DAY for number in may)
    assert {blocks[number][0] // keys.DAY for number in chosen} == {day for day, count in days.items() if count > 1}
    for group in groups:
        members = [blocks[int.from_bytes(row[-4:], "big")] for row in group.rows]
        assert len(members) > 1 and sum(events for _, events, _ in members) == group.events <= 16 * full
        assert len({time // keys.DAY for time, _, _ in members}) == 1
        assert [time for time, _, _ in members] == sorted((time for time, _, _ in members), reverse=True)
    assert [row for batch in cut_into_rounds(groups, full) for group in batch for row in group.rows] == [
        row for group in groups for row in group.rows
    ]


def test_rounds_are_bounded() -> None:
    groups = [MergeGroup([b""] * 1000, 10) for _ in range(10)] + [MergeGroup([b""] * 2, 500) for _ in range(10)]
    batches = list(cut_into_rounds(groups, 16))
    assert [len(batch) for batch in batches] == [4, 4, 4, 2, 2, 2, 2]
    assert [group for batch in batches for group in batch] == groups
