"""Entries of the ``block`` layout: events as column vectors, some thousands in a row (``docs/keys.md``).

A work item's events are cut into *slabs* in the order of the file, independently of the batches in which they arrive.
The events of a slab are split by day, sorted newest first and cut into blocks. So what is written depends on the
events alone.
"""

from __future__ import annotations

from hashlib import blake2b

import numpy as np
import pyarrow as pa

from watchfloor.schema.source import Source
from watchfloor.store.encoding.keys import OFFSET_COLUMN, aggregate_table, event_hashes
from watchfloor.store.index.item_counts import ItemCounts, make_constant_column
from watchfloor.store.index.stale_counts import read_item_counts, remove_stale_counts
from watchfloor.store.layout import GoneLines, SweepGuard, TableWrite
from watchfloor.store.layouts.block.blocks.block_keys import FILE, OFFSET, OFFSET_FIELD, make_item_tag
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
from watchfloor.store.layouts.block.compaction.sweep import sweep_item
from watchfloor.store.layouts.block.vectors.column import make_binary_column, make_column
from watchfloor.store.layouts.block.vectors.vector import CODEC, Compression
from watchfloor.store.store import Store


class BlockEncoder:
    """Makes the entries of one work item's events of one source."""

    def __init__(
        self,
        source: Source,
        file_id: bytes,
        item_id: bytes,
        block_rows: int = BLOCK_ROWS,
        compression: Compression = CODEC,
        generation: int = 0,
    ) -> None:
        """Sets up an encoder of one work item.

        ``generation`` is the last epoch that was begun, if the item was read to its end before; otherwise 0.
        """
        self._source, self._file_id, self._item_id = source, file_id, item_id
        self._block_rows, self._compression = block_rows, compression
        self._counts = ItemCounts(source, item_id)
        self._pending: list[pa.RecordBatch] = []
        self._pending_rows = 0
        self._slabs = 0
        # Block names depend on the definition and on the generation: a reading with another definition, or after blocks
        # were merged, must never write a block under the name of a block that was replaced.
        self._origin = item_id + blake2b(source.to_json().encode()).digest()
        if generation:
            self._origin += generation.to_bytes(4, "big")
        self._first_shard = int.from_bytes(blake2b(self._origin, digest_size=4).digest(), "big")
        self._written: set[bytes] = set()

    def encode(self, events: pa.RecordBatch) -> list[TableWrite]:
        """Returns entries of the slabs that are full now; other events wait for more, or for ``finish``."""
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
        return [*writes, *(TableWrite(table, batch, False, len(batch)) for batch in self._counts.make_entries())]

    def sweep_earlier(self, store: Store, gone: GoneLines, guard: SweepGuard) -> None:
        sweep_item(store, self._source, ItemOrigin(make_item_tag(self._item_id), self._file_id), self._written, guard)
        store = store.seeing_all_of(self._source)
        counts = read_item_counts(store, self._source, self._item_id)
        guard.confirm()
        remove_stale_counts(store, self._source, counts, self._counts.make_entries())

    def _encode_slab(self) -> list[TableWrite]:
        """Returns the event entries and index entries of the pending events, and counts them."""
        source = self._source
        events = pa.concat_batches(self._pending) if len(self._pending) > 1 else self._pending[0]
        self._pending, self._pending_rows = [], 0
        times = events.column(source.time_field).cast(pa.int64()).to_numpy()
        self._counts.add_total(times)
        offsets = events.column(OFFSET_COLUMN)
        shard = (self._first_shard + self._slabs) % source.shards
        self._slabs += 1
        blocks = self._cut_blocks(shard, times, offsets.to_numpy())
        self._written.update(block.row for block in blocks)
        columns = [
            LabelledColumn(
                f.name,
                source.visibility_of(f),
                make_column(f, events.column(f.name), self._compression),
                f.is_indexed,
                f.is_reversed,
            )
            for f in source.fields
        ]
        files = make_constant_column(self._file_id, len(events))
        about = [
            LabelledColumn(OFFSET, source.visibility, make_column(OFFSET_FIELD, offsets, self._compression)),
            LabelledColumn(FILE, source.visibility, make_binary_column(files, self._compression)),
        ]
        return [make_event_write(source, blocks, [*columns, *about]), *make_block_index_writes(source, blocks, columns)]

    def _cut_blocks(self, shard: int, times: np.ndarray, offsets: np.ndarray) -> list[Block]:
        """Returns the blocks of a slab, in the order of their rows."""
        tag, found = make_item_tag(self._item_id), []
        for events in cut_events(times, event_hashes(self._file_id, offsets), self._block_rows):
            own = blake2b(self._origin + offsets[events].tobytes(), digest_size=4).digest()
            found.append(make_block(shard, events, times, tag, own))
        return sorted(found, key=lambda block: block.row)
