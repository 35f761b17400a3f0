"""Lists, reads and removes stored blocks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from watchfloor.schema.errors import StoreError
from watchfloor.schema.field import Field
from watchfloor.schema.source import Source
from watchfloor.store.bridge.requests import EntryScan, ServerIterator
from watchfloor.store.bridge.sinks import EntrySink
from watchfloor.store.encoding.keys import SHARD_BYTES, event_table, index_table
from watchfloor.store.encoding.ranges import Ranges
from watchfloor.store.layout import TableWrite
from watchfloor.store.layouts.block.vectors.column import make_column
from watchfloor.store.layouts.block.vectors.vector import count_rows, decode_vector
from watchfloor.store.layouts.block.vectors.zone import ZONE_FAMILY
from watchfloor.store.reader import Reader
from watchfloor.store.store import Store

from .block_keys import FILE, ITEM, OFFSET
from .block_writes import Block, LabelledColumn, make_block_index_writes
from .hit_entries import choose_hits

BlockCells = dict[str, tuple[str, bytes]]
"""Label and vector of each cell of a block, by qualifier."""

FIRST_ENTRY = ServerIterator(20, "first", "org.apache.accumulo.core.iterators.FirstEntryInRowIterator")
"""Answers with the first cell of each block alone: the vector of files' identities."""
_KEYS = pa.schema([(name, pa.binary()) for name in ("row", "family", "qualifier", "visibility")])
_FAMILIES = (b"", ZONE_FAMILY.encode())
"""The families of a block's cells: each vector has a zone beside it."""
_AT_ONCE = 64
"""Number of blocks that are removed together."""
_ROWS_AT_ONCE = 20_000
"""Number of index rows that one scan looks up."""


def list_block_rows(reader: Reader, source: Source) -> Iterator[tuple[pa.BinaryArray, pa.BinaryArray]]:
    """Yields the rows of all blocks, seen or not, in any order, and their vectors of files' identities.

    The vector of files' identities is the first cell of its row and tells how many events the block has. Nothing else
    is read.
    """
    everything = Ranges.everything()
    for batch in reader.scan(EntryScan(event_table(source), everything, [FIRST_ENTRY], ordered=False, family="")):
        whole = batch.filter(pc.equal(batch.column("qualifier"), FILE.encode()))
        yield whole.column("row"), whole.column("value")


def read_blocks(reader: Reader, source: Source, rows: Iterable[bytes]) -> dict[bytes, BlockCells]:
    """Reads the vectors of the blocks among ``rows`` that exist, in the order of their rows."""
    known = {FILE, ITEM, OFFSET, *source.fields_by_name}
    ranges = Ranges()
    for row in rows:
        ranges.add_row(row)
    found: dict[bytes, BlockCells] = {}
    for batch in reader.scan(EntryScan(event_table(source), ranges, ordered=False, family="")):
        columns = (batch.column(name).to_pylist() for name in ("row", "qualifier", "visibility", "value"))
        for row, qualifier, visibility, value in zip(*columns, strict=True):
            name = qualifier.decode()
            if name not in known:
                raise StoreError(f"a block of {source.name} has values of {name}, which its definition does not know")
            found.setdefault(row, {})[name] = visibility.decode(), value
    return dict(sorted(found.items()))


def group_by_labels(blocks: Mapping[bytes, BlockCells]) -> list[dict[bytes, BlockCells]]:
    """Groups blocks so that within a group each column has only one label: almost always one group."""
    groups: list[tuple[dict[str, str], dict[bytes, BlockCells]]] = []
    for row, cells in blocks.items():
        labels = {name: label for name, (label, _) in cells.items()}
        place = next((n for n, (known, _) in enumerate(groups) if _labels_agree(known, labels)), len(groups))
        if place == len(groups):
            groups.append(({}, {}))
        groups[place][0].update(labels)
        groups[place][1][row] = cells
    return [group for _, group in groups]


def _labels_agree(known: dict[str, str], labels: dict[str, str]) -> bool:
    """Returns whether no column has another label in ``known`` than in ``labels``."""
    return all(known.get(name, label) == label for name, label in labels.items())


def count_events_of(blocks: Mapping[bytes, BlockCells]) -> list[int]:
    """Returns the number of events of each block."""
    return [count_rows(cells[FILE][1]) for cells in blocks.values()]


def find_label(name: str, blocks: Mapping[bytes, BlockCells]) -> str | None:
    """Returns the label of a column of one group of blocks; None if no block has the column."""
    return next((cells[name][0] for cells in blocks.values() if name in cells), None)


def read_column(field: Field, blocks: Mapping[bytes, BlockCells], sizes: Sequence[int]) -> pa.Array:
    """Returns a field's values in all events of blocks, one block after the other."""
    parts = []
    for cells, size in zip(blocks.values(), sizes, strict=True):
        values = decode_vector(field, cells[field.name][1]) if field.name in cells else pa.nulls(size, field.arrow)
        if len(values) != size:
            raise StoreError(f"a stored block is damaged: {len(values)} values of {field.name} for {size} events")
        parts.append(values)
    return pa.concat_arrays(parts)


def make_hits_of(source: Source, blocks: Mapping[bytes, BlockCells]) -> Iterator[TableWrite]:
    """Yields the index entries of one group of blocks, which are sorted by row."""
    sizes = count_events_of(blocks)
    ends = np.cumsum(sizes)
    places = [
        Block(row, int(row[:SHARD_BYTES]), np.arange(end - size, end))
        for row, size, end in zip(blocks, sizes, ends.tolist(), strict=True)
    ]
    for field in source.indexed_fields:
        label = find_label(field.name, blocks)
        if label is not None:
            column = make_column(field, read_column(field, blocks, sizes), "none")
            yield from make_block_index_writes(
                source, places, [LabelledColumn(field.name, label, column, True, field.is_reversed)]
            )


def remove_blocks(store: Store, source: Source, rows: Sequence[bytes]) -> None:
    """Deletes blocks durably. Their hits in the index go first, so that an interrupted removal can be repeated.

    A block without an event row may have hits nevertheless: a worker writes both at the same time, and one of the two
    tables may have refused its part.
    """
    with store.sink() as sink:
        missing: list[bytes] = []
        for start in range(0, len(rows), _AT_ONCE):
            some = rows[start : start + _AT_ONCE]
            blocks = read_blocks(store, source, some)
            missing += [row for row in some if row not in blocks]
            for ranges in _find_index_rows(source, blocks):
                _remove_hits(store, source, sink, list(blocks), ranges)
            cells = [
                {"row": row, "family": family, "qualifier": name.encode(), "visibility": label.encode()}
                for row, cells in blocks.items()
                for family in _FAMILIES
                for name, (label, _) in cells.items()
            ]
            sink.delete_entries(event_table(source), pa.RecordBatch.from_pylist(cells, schema=_KEYS))
            sink.flush()
        if missing:
            _remove_hits(store, source, sink, missing, _whole_shards(missing))


def _find_index_rows(source: Source, blocks: Mapping[bytes, BlockCells]) -> Iterator[Ranges]:
    """Yields ranges of the index rows that have hits of blocks: those of their values."""
    writes = (write for group in group_by_labels(blocks) for write in make_hits_of(source, group))
    rows = [write.batch.column("row").dictionary for write in writes]
    distinct = pc.unique(pa.concat_arrays([pa.array([], pa.binary()), *rows]))
    order = pc.sort_indices(distinct)
    for start in range(0, len(order), _ROWS_AT_ONCE):
        yield Ranges.exact_rows(distinct.take(order.slice(start, _ROWS_AT_ONCE)))


def _whole_shards(rows: Iterable[bytes]) -> Ranges:
    """Returns ranges of all index rows in the shards of some blocks."""
    ranges = Ranges()
    for shard in sorted({row[:SHARD_BYTES] for row in rows}):
        ranges.add_prefix(shard)
    return ranges


def _remove_hits(store: Store, source: Source, sink: EntrySink, rows: Sequence[bytes], ranges: Ranges) -> None:
    """Takes the hits of blocks out of the entries in some ranges of the index, durably."""
    keys = ",".join(sorted({row[SHARD_BYTES:].hex() for row in rows}))
    only = ServerIterator(20, "blocks", "watchfloor.block.BlockEntryFilter", {"blocks": keys})
    dead = pa.array([row[SHARD_BYTES:] + row[:SHARD_BYTES] for row in rows], pa.binary())
    for batch in store.scan(EntryScan(index_table(source), ranges, [only], ordered=False)):
        # Blocks of different shards may have the same key.
        found = choose_hits(batch, lambda ids: pc.invert(pc.is_in(ids, value_set=dead)))
        sink.delete_entries(index_table(source), found.emptied.select(_KEYS.names))
        sink.write_entries(index_table(source), found.changed.select([*_KEYS.names, "value"]))
    sink.flush()
