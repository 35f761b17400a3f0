"""A look at the index that tells if a field has few values: one entry of each value is read."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from watchfloor.schema.field import Field
from watchfloor.schema.source import Source
from watchfloor.store.bridge.requests import EntryScan, ServerIterator
from watchfloor.store.encoding.keys import index_prefix, index_table, shard_names
from watchfloor.store.encoding.ranges import Ranges
from watchfloor.store.reader import Batches, Reader

_FIRST_ENTRY = ServerIterator(20, "first", "org.apache.accumulo.core.iterators.FirstEntryInRowIterator")


def begin_values(reader: Reader, source: Source, field: Field, most: int) -> Batches:
    """Begins the scan of one entry of each value of a field in one shard, at any time. Each costs a seek."""
    ranges = Ranges()
    ranges.add_prefix(shard_names(source.shards)[0] + index_prefix(field.name))
    return reader.begin_scan(EntryScan(index_table(source), ranges, [_FIRST_ENTRY], batch_rows=most + 1))


def are_few(batches: Iterable[pa.RecordBatch], most: int) -> bool:
    """Returns False if a scan of ``begin_values`` has more than ``most`` values."""
    values = 0
    for batch in batches:
        values += len(batch)
        if values > most:
            return False
    return True
