"""Chooses the counts and sightings of whole work items: both have the item's ID in their keys.

What else is chosen depends on the layout (``store/layouts/held_sources.py``).
"""

from __future__ import annotations

from collections import defaultdict

import pyarrow as pa
import pyarrow.compute as pc

from watchfloor.schema.source import Source
from watchfloor.store.bridge.requests import REGEX_FILTER, EntryScan, ServerIterator
from watchfloor.store.encoding.byte_arrays import join_bytes
from watchfloor.store.encoding.keys import HASH_BYTES, REVTS_BYTES, SHARD_BYTES, aggregate_shard, index_prefix
from watchfloor.store.encoding.ranges import Ranges
from watchfloor.store.index.item_counts import TOTAL
from watchfloor.store.layouts.held_sources import Keep
from watchfloor.store.reader import Reader

_LONGEST = (1 << 31) - 1
ITEM_BYTES = HASH_BYTES
"""Length of the ID of a work item in keys."""
_DAYS_ONLY = ServerIterator(30, "days", REGEX_FILTER, {"colfRegex": "d"})


def keep_counts(items: pa.BinaryArray) -> Keep:
    """Keeps the counts of ``items``, given by their IDs."""

    def keep(batch: pa.RecordBatch) -> pa.RecordBatch:
        of = pc.binary_slice(batch.column("qualifier"), REVTS_BYTES, REVTS_BYTES + ITEM_BYTES)
        return batch.filter(pc.is_in(of, value_set=items))

    return keep


def keep_sightings(items: pa.BinaryArray) -> Keep:
    """Keeps the sightings of ``items``, given by their IDs, and their records."""

    def keep(batch: pa.RecordBatch) -> pa.RecordBatch:
        rows, qualifiers = batch.column("row"), batch.column("qualifier")
        marks = pc.binary_slice(rows, SHARD_BYTES, SHARD_BYTES + 1)
        ends = pc.if_else(pc.equal(marks, b"\x01"), _last_bytes(rows), _last_bytes(qualifiers))
        return batch.filter(pc.is_in(ends, value_set=items))

    return keep


def _last_bytes(column: pa.BinaryArray) -> pa.BinaryArray:
    """Returns the last bytes of each value, as many as an item's ID has."""
    return pc.binary_slice(column, -ITEM_BYTES)


def sum_counts(reader: Reader, table: str, source: Source, items: pa.BinaryArray) -> dict[bytes, int]:
    """Returns the number of a source's events of each of ``items`` that has some, by the counts in an aggregate table.

    Both name items by the identities under which they count.
    """
    ranges = Ranges()
    ranges.add_row(aggregate_shard(TOTAL, b"", source.shards) + index_prefix(TOTAL))
    keep = keep_counts(items)
    sums: dict[bytes, int] = defaultdict(int)
    for batch in map(keep, reader.scan(EntryScan(table, ranges, [_DAYS_ONLY]))):
        counts = map(int.from_bytes, batch.column("value").to_pylist())
        for qualifier, count in zip(batch.column("qualifier").to_pylist(), counts, strict=True):
            sums[qualifier[REVTS_BYTES : REVTS_BYTES + ITEM_BYTES]] += count
    return sums


def find_sightings(source: Source) -> ServerIterator:
    """Returns an iterator that lets through the sightings of a source and their records."""
    # In ISO-8859-1 each byte is one character.
    pattern = rf"(?s).{{{REVTS_BYTES}}}\Q{source.name}\E\x00.*"
    options = {"colqRegex": pattern, "encoding": "ISO-8859-1"}
    return ServerIterator(30, "source", REGEX_FILTER, options)


def rename_sightings(batch: pa.RecordBatch, old: str, new: str) -> pa.RecordBatch:
    """Returns sightings and records of a source under another source's name, unsorted."""
    qualifiers = batch.column("qualifier")
    # Without an end Arrow fails for values of different lengths.
    rest = pc.binary_slice(qualifiers, REVTS_BYTES + len(old.encode()), _LONGEST)
    renamed = join_bytes(pc.binary_slice(qualifiers, 0, REVTS_BYTES), pa.scalar(new.encode(), pa.binary()), rest)
    place = batch.schema.get_field_index("qualifier")
    return batch.set_column(place, "qualifier", renamed)
