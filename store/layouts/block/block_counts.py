"""Counts of ``field = value`` in the block layout: the index says how many hits each block has.

Blocks that lie wholly in a time range are counted by the index alone; those across an end of it are read.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from watchfloor.schema.field import Field
from watchfloor.schema.filter.tree import Compare, Condition, Filter
from watchfloor.schema.source import Source
from watchfloor.store.bridge.requests import MANY_REQUESTS, EntryScan, ServerIterator
from watchfloor.store.encoding.byte_arrays import to_binary_array, to_byte_rows, unpack_byte_rows
from watchfloor.store.encoding.index_values import count_index_values
from watchfloor.store.encoding.keys import SHARD_BYTES, index_prefix, index_table, shard_names
from watchfloor.store.encoding.ranges import Ranges
from watchfloor.store.index.count_buckets import hours_around
from watchfloor.store.index.index_hits import read_index_hits, split_conditions
from watchfloor.store.index.index_rows import index_ranges, index_suffixes
from watchfloor.store.index.range_cache import RangeCache
from watchfloor.store.layout import IndexCount, Layout, Term, Wanted
from watchfloor.store.layouts.block.blocks.block_keys import BLOCK_KEY_BYTES, BLOCK_KEYS, block_bounds, block_times
from watchfloor.store.layouts.block.epochs.block_view import view_of
from watchfloor.store.reader import Reader, Slot

_HIT_BYTES = BLOCK_KEY_BYTES + 4
_PACK_HITS = ServerIterator(30, "hits", "watchfloor.block.HitsIterator")


@dataclass(frozen=True)
class Hits:
    """Blocks that have some value, in any order.

    ``ids``: their rows without the shard, then the shard, so that they sort newest first. ``newest`` and ``oldest``
    (µs) are the bounds of their events' times, ``hits`` how many of the events have the value. ``entries`` of the index
    were read for it; not ``complete``: the reading was given up.
    """

    ids: pa.BinaryArray
    newest: np.ndarray
    oldest: np.ndarray
    hits: np.ndarray
    entries: int = 0
    complete: bool = True

    def some(self, which: np.ndarray) -> Hits:
        if which.all():
            return self
        arrays = (self.newest[which], self.oldest[which], self.hits[which])
        return Hits(self.ids.filter(pa.array(which)), *arrays, self.entries, self.complete)

    def overlapping(self, since: int, until: int) -> Hits:
        """Those that may have events in [since, until)."""
        return self.some((self.newest >= since) & (self.oldest < until))

    def inside(self, since: int, until: int) -> np.ndarray:
        """Which blocks lie wholly in [since, until)."""
        return (self.oldest >= since) & (self.newest < until)


_TERM_HITS: Slot[RangeCache[tuple[str, bytes], Hits]] = Slot(RangeCache)


def read_hits(
    reader: Reader, source: Source, conditions: Sequence[Condition], since: int, until: int, most: int | None = None
) -> list[Hits]:
    """For each condition the blocks with hits that may have events in [since, until): one scan for all equalities, and
    one each for conditions of many values, which is given up after ``most`` entries of a shard.

    A snapshot sees always the same, so of it nothing is read twice.
    """
    terms, others = split_conditions(conditions)
    found: dict[Condition, Hits] = dict(zip(terms, _read_terms(reader, source, terms, since, until), strict=True))
    found |= zip(others, _read_many(reader, source, others, since, until, most), strict=True)
    return [found[condition] for condition in conditions]


def _read_terms(reader: Reader, source: Source, terms: Sequence[Compare], since: int, until: int) -> list[Hits]:
    suffixes = index_suffixes([(source.find_field(term.field), term.value) for term in terms])
    if since >= until:
        return [_together([]) for _ in suffixes]
    cache = reader.get_slot(_TERM_HITS)
    named = [(source.name, suffix) for suffix in suffixes]
    new = [suffix for _, suffix in cache.find_missing(named, since, until)]
    for suffix, hits in _read_hits(reader, source, new, since, until).items():
        cache.put((source.name, suffix), since, until, hits)
    return [cache[name].overlapping(since, until) for name in named]


def _read_many(
    reader: Reader, source: Source, conditions: Sequence[Condition], since: int, until: int, most: int | None
) -> list[Hits]:
    if since >= until:
        return [_together([]) for _ in conditions]
    view = view_of(reader, source)
    many = read_index_hits(reader, source, conditions, BLOCK_KEYS, since, until, most)
    view.check(reader, source.name)
    hits = []
    for found in many:
        seen = view.sees(found.ids)
        found = found if seen is None else found.select(seen)
        whole = Hits(to_binary_array(found.ids), *block_times(found.ids), found.hits, found.entries, found.complete)
        hits.append(whole.overlapping(since, until))
    return hits


def _read_hits(reader: Reader, source: Source, suffixes: Sequence[bytes], since: int, until: int) -> dict[bytes, Hits]:
    """By the end of an index row, behind the shard."""
    ranges = index_ranges(source, suffixes, *block_bounds(since, until))
    numbered = {suffix: number for number, suffix in enumerate(suffixes)}
    found: dict[bytes, list[Hits]] = {suffix: [] for suffix in suffixes}
    for rows, places, hits in _seen(reader, source, ranges, requests=1):
        numbers = np.array([numbered[row[SHARD_BYTES:]] for row in rows])[places]
        for number in np.unique(numbers).tolist():
            found[suffixes[number]].append(hits.some(numbers == number))
    return {suffix: _together(parts) for suffix, parts in found.items()}


def _seen(
    reader: Reader, source: Source, ranges: Ranges, requests: int = MANY_REQUESTS
) -> Iterator[tuple[list[bytes], np.ndarray, Hits]]:
    """Hits of blocks that the reader's view sees, batch by batch: index rows, the place of each hit's among them, hits.

    A row with many hits is several times among its batch's.
    """
    view = view_of(reader, source)
    for batch in reader.scan(EntryScan(index_table(source), ranges, [_PACK_HITS], ordered=False, requests=requests)):
        view.check(reader, source.name)
        rows, packed = batch.column("row"), batch.column("value")
        places = np.repeat(np.arange(len(batch)), pc.binary_length(packed).to_numpy() // _HIT_BYTES)
        shards = to_byte_rows(pc.binary_slice(rows, 0, SHARD_BYTES), SHARD_BYTES)
        entries = unpack_byte_rows(packed, _HIT_BYTES)
        ids = np.concatenate((entries[:, :BLOCK_KEY_BYTES], shards[places]), axis=1)
        seen = view.sees(ids)
        if seen is not None:
            ids, entries, places = ids[seen], entries[seen], places[seen]
        hits = np.ascontiguousarray(entries[:, BLOCK_KEY_BYTES:]).view(">u4").reshape(-1).astype(np.int64)
        yield rows.to_pylist(), places, Hits(to_binary_array(ids), *block_times(ids), hits)
    view.check(reader, source.name)


def _together(parts: list[Hits]) -> Hits:
    if not parts:
        nothing = np.empty(0, np.int64)
        return Hits(pa.array([], pa.binary()), nothing, nothing, nothing)
    newest, oldest, hits = (np.concatenate([getattr(part, n) for part in parts]) for n in ("newest", "oldest", "hits"))
    return Hits(pa.concat_arrays([part.ids for part in parts]), newest, oldest, hits)


class BlockCounts:
    """Counts from the index's hits."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout

    def estimates(
        self, reader: Reader, source: Source, conditions: Sequence[Condition], since: int, until: int, most: int | None
    ) -> list[IndexCount | None]:
        """Hits of the blocks that reach into the hours around the range, as far as they do."""
        since, until = hours_around(since, until)
        estimated: list[IndexCount | None] = []
        for found in read_hits(reader, source, conditions, since, until, most):
            within = np.minimum(found.newest + 1, until) - np.maximum(found.oldest, since)
            shares = within / (found.newest + 1 - found.oldest)
            events = math.ceil(float(found.hits @ shares))
            entries = found.entries or len(found.ids)
            newest = int(found.newest.max()) if len(found.ids) else None
            estimated.append(IndexCount(events, len(found.ids), entries, newest) if found.complete else None)
        return estimated

    def count(self, reader: Reader, source: Source, term: Term, since: int, until: int) -> int:
        found = read_hits(reader, source, [_equal(term)], since, until)[0]
        whole = found.inside(since, until)
        across = self._times(reader, source, term, found.some(~whole), since, until)
        return int(found.hits[whole].sum()) + sum(map(len, across))

    def timeline(self, reader: Reader, source: Source, term: Term, width: int, since: int, until: int) -> Counter[int]:
        found = read_hits(reader, source, [_equal(term)], since, until)[0]
        starts = found.newest // width * width
        whole = found.inside(since, until) & (found.oldest >= starts)
        counts: Counter[int] = Counter()
        for start, count in zip(starts[whole].tolist(), found.hits[whole].tolist(), strict=True):
            counts[start] += count
        for times in self._times(reader, source, term, found.some(~whole), since, until):
            counts.update((times // width * width).tolist())
        return counts

    def values(self, reader: Reader, source: Source, field: Field, since: int, until: int) -> Counter[bytes]:
        prefix = index_prefix(field.name)
        ranges = Ranges()
        for shard in shard_names(source.shards) if since < until else ():
            ranges.add_prefix(shard + prefix)
        counts: Counter[bytes] = Counter()
        edges = [pa.array([], pa.binary())]
        for rows, places, found in _seen(reader, source, ranges):
            whole = found.inside(since, until)
            across = (found.newest >= since) & (found.oldest < until) & ~whole
            edges.append(pc.unique(found.ids.filter(pa.array(across))))
            sums = np.bincount(places, found.hits * whole, len(rows)).astype(np.int64)
            for row, count in zip(rows, sums.tolist(), strict=True):
                if count:
                    counts[row[SHARD_BYTES + len(prefix) :]] += count
        blocks = pc.unique(pa.concat_arrays(edges))
        for events in self._fetch(reader, source, blocks, since, until, None, field.name):
            count_index_values(field, events.column(0), counts)
        return counts

    def _times(
        self, reader: Reader, source: Source, term: Term, found: Hits, since: int, until: int
    ) -> Iterator[np.ndarray]:
        """The times of the events with the term in some blocks."""
        for events in self._fetch(reader, source, found.ids, since, until, _equal(term), source.time_field):
            yield events.column(0).cast(pa.int64()).to_numpy()

    def _fetch(
        self, reader: Reader, source: Source, ids: pa.Array, since: int, until: int, where: Filter | None, column: str
    ) -> Iterator[pa.RecordBatch]:
        ids = ids.take(pc.sort_indices(ids))
        return self._layout.fetch(reader, source, ids, Wanted(since, until, where, [column], 1))


def _equal(term: Term) -> Compare:
    field, value = term
    return Compare(field.name, "=", value)
