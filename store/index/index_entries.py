"""Index entries, in both layouts: in the row of a value, and in a second row for the reversed value."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from watchfloor.schema.source import Source
from watchfloor.store.encoding.byte_arrays import join_bytes
from watchfloor.store.encoding.index_values import to_index_values, to_reversed_index_values
from watchfloor.store.encoding.keys import index_prefix, index_table, reversed_prefix, shard_names
from watchfloor.store.layout import TableWrite

from .item_counts import make_constant_column


@dataclass(frozen=True)
class IndexColumn:
    """The distinct ``values`` of one field, encoded, for which entries are made.

    ``row_values`` are these values as they stand in index rows. If ``reversed``, entries of the reversed values are
    made too.
    """

    name: str
    visibility: str
    values: pa.BinaryArray
    row_values: pa.BinaryArray
    reversed: bool

    @classmethod
    def from_values(cls, name: str, visibility: str, values: pa.BinaryArray, reversed: bool) -> IndexColumn:
        return cls(name, visibility, values, to_index_values(values), reversed)


def make_index_writes(
    source: Source, column: IndexColumn, groups: np.ndarray, qualifiers: pa.Array, values: pa.Array
) -> Iterator[TableWrite]:
    """Yields index entries grouped by their row, so that a sink makes one mutation of each group.

    ``groups`` has for each entry (number of its value) * (number of shards) + (its shard), in ascending order.
    ``qualifiers`` and ``values`` are those of the entries.
    """
    first = np.concatenate(([True], groups[1:] != groups[:-1]))
    distinct, positions = groups[first], np.cumsum(first) - 1
    names = pa.array(shard_names(source.shards), pa.binary())
    shard_of, value_of = names.take(pa.array(distinct % source.shards)), pa.array(distinct // source.shards)
    row_of = pa.array(positions.astype(np.int32))
    cells = {
        "qualifier": qualifiers,
        "visibility": make_constant_column(column.visibility.encode(), len(groups)),
        "value": values,
    }
    forms = [(index_prefix(column.name), column.row_values)]
    if column.reversed:
        forms.append((reversed_prefix(column.name), to_reversed_index_values(column.values)))
    for prefix, written in forms:
        rows = join_bytes(shard_of, pa.scalar(prefix, pa.binary()), written.take(value_of))
        batch = pa.RecordBatch.from_pydict({"row": pa.DictionaryArray.from_arrays(row_of, rows), **cells})
        yield TableWrite(index_table(source), batch, False, len(batch))
