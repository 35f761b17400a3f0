"""Sorts batches of entries by their keys, in the order that RFiles need.

Rows of events have a fixed number of bytes and are sorted as numbers. Columns of index entries come as dictionaries:
only the distinct values are compared, and entries are sorted by the ranks of their values. No whole key is built.

The functions empty the lists of batches that they are given, so that memory is released as soon as a copy is made.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from .byte_arrays import to_byte_rows

SLICE_BYTES = 4 << 20
"""Approximate size in bytes of one yielded batch of sorted entries."""
_Cell = tuple[bytes, bytes, bytes]
_LONG = ("row", "family", "qualifier", "visibility", "value")


def sort_rows(batches: list[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yields the rows of wide batches (``EntrySink.write_rows``), sorted; columns are sorted by qualifier and label.

    Each family has batches of its own, as locality groups stand in a file: the one without a name comes last.
    """
    rows = pa.concat_arrays([batch.column(0) for batch in batches])
    cells = _collect_cells(batches)
    batches.clear()
    order = _sort_order(_to_numbers(rows), len(rows))
    for family in sorted({name[0] for name in cells}, reverse=True):
        names = sorted(name for name in cells if name[0] == family)
        columns = [rows, *(pa.concat_arrays(cells.pop(name)) for name in names)]
        fields = [pa.field("row", pa.binary())]
        fields += [pa.field(str(i), pa.binary(), metadata=_cell_metadata(name)) for i, name in enumerate(names)]
        whole = pa.RecordBatch.from_arrays(columns, schema=pa.schema(fields))
        for places in _slice_order(order, whole.nbytes):
            yield whole.take(pa.array(places))


def sort_entries(batches: list[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yields the entries of long batches (``EntrySink.write_entries``), which have the same columns, by key."""
    names = [name for name in _LONG if name in batches[0].schema.names]
    entries, size = sum(map(len, batches)), sum(batch.nbytes for batch in batches)
    columns = {name: _SortColumn([batch.column(name) for batch in batches]) for name in names}
    batches.clear()
    keys = [numbers for name in names if name != "value" for numbers in columns[name].to_numbers()]
    for places in _slice_order(_sort_order(keys, entries), size):
        yield pa.RecordBatch.from_arrays([columns[name].take(places) for name in names], names=names)


class _SortColumn:
    """One column of all batches. A dictionary column is kept as its sorted distinct values and each entry's rank."""

    def __init__(self, chunks: list[pa.Array]) -> None:
        self._ranks: np.ndarray | None = None
        if pa.types.is_dictionary(chunks[0].type):
            unified = pa.chunked_array(chunks).unify_dictionaries()
            distinct = unified.chunk(0).dictionary
            order = pc.sort_indices(distinct)
            rank = np.empty(len(distinct), np.int32)
            rank[order.to_numpy()] = np.arange(len(distinct), dtype=np.int32)
            self._values = distinct.take(order)
            self._ranks = rank.take(np.concatenate([chunk.indices.to_numpy() for chunk in unified.chunks]))
        else:
            self._values = pa.concat_arrays(chunks)

    def to_numbers(self) -> list[np.ndarray]:
        """Returns arrays of numbers, the most significant first, that sort as the values do."""
        if self._ranks is None:
            return _to_numbers(self._values)
        return [self._ranks] if len(self._values) > 1 else []

    def take(self, places: np.ndarray) -> pa.Array:
        """Returns the values at these positions; of a dictionary column, as a dictionary array."""
        if self._ranks is None:
            return self._values.take(pa.array(places))
        ranks = self._ranks.take(places)
        first = int(ranks.min())
        # Only the distinct values from the least to the greatest are copied: few, if entries are sorted by this column.
        values = self._values.take(pa.array(np.arange(first, int(ranks.max()) + 1)))
        return pa.DictionaryArray.from_arrays(pa.array(ranks - first), values)


def _to_numbers(values: pa.BinaryArray) -> list[np.ndarray]:
    """Returns arrays of numbers, the most significant first, that sort as the values; constant arrays are left out."""
    lengths = pc.min_max(pc.binary_length(values))
    width = lengths["max"].as_py() or 0
    if lengths["min"].as_py() != width:
        return _SortColumn([values.dictionary_encode()]).to_numbers()
    padded = np.zeros((len(values), -(-width // 8) * 8), np.uint8)
    padded[:, :width] = to_byte_rows(values, width) if width else 0
    words = padded.view(">u8").astype(np.uint64)
    return [np.ascontiguousarray(word) for word in words.T if word.min() != word.max()]


def _sort_order(keys: list[np.ndarray], rows: int) -> np.ndarray:
    """Returns the positions of rows sorted by ``keys``, the most significant first."""
    if not keys:
        return np.arange(rows)
    whole = _combine_keys(keys)
    # Each batch is mostly in order by itself, and a stable sort of one key merges runs that are in order.
    return np.lexsort(keys[::-1]) if whole is None else np.argsort(whole, kind="stable")


def _combine_keys(keys: list[np.ndarray]) -> np.ndarray | None:
    """Returns one number per row that sorts as all keys together do; None if it could be too large."""
    sizes = [int(key.max()) + 1 for key in keys]
    if math.prod(sizes) >= 1 << 63:
        return None
    whole = keys[0].astype(np.int64)
    for key, size in zip(keys[1:], sizes[1:], strict=True):
        whole = whole * size + key.astype(np.int64)
    return whole


def _slice_order(order: np.ndarray, size: int) -> Iterator[np.ndarray]:
    """Yields slices of ``order`` for about ``SLICE_BYTES`` of entries, which have ``size`` bytes in all."""
    rows = max(1, len(order) * SLICE_BYTES // max(1, size))
    for start in range(0, len(order), rows):
        yield order[start : start + rows]


def _collect_cells(batches: list[pa.RecordBatch]) -> dict[_Cell, list[pa.Array]]:
    """Returns an array per batch for each family, qualifier and label; it is all null if the batch lacks the column."""
    cells: dict[_Cell, list[pa.Array]] = {}
    for number, batch in enumerate(batches):
        for field, column in zip(list(batch.schema)[1:], batch.columns[1:], strict=True):
            chunks = cells.setdefault(_read_cell(field), [pa.nulls(len(b), pa.binary()) for b in batches])
            chunks[number] = column.cast(pa.binary())
    return cells


def _read_cell(field: pa.Field) -> _Cell:
    """Returns the family, the qualifier and the label of a wide batch's column."""
    metadata = field.metadata or {}
    qualifier = metadata.get(b"qualifier", field.name.encode())
    return metadata.get(b"family", b""), qualifier, metadata.get(b"visibility", b"")


def _cell_metadata(cell: _Cell) -> dict[str, bytes]:
    return dict(zip(("family", "qualifier", "visibility"), cell, strict=True))
