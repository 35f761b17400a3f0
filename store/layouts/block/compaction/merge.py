"""Many blocks as few: their events, sorted anew and cut into full blocks of a new epoch."""

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
    epoch_tag,
    epochs_of_blocks,
    tags_of_blocks,
)
from watchfloor.store.layouts.block.blocks.block_writes import (
    SLAB_BLOCKS,
    Labelled,
    cut,
    event_write,
    index_writes,
    make_block,
)
from watchfloor.store.layouts.block.blocks.stored_blocks import Cells, column_of, label_of, sizes_of
from watchfloor.store.layouts.block.vectors.column import binary_column, make_column
from watchfloor.store.layouts.block.vectors.vector import CODEC, decode_binary

FILE_BYTES = 16


@dataclass(frozen=True)
class Origin:
    """Events that one work item has written: the tag of the item, and its file's identity."""

    tag: bytes
    file_id: bytes


@dataclass(frozen=True)
class _About:
    """Of each event of some blocks the file, the item's tag and the offset in the file."""

    files: np.ndarray
    items: np.ndarray
    offsets: np.ndarray

    def some(self, which: np.ndarray) -> _About:
        return _About(self.files[which], self.items[which], self.offsets[which])

    def of(self, origin: Origin) -> np.ndarray:
        """Which events are an item's."""
        tag, file_id = (np.frombuffer(part, np.uint8) for part in (origin.tag, origin.file_id))
        return (self.items == tag).all(axis=1) & (self.files == file_id).all(axis=1)


def holds_events_of(origin: Origin, row: bytes, cells: Cells) -> bool:
    return bool(_about({row: cells}, sizes_of({row: cells})).of(origin).any())


def write_merged(
    sink: EntrySink, source: Source, blocks: Mapping[bytes, Cells], epoch: int, block_rows: int, without: Origin | None
) -> int:
    """Writes the events of blocks that are ``alike`` once more as blocks of an epoch, events before hits, durably.

    Those of the item ``without`` are left out. Returns how many events it has written.
    """
    sizes = sizes_of(blocks)
    about = _about(blocks, sizes)
    kept = np.flatnonzero(~about.of(without)) if without is not None else np.arange(len(about.offsets))
    if not len(kept):
        return 0
    about, places = about.some(kept), pa.array(kept)
    columns = []
    times = np.empty(0, np.int64)
    for field in source.fields:
        label = label_of(field.name, blocks)
        if label is not None:
            values = column_of(field, blocks, sizes).take(places)
            column = make_column(field, values, CODEC)
            columns.append(Labelled(field.name, label, column, field.is_indexed, field.is_reversed))
            if field.name == source.time_field:
                times = values.cast(pa.int64()).to_numpy()
    first = np.ascontiguousarray(about.files[:, :8]).view(">u8").reshape(-1).astype(np.uint64)
    tag, made, shard = epoch_tag(epoch), [], 0
    for number, events in enumerate(cut(times, mix_hashes(first, about.offsets), block_rows)):
        named = blake2b(about.files[events].tobytes() + about.offsets[events].tobytes(), digest_size=4).digest()
        if number % SLAB_BLOCKS == 0:
            shard = (shard + 1 if number else int.from_bytes(named, "big")) % source.shards
        made.append(make_block(shard, events, times, tag, named))
    made.sort(key=lambda block: block.row)
    label = label_of(FILE, blocks) or ""
    origin = [
        Labelled(OFFSET_FIELD.name, label, make_column(OFFSET_FIELD, pa.array(about.offsets), CODEC)),
        Labelled(FILE, label, binary_column(to_binary_array(about.files).dictionary_encode(), CODEC)),
        Labelled(ITEM, label, binary_column(to_binary_array(about.items).dictionary_encode(), CODEC)),
    ]
    _put(sink, event_write(source, made, [*columns, *origin]))
    sink.flush()
    for write in index_writes(source, made, columns):
        _put(sink, write)
    sink.flush()
    return len(kept)


def _put(sink: EntrySink, write: TableWrite) -> None:
    (sink.write_rows if write.wide else sink.write_entries)(write.table, write.batch)


def _about(blocks: Mapping[bytes, Cells], sizes: list[int]) -> _About:
    files, items = [], []
    rows = np.frombuffer(b"".join(blocks), np.uint8).reshape(len(blocks), -1)[:, 4:]
    epochs, tags = epochs_of_blocks(rows), tags_of_blocks(rows)
    for number, (cells, size) in enumerate(zip(blocks.values(), sizes, strict=True)):
        files.append(to_byte_rows(decode_binary(cells[FILE][1]), FILE_BYTES))
        # Of a block from ingest the row says which item's it is.
        items.append(
            to_byte_rows(decode_binary(cells[ITEM][1]), TAG_BYTES)
            if epochs[number]
            else np.broadcast_to(tags[number], (size, TAG_BYTES))
        )
    offsets = column_of(OFFSET_FIELD, blocks, sizes).to_numpy()
    return _About(np.concatenate(files), np.concatenate(items), offsets)
