"""Removes blocks that an earlier reading of a work item has left and the last one has not written again.

A reading makes the same blocks as the one before unless its events or the definition differ: a field was added, or a
retry has taken lines on. The item's blocks are known by their rows, which name it; a block goes after its hits in the
index, so that a sweep that is cut off can be done again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from watchfloor.schema.source import Source

from .column import make_column
from .keys import FILE, SHARD_BYTES, event_table, index_prefix, index_table, item_of_block, item_tag
from .ranges import Ranges
from .values import index_values
from .vector import decode_binary, decode_vector

if TYPE_CHECKING:
    from .store import Store

_KEYS_ONLY: tuple[int, str, str, dict[str, str]] = (
    20, "keys", "org.apache.accumulo.core.iterators.SortedKeyIterator", {},
)  # fmt: skip
_AT_ONCE = 16
"""Blocks that are read at once."""


def sweep(store: Store, source: Source, file_id: bytes, item_id: bytes, written: set[bytes]) -> None:
    """``written``: the rows of the item's blocks as they should be."""
    everything = Ranges()
    everything.add_rows(b"", None)
    tag = item_tag(item_id)
    rows: set[bytes] = set()
    for batch in store.scan(event_table(source), everything, [_KEYS_ONLY], ordered=False):
        rows.update(row for row in set(batch.column("row").to_pylist()) if item_of_block(row) == tag)
    left = sorted(rows - written)
    for start in range(0, len(left), _AT_ONCE):
        _remove(store, source, file_id, left[start : start + _AT_ONCE])


def _remove(store: Store, source: Source, file_id: bytes, rows: list[bytes]) -> None:
    cells = _cells(store, source, rows)
    hits, blocks = Ranges(), Ranges()
    for row in rows:
        # Another item's may have the same tag; not one of the same file, of all items that there are.
        if FILE not in cells[row] or set(decode_binary(cells[row][FILE]).to_pylist()) != {file_id}:
            continue
        blocks.add_row(row)
        shard, key = row[:SHARD_BYTES], row[SHARD_BYTES:]
        for field in source.fields:
            if field.indexed and field.name in cells[row]:
                column = make_column(field, decode_vector(field, cells[row][field.name]), "none")
                for value in index_values(column.indexed()[0]).to_pylist():
                    hits.add_qualifiers(shard + index_prefix(field.name) + value, key, key + b"\x00")
    store.delete(index_table(source), hits)
    store.delete(event_table(source), blocks)


def _cells(store: Store, source: Source, rows: list[bytes]) -> dict[bytes, dict[str, bytes]]:
    """The vectors of blocks by qualifier."""
    ranges = Ranges()
    for row in rows:
        ranges.add_row(row)
    found: dict[bytes, dict[str, bytes]] = {row: {} for row in rows}
    for batch in store.scan(event_table(source), ranges, ordered=False):
        columns = (batch.column(name).to_pylist() for name in ("row", "qualifier", "value"))
        for row, qualifier, value in zip(*columns, strict=True):
            found[row][qualifier.decode()] = value
    return found
