"""Counts of values in the block layout: the index has the number of hits in each block.

Blocks that lie wholly in a time range are counted by the index alone; blocks across an end of it are read. Blocks with
hits for several values of a list field are read too.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from watchfloor.schema.filter.tree import Compare, Condition, Filter
from watchfloor.schema.source import Source
from watchfloor.store.bridge.requests import BATCH_ROWS, MANY_REQUESTS, EntryScan, ServerIterator
from watchfloor.store.encoding.byte_arrays import to_binary_array
from watchfloor.store.encoding.index_values import count_index_values
from watchfloor.store.encoding.keys import SHARD_BYTES, index_table, shard_names
from watchfloor.store.encoding.ranges import Ranges
from watchfloor.store.index.count_buckets import widen_to_hours
from watchfloor.store.index.index_hits import is_equality, read_index_hits, split_conditions
from watchfloor.store.index.index_rows import find_value_rows, make_index_ranges, make_index_suffixes
from watchfloor.store.index.range_cache import RangeCache
from watchfloor.store.layout import FieldValue, IndexCount, Layout, ReadRequest
from watchfloor.store.layouts.block.blocks.block_keys import (
    BLOCK_KEYS,
    find_block_bounds,
    read_block_times,
)
from watchfloor.store.layouts.block.blocks.hit_entries import split_hits
from watchfloor.store.layouts.block.epochs.block_view import find_view
from watchfloor.store.reader import Reader, Slot

_PACK_HITS = ServerIterator(30, "hits", "watchfloor.iterators.HitsIterator")


@dataclass(frozen=True)
class BlockHits:
    """Blocks that have hits for some condition, in any order; the arrays have an element per block.

    ``ids`` are their rows with the shard moved last, so that they sort newest first. All times of a block's events are
    between ``oldest`` and ``newest`` (µs), and ``hits`` is the number of its events that match. ``entries`` is the
    number of index entries that were read, or 0 if they were not counted. If not ``complete``, reading was given up.
    """

    ids: pa.BinaryArray
    newest: np.ndarray
    oldest: np.ndarray
    hits: np.ndarray
    entries: int = 0
    complete: bool = True

    def select(self, which: np.ndarray) -> BlockHits:
        """Returns the blocks at which the boolean array ``which`` is true."""
        if which.all():
            return self
        arrays = (self.newest[which], self.oldest[which], self.hits[which])
        return BlockHits(self.ids.filter(pa.array(which)), *arrays, self.entries, self.complete)

    def select_overlapping(self, since: int, until: int) -> BlockHits:
        """Returns the blocks that may have events in [since, until)."""
        return self.select((self.newest >= since) & (self.oldest < until))

    def are_inside(self, since: int, until: int) -> np.ndarray:
        """Returns a boolean per block: whether all its events are in [since, until)."""
        return (self.oldest >= since) & (self.newest < until)


_TERM_HITS: Slot[RangeCache[tuple[str, bytes], BlockHits]] = Slot(RangeCache)


def read_block_hits(
    reader: Reader,
    source: Source,
    conditions: Sequence[Condition],
    since: int,
    until: int,
    max_entries: int | None = None,
) -> list[BlockHits]:
    """Returns for each condition the blocks with hits that may have events in [since, until).

    All equalities are read by one scan, and each condition of many values by a scan of its own, which is given up after
    ``max_entries`` index entries of a shard (None: never). A snapshot keeps what was read, for later calls.
    """
    terms, others = split_conditions(conditions)
    found: dict[Condition, BlockHits] = dict(
        zip(terms, _read_equal_hits(reader, source, terms, since, until), strict=True)
    )
    found |= zip(others, _read_hits_of_many(reader, source, others, since, until, max_entries), strict=True)
    return [found[condition] for condition in conditions]


def _read_equal_hits(
    reader: Reader, source: Source, terms: Sequence[Compare], since: int, until: int
) -> list[BlockHits]:
    """Reads the blocks with hits of each equality, by one scan for those that the snapshot does not have yet."""
    suffixes = make_index_suffixes([(source.find_field(term.field), term.value) for term in terms])
    if since >= until:
        return [_concat_hits([]) for _ in suffixes]
    cache = reader.get_slot(_TERM_HITS)
    named = [(source.name, suffix) for suffix in suffixes]
    new = [suffix for _, suffix in cache.find_missing(named, since, until)]
    for suffix, hits in _read_hits_by_suffix(reader, source, new, since, until).items():
        cache.put((source.name, suffix), since, until, hits)
    return [cache[name].select_overlapping(since, until) for name in named]


def _read_hits_of_many(
    reader: Reader, source: Source, conditions: Sequence[Condition], since: int, until: int, max_entries: int | None
) -> list[BlockHits]:
    """Reads the blocks with hits of each condition of many values, by a scan each."""
    if since >= until:
        return [_concat_hits([]) for _ in conditions]
    view = find_view(reader, source)
    many = read_index_hits(reader, source, conditions, BLOCK_KEYS, since, until, max_entries)
    view.check_still_right(reader, source.name)
    hits = []
    for found in many:
        seen = view.find_seen(found.ids)
        found = found if seen is None else found.select(seen)
        whole = BlockHits(
            to_binary_array(found.ids), *read_block_times(found.ids), found.hits, found.entries, found.complete
        )
        hits.append(whole.select_overlapping(since, until))
    return hits


def _read_hits_by_suffix(
    reader: Reader, source: Source, suffixes: Sequence[bytes], since: int, until: int
) -> dict[bytes, BlockHits]:
    """Reads the hits of index rows, by ``suffixes``: the rows without their shard."""
    ranges = make_index_ranges(source, suffixes, *find_block_bounds(since, until))
    numbered = {suffix: number for number, suffix in enumerate(suffixes)}
    found: dict[bytes, list[BlockHits]] = {suffix: [] for suffix in suffixes}
    for rows, places, hits in _scan_seen_hits(reader, source, ranges, requests=1):
        numbers = np.array([numbered[row[SHARD_BYTES:]] for row in rows])[places]
        for number in np.unique(numbers).tolist():
            found[suffixes[number]].append(hits.select(numbers == number))
    return {suffix: _concat_hits(parts) for suffix, parts in found.items()}


def _scan_seen_hits(
    reader: Reader, source: Source, ranges: Ranges, requests: int = MANY_REQUESTS, batch_rows: int = BATCH_ROWS
) -> Iterator[tuple[list[bytes], np.ndarray, BlockHits]]:
    """Yields the hits of blocks that the reader's view sees, batch by batch.

    An item is the index rows of a batch, the position of each hit's row among these rows, and the hits. A row with many
    hits may be several times in a batch.
    """
    view = find_view(reader, source)
    request = EntryScan(
        index_table(source), ranges, [_PACK_HITS], ordered=False, requests=requests, batch_rows=batch_rows
    )
    for batch in reader.scan(request):
        view.check_still_right(reader, source.name)
        rows = batch.column("row")
        places, ids, hits = split_hits(rows, batch.column("value"))
        seen = view.find_seen(ids)
        some = hits > 0
        if seen is not None:
            some &= seen
        if not some.all():
            ids, hits, places = ids[some], hits[some], places[some]
        yield rows.to_pylist(), places, BlockHits(to_binary_array(ids), *read_block_times(ids), hits)
    view.check_still_right(reader, source.name)


def _concat_hits(parts: list[BlockHits]) -> BlockHits:
    """Returns the hits of all parts, which are of different blocks."""
    if not parts:
        nothing = np.empty(0, np.int64)
        return BlockHits(pa.array([], pa.binary()), nothing, nothing, nothing)
    newest, oldest, hits = (np.concatenate([getattr(part, n) for part in parts]) for n in ("newest", "oldest", "hits"))
    return BlockHits(pa.concat_arrays([part.ids for part in parts]), newest, oldest, hits)


class BlockCounts:
    """Counts events by the hits in the index."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout

    def estimate_conditions(
        self,
        reader: Reader,
        source: Source,
        conditions: Sequence[Condition],
        since: int,
        until: int,
        max_entries: int | None,
    ) -> list[IndexCount | None]:
        """Estimates the hits in the whole hours that the range touches.

        A block that crosses an end of these hours counts by the share of its time that is inside.
        """
        since, until = widen_to_hours(since, until)
        estimated: list[IndexCount | None] = []
        for found in read_block_hits(reader, source, conditions, since, until, max_entries):
            within = np.minimum(found.newest + 1, until) - np.maximum(found.oldest, since)
            shares = within / (found.newest + 1 - found.oldest)
            events = math.ceil(float(found.hits @ shares))
            entries = found.entries or len(found.ids)
            newest = int(found.newest.max()) if len(found.ids) else None
            estimated.append(IndexCount(events, len(found.ids), entries, newest) if found.complete else None)
        return estimated

    def count_events(self, reader: Reader, source: Source, term: FieldValue, since: int, until: int) -> int:
        found = read_block_hits(reader, source, [_make_equality(term)], since, until)[0]
        whole = found.are_inside(since, until)
        across = self._read_times(reader, source, _make_equality(term), found.select(~whole), since, until)
        return int(found.hits[whole].sum()) + sum(map(len, across))

    def count_over_time(
        self, reader: Reader, source: Source, condition: Condition, width: int, since: int, until: int
    ) -> Counter[int]:
        found = read_block_hits(reader, source, [condition], since, until)[0]
        starts = found.newest // width * width
        whole = found.are_inside(since, until) & (found.oldest >= starts)
        if source.find_field(condition.field).is_list and not is_equality(condition):
            # An event has a hit for each of its elements that fit, so that hits may be more than events.
            whole[:] = False
        counts: Counter[int] = Counter()
        for start, count in zip(starts[whole].tolist(), found.hits[whole].tolist(), strict=True):
            counts[start] += count
        for times in self._read_times(reader, source, condition, found.select(~whole), since, until):
            counts.update((times // width * width).tolist())
        return counts

    def count_values(
        self, reader: Reader, source: Source, condition: Condition, since: int, until: int, most: int | None
    ) -> Counter[bytes] | None:
        field, wanted = source.find_field(condition.field), find_value_rows(condition, source)
        ranges = Ranges()
        for shard in shard_names(source.shards) if since < until else ():
            ranges.add_rows(shard + wanted.start, shard + wanted.end)
        counts: Counter[bytes] = Counter()
        values: set[bytes] = set()
        edges = [pa.array([], pa.binary())]
        few = {} if most is None else {"batch_rows": most}
        for rows, places, found in _scan_seen_hits(reader, source, ranges, **few):
            if most is not None:
                values.update(row[SHARD_BYTES:] for row in rows)
                if len(values) > most:
                    return None
            whole = found.are_inside(since, until)
            across = (found.newest >= since) & (found.oldest < until) & ~whole
            edges.append(pc.unique(found.ids.filter(pa.array(across))))
            sums = np.bincount(places, found.hits * whole, len(rows)).astype(np.int64)
            for row, count in zip(rows, sums.tolist(), strict=True):
                if count:
                    counts[row[SHARD_BYTES + wanted.skip :]] += count
        blocks = pc.unique(pa.concat_arrays(edges))
        for events in self._fetch_column(reader, source, blocks, since, until, condition, field.name):
            count_index_values(field, events.column(0), counts)
        return wanted.select_values(counts) if field.is_list else counts

    def _read_times(
        self, reader: Reader, source: Source, condition: Condition, found: BlockHits, since: int, until: int
    ) -> Iterator[np.ndarray]:
        """Yields the times (int64 µs) of those events of some blocks that satisfy the condition, batch by batch."""
        for events in self._fetch_column(reader, source, found.ids, since, until, condition, source.time_field):
            yield events.column(0).cast(pa.int64()).to_numpy()

    def _fetch_column(
        self, reader: Reader, source: Source, ids: pa.Array, since: int, until: int, where: Filter | None, column: str
    ) -> Iterator[pa.RecordBatch]:
        """Yields the column of those events of some blocks that satisfy ``where``; it is the first of each batch."""
        ids = ids.take(pc.sort_indices(ids))
        return self._layout.fetch_events(reader, source, ids, ReadRequest(since, until, where, [column], 1))


def _make_equality(term: FieldValue) -> Compare:
    """Returns the condition ``field = value``."""
    field, value = term
    return Compare(field.name, "=", value)
