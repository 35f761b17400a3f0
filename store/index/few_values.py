"""A look at the index that tells if a field has few values: one entry of each value is read."""

from __future__ import annotations

from watchfloor.schema.field import Field
from watchfloor.schema.source import Source
from watchfloor.store.bridge.requests import EntryScan, ServerIterator
from watchfloor.store.encoding.keys import index_prefix, index_table, shard_names
from watchfloor.store.encoding.ranges import Ranges
from watchfloor.store.reader import Reader

_FIRST_ENTRY = ServerIterator(20, "first", "org.apache.accumulo.core.iterators.FirstEntryInRowIterator")


def has_few_values(reader: Reader, source: Source, field: Field, most: int) -> bool:
    """Returns False if one shard's index has more than ``most`` values of a field, at any time. Each costs a seek."""
    ranges = Ranges()
    ranges.add_prefix(shard_names(source.shards)[0] + index_prefix(field.name))
    values = 0
    with reader.begin_scan(EntryScan(index_table(source), ranges, [_FIRST_ENTRY], batch_rows=most + 1)) as batches:
        for batch in batches:
            values += len(batch)
            if values > most:
                return False
    return True
