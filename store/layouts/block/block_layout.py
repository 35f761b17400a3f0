"""The ``block`` layout: a row has some thousands of events, with a column vector per field (``docs/keys.md``).

The index finds blocks and the filter finds events: a hit is a block that may hold matching events, and the tablet
servers evaluate the whole filter on it. Blocks are read in the order of their newest events. Events are held back until
no block that is still to come can have newer ones.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from datetime import datetime

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from watchfloor.schema.filter.tree import And, Compare, Condition, Filter
from watchfloor.schema.source import Source
from watchfloor.schema.times import YEAR_10000, from_micros
from watchfloor.store.answers import AnsweringLayout
from watchfloor.store.bridge.requests import (
    MANY_REQUESTS,
    EntryScan,
    EventScan,
    ServerIterator,
    ServerOptions,
)
from watchfloor.store.bridge.streams import NEXT_ROW
from watchfloor.store.encoding.byte_arrays import join_bytes, join_values, to_byte_rows
from watchfloor.store.encoding.keys import (
    KEY_BYTES,
    REVTS_BYTES,
    SHARD_BYTES,
    event_table,
    hashes_of_keys,
    shard_names,
    time_of_row,
)
from watchfloor.store.encoding.program import compile_filter, has_large_sets, list_sets
from watchfloor.store.encoding.ranges import Ranges
from watchfloor.store.layout import ReadRequest, StatsRequest, TopRequest
from watchfloor.store.layouts.block.blocks.block_keys import (
    BLOCK_KEY_BYTES,
    find_block_bounds,
    read_block_times,
)
from watchfloor.store.layouts.block.blocks.event_order import EventMerger, sort_newest_first
from watchfloor.store.layouts.block.epochs.block_view import BlockView, find_view
from watchfloor.store.reader import Batches, Reader

from .block_counts import BlockCounts, read_block_hits
from .block_encoder import BlockEncoder
from .costs import BLOCK_COSTS
from .event_columns import find_columns

_STREAM = "watchfloor.block.BlockStream"
"""Java class that reads events. Column 0 of its batches is the block's row at each block's first event, else null."""
# Two blocks first would bring the first rows in two thirds of the time, but all rows, which fit on a screen, a fifth
# later.
FEW_BLOCKS = 10
"""Largest number of hits that are looked up all at once, unless a limit needs fewer."""
FIRST_BLOCKS = 2
"""Number of blocks that are looked up first if there are more hits."""
GROWTH = 16
"""Largest factor between the blocks of a look-up and those of the next one."""
FEW_ROWS = 1000
"""Few blocks are read first if a request's ``first_rows`` is at most this, because one block may have thousands."""
BATCH_BLOCKS = 8
"""Number of blocks in the first batch of a scan whose first rows are many."""
BATCH_EVENTS = 4096
"""Number of events in a later batch of a scan with a limit. Each batch costs some milliseconds, however few it has."""
FETCH_BLOCKS = 64
"""Largest number of blocks that are looked up at once, or that one request of a scan reads."""

REQUEST_BLOCKS = 4
"""Number of blocks in one request of a look-up."""

MANY_EVENTS = 1 << 15
"""Approximate largest number of events of a look-up, or of a batch of a scan without a limit: servers read the next
events while the last ones are decoded."""

SPARE = 1.25
"""Factor on the number of events still missing to the limit, because the blocks that hold them are an estimate."""


class BlockLayout(AnsweringLayout):
    """Writes events as blocks and reads them."""

    name = "block"
    stats_iterator, top_iterator = "watchfloor.block.StatsIterator", "watchfloor.block.TopIterator"
    hits_exact = False
    costs = BLOCK_COSTS
    max_entries = 1024

    def __init__(self) -> None:
        self.counts = BlockCounts(self)

    def make_encoder(self, source: Source, file_id: bytes, item_id: bytes, again: bool = False) -> BlockEncoder:
        return BlockEncoder(source, file_id, item_id, again=again)

    def scan_events(self, reader: Reader, source: Source, request: ReadRequest) -> Iterator[pa.RecordBatch]:
        if request.since >= request.until:
            return
        ranges = _rows_of_range(source, request.since, request.until)
        blocks = _BlockReader(reader, source, request)
        runs = EventMerger()
        with blocks.begin_read(ranges, ordered=True) as begun:
            for events in blocks.check_view(begun):
                if len(events):
                    blocks.add_seen(runs, events)
                    yield from runs.take_newer(_find_next_time(events))
        yield from runs.take_newer()

    def find_hits(
        self, reader: Reader, source: Source, conditions: Sequence[Condition], since: int, until: int
    ) -> list[pa.Array]:
        found = read_block_hits(reader, source, conditions, since, until)
        return [hits.ids.take(pc.sort_indices(hits.ids)) for hits in found]

    def fetch_events(
        self, reader: Reader, source: Source, hits: pa.Array, request: ReadRequest
    ) -> Iterator[pa.RecordBatch]:
        if not len(hits):
            return
        blocks = _BlockReader(reader, source, request)
        runs = EventMerger()
        with closing(_look_up_blocks(blocks, hits, request.limit)) as found:
            for events, done in found:
                if events is not None:
                    blocks.add_seen(runs, events)
                if done < len(hits):
                    newest, _ = read_block_times(np.frombuffer(hits[done].as_py(), np.uint8).reshape(1, -1))
                    yield from runs.take_newer(int(newest[0]))
        yield from runs.take_newer()

    def read_answers(
        self,
        reader: Reader,
        source: Source,
        request: StatsRequest | TopRequest,
        iterator: ServerIterator,
        hits: pa.Array | None,
    ) -> Iterator[pa.RecordBatch]:
        ranges = _rows_of_range(source, request.since, request.until) if hits is None else _rows_of_hits(hits)
        view = find_view(reader, source)
        options = {
            "filter": _compile_within(source, request.since, request.until, request.where),
            **view.make_options(*find_block_bounds(request.since, request.until)),
        }
        iterators = [replace(iterator, options={**iterator.options, **options})]
        requests = _bound_requests(request.where)
        scan = EntryScan(event_table(source), ranges, iterators, ordered=False, requests=requests)
        with reader.begin_scan(scan) as batches:
            for batch in batches:
                view.check_still_right(reader, source.name)
                yield batch
        view.check_still_right(reader, source.name)


def _bound_requests(where: Filter | None) -> int:
    """Returns the most simultaneous requests to a tablet server, each of which brings the sets of a filter."""
    return 1 if has_large_sets(where) else MANY_REQUESTS


def _rows_of_range(source: Source, since: int, until: int) -> Ranges:
    """Returns a range of each shard, of the blocks that may have events in [since, until)."""
    low, high = find_block_bounds(since, until)
    ranges = Ranges()
    for shard in shard_names(source.shards):
        ranges.add_rows(shard + low, shard + high)
    return ranges


def _compile_within(source: Source, since: int, until: int, where: Filter | None) -> bytes:
    """Returns the program of the filter that events satisfy which are in [since, until) and satisfy ``where``."""
    time = source.time_field
    inside = (Compare(time, ">=", _to_moment(since)), Compare(time, "<", _to_moment(until)))
    return compile_filter(And((*inside, where) if where is not None else inside), source)


def _look_up_blocks(
    reader: _BlockReader, hits: pa.BinaryArray, limit: int | None
) -> Generator[tuple[pa.RecordBatch | None, int], None, None]:
    """Yields the events of blocks, newest blocks first, and the number of blocks that have been looked up so far.

    Look-ups run one batch ahead of decoding, unless the events read so far may be all that the limit needs.
    """
    few = FEW_BLOCKS if limit is None else min(limit, FEW_BLOCKS)
    step = few if len(hits) <= few else reader.first_looked_up
    done, rows = 0, 0
    with ExitStack() as scan:
        begun: Iterable[pa.RecordBatch] | None = None
        while done < len(hits):
            if begun is None:
                begun = scan.enter_context(reader.begin_read(_rows_of_hits(hits.slice(done, step)), ordered=False))
            parts, begun = list(reader.check_view(begun)), None
            scan.close()
            done, rows = done + step, rows + sum(map(len, parts))
            step = min(step * GROWTH, FETCH_BLOCKS)
            if rows:
                most = MANY_EVENTS if limit is None else min(MANY_EVENTS, SPARE * (limit - rows))
                step = max(1, min(step, math.ceil(most * done / rows)))
            if done < len(hits) and (limit is None or rows < limit):
                begun = scan.enter_context(reader.begin_read(_rows_of_hits(hits.slice(done, step)), ordered=False))
            yield pa.concat_batches(parts) if parts else None, done


class _BlockReader:
    """Reads requested events of blocks, by one view of the blocks, and checks that the view is still right."""

    def __init__(self, reader: Reader, source: Source, request: ReadRequest) -> None:
        self._reader, self._source, self._limit, self._until = reader, source, request.limit, request.until
        few = request.first_rows <= FEW_ROWS
        self.first_scanned, self.first_looked_up = (1, FIRST_BLOCKS) if few else (BATCH_BLOCKS, BATCH_BLOCKS)
        self._view = find_view(reader, source)
        self._program = _compile_within(source, request.since, request.until, request.where)
        self._sets = list_sets(request.where)
        self._most_requests = _bound_requests(request.where)
        self._columns = find_columns(source, request.columns)

    def begin_read(self, ranges: Ranges, ordered: bool) -> Batches:
        """Begins to read the events of blocks; ``_add_typed`` says which columns the batches have."""
        request = EventScan(
            _STREAM,
            event_table(self._source),
            ranges,
            self._columns.bridge_types,
            self.first_scanned if ordered else FETCH_BLOCKS,
            BATCH_EVENTS if ordered and self._limit is not None else MANY_EVENTS,
            ordered,
            max(1, min(self._most_requests, len(ranges) // REQUEST_BLOCKS)),
            ServerOptions(self._program, self._source.time_field, self._limit, self._sets),
            request_rows=FETCH_BLOCKS,
            limit=self._limit if ordered else None,
            until=self._until,
        )
        return self._reader.begin_events(request)

    def check_view(self, begun: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yields the batches of a read. Raises ``StoreError`` if blocks of the view may have been deleted meanwhile."""
        for events in begun:
            self._view.check_still_right(self._reader, self._source.name)
            yield events
        self._view.check_still_right(self._reader, self._source.name)

    def add_seen(self, runs: EventMerger, events: pa.RecordBatch) -> None:
        """Adds the events whose blocks the view sees to ``runs``."""
        self._add_typed(runs, _select_seen(self._view, events))

    def _add_typed(self, runs: EventMerger, events: pa.RecordBatch) -> None:
        """Adds events, if there are any, to ``runs`` as a batch by ``make_event_schema``.

        ``events`` come from the bridge with these columns: the block's row, which is null except at its first event,
        the time, the key, and those of the request that are not the time.
        """
        if not len(events):
            return
        micros = events.column(1).cast(pa.int64()).to_numpy()
        keys = events.column(2)
        run = pa.RecordBatch.from_arrays([*self._columns.convert_events(events), keys], schema=self._columns.schema)
        if (micros[1:] < micros[:-1]).all():
            runs.add_run(run, micros)
        else:
            hashes = hashes_of_keys(to_byte_rows(keys, KEY_BYTES))
            runs.add_run(sort_newest_first(run, micros, hashes))


def _rows_of_hits(hits: pa.BinaryArray) -> Ranges:
    """Returns a range for the row of each block in ``hits``."""
    shards = pc.binary_slice(hits, BLOCK_KEY_BYTES, BLOCK_KEY_BYTES + SHARD_BYTES)
    return Ranges.exact_rows(join_bytes(shards, pc.binary_slice(hits, 0, BLOCK_KEY_BYTES)))


def _to_moment(micros: int) -> datetime:
    """Returns a time (µs) as a datetime; times that datetime cannot express become the nearest one that it can."""
    return from_micros(min(max(micros, 0), YEAR_10000 - 1))


def _find_next_time(events: pa.RecordBatch) -> int:
    """Returns a time (µs) that no event of later blocks exceeds: the metadata's, or else the last block's newest."""
    row = bytes.fromhex((events.schema.metadata or {}).get(NEXT_ROW, b"").decode())
    if len(row) < SHARD_BYTES + REVTS_BYTES:
        rows = events.column(0).drop_null()
        row = rows[len(rows) - 1].as_py()
    return time_of_row(row)


def _select_seen(view: BlockView, events: pa.RecordBatch) -> pa.RecordBatch:
    """Returns the events whose blocks the view sees."""
    rows = events.column(0)
    if view.sees_all(join_values(rows).tobytes()):
        return events
    blocks = view.find_seen_rows(rows.drop_null())
    if blocks is None:
        return events
    block_of = np.cumsum(rows.is_valid().to_numpy(zero_copy_only=False)) - 1
    return events.filter(pa.array(blocks[block_of]))
