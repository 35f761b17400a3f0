"""Merges blocks: their events are sorted again and cut into full blocks of a new epoch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
import pyarrow as pa

from watchfloor.schema.source import Source
from watchfloor.store.bridge.sinks import EntrySink
from watchfloor.store.encoding.byte_arrays import to_binary_array, to_byte_rows
from watchfloor.store.encoding.keys import mix_hashes
from watchfloor.store.layout import TableWrite
from watchfloor.store.layouts.block.blocks.block_keys import (
    FILE,
    ITEM,
    OFFSET_FIELD,
    TAG_BYTES,
    make_epoch_tag,
    read_epochs,
    read_tags,
)
from watchfloor.store.layouts.block.blocks.block_writes import (
    SLAB_BLOCKS,
    LabelledColumn,
    cut_events,
    make_block,
    make_block_index_writes,
    make_event_write,
)
from watchfloor.store.layouts.block.blocks.stored_blocks import BlockCells, count_events_of, find_label, read_column
from watchfloor.store.layouts.block.vectors.column import make_binary_column, make_column
from watchfloor.store.layouts.block.vectors.vector import CODEC, decode_binary

FILE_BYTES = 16


@dataclass(frozen=True)
class ItemOrigin:
    """Identifies the events that one work item wrote: by the item's tag and its file's identity."""

    tag: bytes
    file_id: bytes


@dataclass(frozen=True)
class _EventOrigins:
    """The file, the item's tag and the offset in the file of each event of some blocks."""

    files: np.ndarray
    items: np.ndarray
    offsets: np.ndarray

    def select(self, which: np.ndarray) -> _EventOrigins:
        return _EventOrigins(self.files[which], self.items[which], self.offsets[which])

    def are_of(self, origin: ItemOrigin) -> np.ndarray:
        """Returns a boolean per event: whether the item wrote it."""
        tag, file_id = (np.frombuffer(part, np.uint8) for part in (origin.tag, origin.file_id))
        return (self.items == tag).all(axis=1) & (self.files == file_id).all(axis=1)


def has_events_of(origin: ItemOrigin, row: bytes, cells: BlockCells) -> bool:
    """Returns whether a block has events that an item wrote."""
    return bool(_read_origins({row: cells}, count_events_of({row: cells})).are_of(origin).any())


def write_merged(
    sink: EntrySink,
    source: Source,
    blocks: Mapping[bytes, BlockCells],
    epoch: int,
    block_rows: int,
    without: ItemOrigin | None,
) -> int:
    """Writes the events of one group of blocks as blocks of an epoch, durably, and then their index entries.

    The events of the item ``without`` are left out. Returns the number of events that were written.
    """
    sizes = count_events_of(blocks)
    about = _read_origins(blocks, sizes)
    kept = np.flatnonzero(~about.are_of(without)) if without is not None else np.arange(len(about.offsets))
    if not len(kept):
        return 0
    about, places = about.select(kept), pa.array(kept)
    columns = []
    times = np.empty(0, np.int64)
    for field in source.fields:
        label = find_label(field.name, blocks)
        if label is not None:
            values = read_column(field, blocks, sizes).take(places)
            column = make_column(field, values, CODEC)
            columns.append(LabelledColumn(field.name, label, column, field.is_indexed, field.is_reversed))
            if field.name == source.time_field:
                times = values.cast(pa.int64()).to_numpy()
    first = np.ascontiguousarray(about.files[:, :8]).view(">u8").reshape(-1).astype(np.uint64)
    tag, made, shard = make_epoch_tag(epoch), [], 0
    for number, events in enumerate(cut_events(times, mix_hashes(first, about.offsets), block_rows)):
        named = blake2b(about.files[events].tobytes() + about.offsets[events].tobytes(), digest_size=4).digest()
        if number % SLAB_BLOCKS == 0:
            shard = (shard + 1 if number else int.from_bytes(named, "big")) % source.shards
        made.append(make_block(shard, events, times, tag, named))
    made.sort(key=lambda block: block.row)
    label = find_label(FILE, blocks) or ""
    origin = [
        LabelledColumn(OFFSET_FIELD.name, label, make_column(OFFSET_FIELD, pa.array(about.offsets), CODEC)),
        LabelledColumn(FILE, label, make_binary_column(to_binary_array(about.files).dictionary_encode(), CODEC)),
        LabelledColumn(ITEM, label, make_binary_column(to_binary_array(about.items).dictionary_encode(), CODEC)),
    ]
    put_write(sink, make_event_write(source, made, [*columns, *origin]))
    sink.flush()
    for write in make_block_index_writes(source, made, columns):
        put_write(sink, write)
    sink.flush()
    return len(kept)


def put_write(sink: EntrySink, write: TableWrite) -> None:
    """Hands entries to a sink."""
    (sink.write_rows if write.wide else sink.write_entries)(write.table, write.batch)


def _read_origins(blocks: Mapping[bytes, BlockCells], sizes: list[int]) -> _EventOrigins:
    """Returns the origins of the events of some blocks; ``sizes`` are the blocks' numbers of events."""
    files, items = [], []
    rows = np.frombuffer(b"".join(blocks), np.uint8).reshape(len(blocks), -1)[:, 4:]
    epochs, tags = read_epochs(rows), read_tags(rows)
    for number, (cells, size) in enumerate(zip(blocks.values(), sizes, strict=True)):
        files.append(to_byte_rows(decode_binary(cells[FILE][1]), FILE_BYTES))
        # The row of a block from ingest has its item's tag.
        items.append(
            to_byte_rows(decode_binary(cells[ITEM][1]), TAG_BYTES)
            if epochs[number]
            else np.broadcast_to(tags[number], (size, TAG_BYTES))
        )
    offsets = read_column(OFFSET_FIELD, blocks, sizes).to_numpy()
    return _EventOrigins(np.concatenate(files), np.concatenate(items), offsets)
