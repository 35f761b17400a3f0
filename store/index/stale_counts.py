"""Reads the cells of one work item in a source's aggregate table, and removes the outdated ones.

A reading overwrites the cells for which it has counts. If the item is read again by another definition, a bucket in
which it has no events any more would keep the count of the earlier reading.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from watchfloor.schema.source import Source
from watchfloor.store.bridge.requests import REGEX_FILTER, EntryScan, ServerIterator
from watchfloor.store.bridge.sinks import EntrySink
from watchfloor.store.encoding.byte_arrays import to_byte_rows
from watchfloor.store.encoding.keys import MINUTE, aggregate_shard, aggregate_table, index_prefix, times_of_keys
from watchfloor.store.encoding.ranges import Ranges
from watchfloor.store.reader import Reader

from .item_counts import TOTAL

_KEY = ("row", "family", "qualifier")


class SinkOpener(Protocol):
    """Opens sinks for entries, as a store does."""

    def sink(self) -> EntrySink: ...


def read_item_counts(reader: Reader, source: Source, item_id: bytes) -> pa.Table:
    """Reads the keys (row, family, qualifier, visibility) of a work item's cells in a source's aggregate table.

    The servers look at all cells of the table and send only those of the item.
    """
    everything = Ranges.everything()
    pattern = "(?s).{8}" + "".join(f"\\x{byte:02x}" for byte in item_id)
    # In ISO-8859-1 each byte is one character.
    only_item = ServerIterator(30, "item", REGEX_FILTER, {"colqRegex": pattern, "encoding": "ISO-8859-1"})
    batches = [
        batch.select([*_KEY, "visibility"])
        for batch in reader.scan(EntryScan(aggregate_table(source), everything, [only_item], ordered=False))
    ]
    schema = pa.schema([(name, pa.binary()) for name in (*_KEY, "visibility")])
    return pa.Table.from_batches([batch.cast(schema) for batch in batches], schema)


def counted_minutes(source: Source, counts: pa.Table) -> np.ndarray:
    """Returns the starts (µs, ascending) of the minutes in which the item has or had events, from its ``counts``."""
    row = aggregate_shard(TOTAL, b"", source.shards) + index_prefix(TOTAL)
    of_minutes = pc.and_(pc.equal(counts.column("row"), row), pc.equal(counts.column("family"), b"m"))
    qualifiers = counts.filter(of_minutes).column("qualifier").combine_chunks()
    if not len(qualifiers):
        return np.empty(0, np.int64)
    return np.unique(times_of_keys(to_byte_rows(qualifiers, 16)) // MINUTE * MINUTE)


def remove_stale_counts(sinks: SinkOpener, source: Source, counts: pa.Table, written: Iterable[pa.RecordBatch]) -> None:
    """Deletes durably the cells in an item's ``counts`` that are not in ``written``, those of its last reading."""
    current = {key for batch in written for key in zip(*(batch.column(name).to_pylist() for name in _KEY), strict=True)}
    keys = zip(*(counts.column(name).to_pylist() for name in _KEY), strict=True)
    stale = counts.filter(pa.array([key not in current for key in keys], pa.bool_()))
    if len(stale):
        with sinks.sink() as sink:
            for batch in stale.to_batches():
                sink.delete_entries(aggregate_table(source), batch)
            sink.flush()
