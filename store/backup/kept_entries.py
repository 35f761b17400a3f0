"""Chooses the entries of a source that belong to whole work items.

An item that a worker was reading at the moment of the export has some of its entries in the clones. Its blocks are told
by the item's tag in their rows, its counts and sightings by its ID. Nothing tells its events in the cell layout, so
such a source is only exported at a moment without such items (``ingest/backup/moment.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from watchfloor.schema.source import Source
from watchfloor.store.bridge.requests import EntryScan, ServerIterator
from watchfloor.store.encoding.byte_arrays import join_bytes, to_byte_rows
from watchfloor.store.encoding.keys import HASH_BYTES, REVTS_BYTES, SHARD_BYTES, aggregate_shard, index_prefix
from watchfloor.store.encoding.ranges import Ranges
from watchfloor.store.index.item_counts import TOTAL
from watchfloor.store.layouts.block.blocks.block_keys import (
    BLOCK_ROW_BYTES,
    FILE,
    ITEM,
    TAG_BYTES,
    make_item_tag,
    read_epochs,
    read_tags,
)
from watchfloor.store.layouts.block.epochs.block_view import BlockView
from watchfloor.store.layouts.block.vectors.vector import decode_binary
from watchfloor.store.reader import Reader

_FIRST_ENTRY = ServerIterator(20, "first", "org.apache.accumulo.core.iterators.FirstEntryInRowIterator")
_AT_ONCE = 256
ITEM_BYTES = HASH_BYTES
"""Length of the ID of a work item in keys."""
Keep = Callable[[pa.RecordBatch], pa.RecordBatch]
"""Returns those entries of a batch that are exported."""


class MixedBlockError(Exception):
    """A merged block has events of whole items and of one that is being read again."""


@dataclass(frozen=True)
class KeptItems:
    """The IDs of the whole items, their parts and the settled retries: 8 bytes each."""

    ids: pa.BinaryArray

    @classmethod
    def of(cls, ids: Iterable[bytes]) -> KeptItems:
        return cls(pa.array(sorted(set(ids)), pa.binary()))

    @property
    def tags(self) -> np.ndarray:
        """The tags of the items in the rows of their blocks, as big-endian numbers."""
        tags = b"".join(make_item_tag(item) for item in self.ids.to_pylist())
        return np.unique(np.frombuffer(tags, ">u4"))


def list_kept_blocks(reader: Reader, table: str, view: BlockView, kept: KeptItems) -> pa.BinaryArray:
    """Returns the rows of the blocks in an event table that are seen and have events of whole items only.

    Raises ``MixedBlockError`` if a merged block also has events of another item.
    """
    everything = Ranges()
    everything.add_rows(b"", None)
    tags = kept.tags
    found: list[pa.BinaryArray] = []
    merged: list[bytes] = []
    for batch in reader.scan(EntryScan(table, everything, [_FIRST_ENTRY], ordered=False)):
        rows = batch.filter(pc.equal(batch.column("qualifier"), FILE.encode())).column("row")
        if not len(rows):
            continue
        seen = view.find_seen_rows(rows)
        keys = to_byte_rows(rows, BLOCK_ROW_BYTES)[:, SHARD_BYTES:]
        is_merged = read_epochs(keys) > 0
        is_whole = np.isin(np.ascontiguousarray(read_tags(keys)).view(">u4").reshape(-1), tags) & ~is_merged
        if seen is not None:
            is_merged, is_whole = is_merged & seen, is_whole & seen
        found.append(rows.filter(pa.array(is_whole)))
        merged += rows.filter(pa.array(is_merged)).to_pylist()
    for start in range(0, len(merged), _AT_ONCE):
        found.append(_choose_merged(reader, table, merged[start : start + _AT_ONCE], tags))
    return pa.concat_arrays(found) if found else pa.array([], pa.binary())


def _choose_merged(reader: Reader, table: str, rows: list[bytes], tags: np.ndarray) -> pa.BinaryArray:
    """Returns those of merged blocks that have events of whole items."""
    qualifier = ITEM.encode()
    ranges = Ranges()
    for row in rows:
        ranges.add_qualifiers(row, qualifier, qualifier + b"\x00")
    chosen: list[bytes] = []
    for batch in reader.scan(EntryScan(table, ranges, ordered=False)):
        for row, vector in zip(batch.column("row").to_pylist(), batch.column("value").to_pylist(), strict=True):
            items = decode_binary(pa.py_buffer(vector)).unique()
            known = np.isin(to_byte_rows(items, TAG_BYTES).copy().view(">u4").reshape(-1), tags)
            if known.all():
                chosen.append(row)
            elif known.any():
                raise MixedBlockError(row.hex())
    return pa.array(chosen, pa.binary())


def keep_all(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Keeps every entry: events and index of a source in the cell layout."""
    return batch


def keep_blocks(rows: pa.BinaryArray) -> Keep:
    """Keeps the entries of these rows of an event table."""
    return lambda batch: batch.filter(pc.is_in(batch.column("row"), value_set=rows))


def keep_hits(rows: pa.BinaryArray) -> Keep:
    """Keeps the index entries of the blocks with these rows."""
    ids = join_bytes(pc.binary_slice(rows, SHARD_BYTES, BLOCK_ROW_BYTES), pc.binary_slice(rows, 0, SHARD_BYTES))

    def keep(batch: pa.RecordBatch) -> pa.RecordBatch:
        shards = pc.binary_slice(batch.column("row"), 0, SHARD_BYTES)
        return batch.filter(pc.is_in(join_bytes(batch.column("qualifier"), shards), value_set=ids))

    return keep


def keep_counts(kept: KeptItems) -> Keep:
    """Keeps the counts of whole items."""

    def keep(batch: pa.RecordBatch) -> pa.RecordBatch:
        items = pc.binary_slice(batch.column("qualifier"), REVTS_BYTES, REVTS_BYTES + ITEM_BYTES)
        return batch.filter(pc.is_in(items, value_set=kept.ids))

    return keep


def keep_sightings(kept: KeptItems) -> Keep:
    """Keeps the sightings of whole items and their records."""

    def keep(batch: pa.RecordBatch) -> pa.RecordBatch:
        rows, qualifiers = batch.column("row"), batch.column("qualifier")
        marks = pc.binary_slice(rows, SHARD_BYTES, SHARD_BYTES + 1)
        ends = pc.if_else(pc.equal(marks, b"\x01"), _last_bytes(rows), _last_bytes(qualifiers))
        return batch.filter(pc.is_in(ends, value_set=kept.ids))

    return keep


def _last_bytes(column: pa.BinaryArray) -> pa.BinaryArray:
    """Returns the last bytes of each value, as many as an item's ID has."""
    return pc.binary_slice(column, -ITEM_BYTES)


def sum_counts(reader: Reader, table: str, source: Source, kept: KeptItems) -> int:
    """Returns the number of a source's events by the counts of whole items in an aggregate table."""
    ranges = Ranges()
    ranges.add_row(aggregate_shard(TOTAL, b"", source.shards) + index_prefix(TOTAL))
    keep, total = keep_counts(kept), 0
    for batch in reader.scan(EntryScan(table, ranges)):
        days = keep(batch.filter(pc.equal(batch.column("family"), b"d"))).column("value").to_pylist()
        total += sum(int.from_bytes(count, "big") for count in days)
    return total


def find_sightings(source: Source) -> ServerIterator:
    """Returns an iterator that lets through the sightings of a source and their records."""
    # In ISO-8859-1 each byte is one character.
    pattern = rf"(?s).{{{REVTS_BYTES}}}\Q{source.name}\E\x00.*"
    options = {"colqRegex": pattern, "encoding": "ISO-8859-1"}
    return ServerIterator(30, "source", "org.apache.accumulo.core.iterators.user.RegExFilter", options)


def rename_sightings(batch: pa.RecordBatch, old: str, new: str) -> pa.RecordBatch:
    """Returns sightings and records of a source under another source's name, unsorted."""
    qualifiers = batch.column("qualifier")
    rest = pc.binary_slice(qualifiers, REVTS_BYTES + len(old.encode()))
    renamed = join_bytes(pc.binary_slice(qualifiers, 0, REVTS_BYTES), pa.scalar(new.encode(), pa.binary()), rest)
    place = batch.schema.get_field_index("qualifier")
    return batch.set_column(place, "qualifier", renamed)
