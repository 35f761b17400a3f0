"""Index hits of conditions that many values may satisfy, in both layouts: a range of index rows, read on the servers.

The row of an equality is read as it stands (``index_rows``). A range of values may have any number of rows, so the
tablet servers test the values and sum the hits of each key (``watchfloor.iterators.IndexHitsIterator``).
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TypeGuard

import numpy as np
import pyarrow as pa

from watchfloor.schema.filter.tree import Compare, Condition
from watchfloor.schema.source import Source
from watchfloor.store.bridge.requests import MANY_REQUESTS, EntryScan, ServerIterator, ServerOption
from watchfloor.store.encoding.index_values import CUT_BYTES, CUT_DIGEST
from watchfloor.store.encoding.keys import SHARD_BYTES, index_table, shard_names
from watchfloor.store.encoding.program import has_large_sets, list_sets
from watchfloor.store.encoding.ranges import Ranges
from watchfloor.store.reader import Batches, Reader, Slot

from .index_rows import find_value_rows
from .range_cache import RangeCache

# A shard's answer begins with whether reading was given up and the number of entries read; hits follow.
_HEADER = struct.Struct(">BI")
_HITS_BYTES = 4


@dataclass(frozen=True)
class IndexKeys:
    """The keys in a layout's index entries, of events or of blocks of events.

    ``bounds`` gives the first key (inclusive) and the last key (exclusive) of a time range [since, until) (µs);
    ``width`` is the length of a key in bytes.
    """

    bounds: Callable[[int, int], tuple[bytes, bytes]]
    width: int


@dataclass(frozen=True)
class IndexHits:
    """The index hits of one condition: ``ids``, (n, width) bytes, and the number of ``hits`` of each.

    An ID is a key followed by the shard; no ID comes twice. ``entries`` is the number of index entries that were read.
    If not ``complete``, reading was given up.
    """

    ids: np.ndarray
    hits: np.ndarray
    entries: int
    complete: bool

    def select(self, which: np.ndarray) -> IndexHits:
        """Returns the hits at which the boolean array ``which`` is true."""
        return self if which.all() else IndexHits(self.ids[which], self.hits[which], self.entries, self.complete)


_HITS: Slot[RangeCache[tuple[str, Condition], IndexHits]] = Slot(RangeCache)


def is_equality(condition: Condition) -> TypeGuard[Compare]:
    """Returns whether a condition is ``field = value``, which has one row a shard."""
    return isinstance(condition, Compare) and condition.op == "="


def split_conditions(conditions: Iterable[Condition]) -> tuple[list[Compare], list[Condition]]:
    """Returns the equalities, which have one row a shard, and the conditions of many values, without repetitions."""
    equal: list[Compare] = []
    many: list[Condition] = []
    for condition in dict.fromkeys(conditions):
        if is_equality(condition):
            equal.append(condition)
        else:
            many.append(condition)
    return equal, many


def read_index_hits(
    reader: Reader,
    source: Source,
    conditions: Sequence[Condition],
    keys: IndexKeys,
    since: int,
    until: int,
    max_entries: int | None,
) -> list[IndexHits]:
    """Returns the hits of each condition in [since, until), by one scan each, all at once.

    Reading a condition is given up after ``max_entries`` index entries of a shard (None: never). A snapshot keeps what
    was read for later calls, so that hits may lie outside the time range.
    """
    cache = reader.get_slot(_HITS)
    named = [(source.name, condition) for condition in conditions]
    found: dict[tuple[str, Condition], IndexHits] = {}
    new, bounds = cache.find_missing(named, since, until), keys.bounds(since, until)
    with ExitStack() as stack:
        scans = [
            stack.enter_context(_begin_scan(reader, source, condition, bounds, max_entries)) for _, condition in new
        ]
        for name, scan in zip(new, scans, strict=True):
            found[name] = hits = _sum_hits(scan, keys.width)
            if hits.complete:
                cache.put(name, since, until, hits)
    return [found[name] if name in found else cache[name] for name in named]


def _begin_scan(
    reader: Reader, source: Source, condition: Condition, bounds: tuple[bytes, bytes], max_entries: int | None
) -> Batches:
    """Begins to read the hits of one condition in all shards."""
    rows = find_value_rows(condition, source)
    ranges = Ranges()
    if rows.start < rows.end:
        for shard in shard_names(source.shards):
            ranges.add_rows(shard + rows.start, shard + rows.end)
    low, high = bounds
    options: dict[str, ServerOption] = {"skip": str(SHARD_BYTES + rows.skip), "low": low, "high": high}
    if rows.test is not None:
        options |= {"test": rows.test, "cut": str(CUT_BYTES + CUT_DIGEST), "sets": list_sets(condition)}
    if rows.reversed:
        options["reversed"] = "true"
    if max_entries is not None:
        options["most"] = str(max_entries)
    iterator = ServerIterator(30, "hits", "watchfloor.iterators.IndexHitsIterator", options)
    requests = 1 if has_large_sets(condition) else MANY_REQUESTS  # each request brings the sets
    return reader.begin_scan(EntryScan(index_table(source), ranges, [iterator], ordered=False, requests=requests))


def _sum_hits(scan: Iterable[pa.RecordBatch], width: int) -> IndexHits:
    """Returns the answers of all shards as one, with the hits of each ID summed; ``width`` is that of a key."""
    parts: list[np.ndarray] = []
    entries, complete = 0, True
    for batch in scan:
        for row, value in zip(batch.column("row").to_pylist(), batch.column("value").to_pylist(), strict=True):
            given_up, read = _HEADER.unpack_from(value)
            entries += read
            complete = complete and not given_up
            packed = np.frombuffer(value, np.uint8, offset=_HEADER.size).reshape(-1, width + _HITS_BYTES)
            shard = np.broadcast_to(np.frombuffer(row[:SHARD_BYTES], np.uint8), (len(packed), SHARD_BYTES))
            parts.append(np.concatenate((packed[:, :width], shard, packed[:, width:]), axis=1))
    if not parts:
        return IndexHits(np.empty((0, width + SHARD_BYTES), np.uint8), np.empty(0, np.int64), entries, complete)
    together = np.concatenate(parts)
    ids = np.ascontiguousarray(together[:, : width + SHARD_BYTES])
    hits = np.ascontiguousarray(together[:, width + SHARD_BYTES :]).view(">u4").reshape(-1)
    distinct, of = np.unique(ids.view(f"V{width + SHARD_BYTES}").reshape(-1), return_inverse=True)
    sums = np.bincount(of, hits, len(distinct)).astype(np.int64)
    return IndexHits(distinct.view(np.uint8).reshape(-1, width + SHARD_BYTES), sums, entries, complete)
