"""Entries of the ``block`` layout: events as column vectors, some thousands in a row (``docs/keys.md``).

A work item's events are cut into *slabs* in the order of the file, independently of the batches in which they arrive.
The events of a slab are split by day, sorted newest first and cut into blocks. So what is written depends on the
events alone.

An item that is read again keeps its slabs until its last event is there. Then they take the place of what the earlier
reading wrote, all at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from hashlib import blake2b

import numpy as np
import pyarrow as pa

from watchfloor.schema.source import Source
from watchfloor.store.encoding.keys import OFFSET_COLUMN, aggregate_table, event_hashes
from watchfloor.store.index.item_counts import ItemCounts, make_constant_column
from watchfloor.store.index.stale_counts import read_item_counts, remove_stale_counts
from watchfloor.store.layout import GoneLines, SweepGuard, TableWrite
from watchfloor.store.layouts.block.blocks.block_keys import (
    FILE,
    ITEM,
    OFFSET,
    OFFSET_FIELD,
    make_epoch_tag,
    make_item_tag,
)
from watchfloor.store.layouts.block.blocks.block_writes import (
    BLOCK_ROWS,
    SLAB_BLOCKS,
    Block,
    LabelledColumn,
    cut_events,
    make_block,
    make_block_index_writes,
    make_event_write,
)
from watchfloor.store.layouts.block.compaction.merge import ItemOrigin
from watchfloor.store.layouts.block.compaction.replace_item import NewBlocks, replace_item
from watchfloor.store.layouts.block.vectors.column import make_binary_column, make_column
from watchfloor.store.layouts.block.vectors.packing import Packer
from watchfloor.store.layouts.block.vectors.vector import CODEC, Compression
from watchfloor.store.sightings.item_records import read_item_records, remove_stale_sightings
from watchfloor.store.sightings.item_sightings import ItemSightings
from watchfloor.store.store import Store


@dataclass(frozen=True)
class _Slab:
    """Events that are cut into blocks together: the times (µs) and offsets of all, and their columns."""

    shard: int
    times: np.ndarray
    offsets: np.ndarray
    columns: list[LabelledColumn]


class BlockEncoder:
    """Makes the entries of one work item's events of one source."""

    def __init__(
        self,
        source: Source,
        file_id: bytes,
        item_id: bytes,
        block_rows: int = BLOCK_ROWS,
        compression: Compression = CODEC,
        again: bool = False,
    ) -> None:
        """Sets up an encoder of one work item.

        ``again`` says that parts of the item may have been written before. All its events are kept in memory then.
        """
        self._source, self._file_id, self._item_id = source, file_id, item_id
        self._block_rows, self._compression, self._again = block_rows, compression, again
        self._counts, self._sightings = ItemCounts(source, item_id), ItemSightings(source, item_id)
        self._packers = {field.name: Packer(compression) for field in source.fields}
        self._pending: list[pa.RecordBatch] = []
        self._pending_rows = 0
        self._slabs = 0
        self._kept: list[_Slab] = []
        self._replaced = False
        # Block names depend on the definition, so that a reading with another one never makes a block of the same name.
        self._origin = item_id + blake2b(source.to_json().encode()).digest()
        self._first_shard = int.from_bytes(blake2b(self._origin, digest_size=4).digest(), "big")

    def encode(self, events: pa.RecordBatch) -> list[TableWrite]:
        """Returns entries of the slabs that are full now; other events wait for more, or for ``finish``.

        Those of an item that is read again wait for ``replace_earlier``.
        """
        writes: list[TableWrite] = []
        size = SLAB_BLOCKS * self._block_rows
        while len(events):
            part = events.slice(0, size - self._pending_rows)
            events = events.slice(len(part))
            self._pending.append(part)
            self._pending_rows += len(part)
            if self._pending_rows == size:
                writes += self._encode_slab()
        return writes

    def finish(self) -> list[TableWrite]:
        writes = self._encode_slab() if self._pending else []
        table = aggregate_table(self._source)
        writes += (TableWrite(table, batch, False, len(batch)) for batch in self._counts.make_entries())
        return [*writes, *self._sightings.make_writes()]

    def replace_earlier(self, store: Store, guard: SweepGuard) -> list[TableWrite]:
        tag = make_item_tag(self._item_id)
        cut = [(slab, self._cut_blocks(slab, tag)) for slab in self._kept]
        new = NewBlocks({block.row for _, blocks in cut for block in blocks}, self._make_blocks_of_epoch)
        replaced = replace_item(store, self._source, ItemOrigin(tag, self._file_id), new, guard)
        self._kept, self._replaced = [], True
        return [] if replaced else [write for slab, blocks in cut for write in self._make_writes(slab, blocks)]

    def sweep_earlier(self, store: Store, gone: GoneLines, guard: SweepGuard) -> None:
        if not self._replaced:
            # The item has no events of this source any more, so that nothing is left to write.
            self.replace_earlier(store, guard)
        store = store.seeing_all_of(self._source)
        counts = read_item_counts(store, self._source, self._item_id)
        records = read_item_records(store, self._source, self._item_id)
        guard.confirm()
        remove_stale_sightings(store, self._item_id, records, self._sightings.make_writes())
        remove_stale_counts(store, self._source, counts, self._counts.make_entries())

    def _encode_slab(self) -> list[TableWrite]:
        """Counts the pending events, which are a slab, and returns its entries, unless it is kept."""
        slab = self._take_slab()
        if self._again:
            self._kept.append(slab)
            return []
        return list(self._make_writes(slab, self._cut_blocks(slab, make_item_tag(self._item_id))))

    def _take_slab(self) -> _Slab:
        source = self._source
        events = pa.concat_batches(self._pending) if len(self._pending) > 1 else self._pending[0]
        self._pending, self._pending_rows = [], 0
        times = events.column(source.time_field).cast(pa.int64()).to_numpy()
        self._counts.add_total(times)
        offsets = events.column(OFFSET_COLUMN)
        shard = (self._first_shard + self._slabs) % source.shards
        self._slabs += 1
        columns = [
            LabelledColumn(
                f.name,
                source.visibility_of(f),
                make_column(f, events.column(f.name), self._compression, self._packers[f.name]),
                f.is_indexed,
                f.is_reversed,
            )
            for f in source.fields
        ]
        for f, labelled in zip(source.fields, columns, strict=True):
            if f.is_sighted:
                values, codes, places = labelled.column.index_events()
                self._sightings.add_values(f, values, codes, times.take(places))
        columns += [
            LabelledColumn(OFFSET, source.visibility, make_column(OFFSET_FIELD, offsets, self._compression)),
            self._make_constant(FILE, self._file_id, len(events)),
        ]
        return _Slab(shard, times, offsets.to_numpy(), columns)

    def _make_constant(self, name: str, value: bytes, rows: int) -> LabelledColumn:
        """Returns a column that says the same of each event."""
        column = make_binary_column(make_constant_column(value, rows), self._compression)
        return LabelledColumn(name, self._source.visibility, column)

    def _cut_blocks(self, slab: _Slab, tag: bytes) -> list[Block]:
        """Returns the blocks of a slab, in the order of their rows."""
        found = []
        for events in cut_events(slab.times, event_hashes(self._file_id, slab.offsets), self._block_rows):
            own = blake2b(self._origin + slab.offsets[events].tobytes(), digest_size=4).digest()
            found.append(make_block(slab.shard, events, slab.times, tag, own))
        return sorted(found, key=lambda block: block.row)

    def _make_writes(self, slab: _Slab, blocks: list[Block]) -> Iterator[TableWrite]:
        """Yields the event entries and the index entries of a slab."""
        yield make_event_write(self._source, blocks, slab.columns)
        yield from make_block_index_writes(self._source, blocks, slab.columns)

    def _make_blocks_of_epoch(self, epoch: int) -> Iterator[TableWrite]:
        """Yields the entries of the kept slabs as blocks that are born in an epoch, as those of a compaction are."""
        for slab in self._kept:
            item = self._make_constant(ITEM, make_item_tag(self._item_id), len(slab.times))
            born = replace(slab, columns=[*slab.columns, item])
            yield from self._make_writes(born, self._cut_blocks(born, make_epoch_tag(epoch)))
